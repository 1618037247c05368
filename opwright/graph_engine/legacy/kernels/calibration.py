"""Calibration: the scale and offset with which a feature map is quantized best."""

from __future__ import annotations

import numpy as np
import torch

from opwright.graph_engine.kernels.precision import widen
from opwright.graph_engine.legacy.kernels.table import legacy_kernel

SMALLEST_SCALE = torch.finfo(torch.float32).eps  # a smaller one stands for a map without values


@legacy_kernel("IFMR", source="ops-nn:quant/ifmr/op_graph/ifmr_proto.h")
def input_feature_map_reconstruction(
    data: torch.Tensor,
    data_min: torch.Tensor,
    data_max: torch.Tensor,
    cumsum: torch.Tensor,
    *,
    min_percentile: float,
    max_percentile: float,
    search_range: list[float],
    search_step: float,
    with_offset: bool,
    quant_bits: int = 8,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the scale and offset, of those searched, that restore the feature map best.

    `cumsum` counts elements up to each bin of a histogram between the least and the greatest. The
    first limits are those percentiles; the search multiplies them.

    Raises
    ------
    ValueError
        `search_range` is empty, or `search_step` is not positive.
    """
    first, end = search_range
    if not (first < end and search_step > 0):
        message = (
            f"search_range is {search_range} and search_step {search_step}; allowed: "
            "a range that begins before its end, and a step above 0"
        )
        raise ValueError(message)
    values, low, high = (widen(each) for each in (data, data_min, data_max))
    limits = [
        (cumsum / data.numel() < share).sum() / cumsum.numel() * (high - low) + low
        for share in (1 - min_percentile, max_percentile)
    ]
    steps = torch.from_numpy(np.arange(first, end, search_step, dtype=np.float32))
    half = 2 ** (quant_bits - 1)
    if with_offset:
        least, most = limits[0].clamp(max=0), limits[1].clamp(min=0) * steps
        scales = replace_tiny_scales((most - least) / (2 * half - 1))
        offsets = -((least / scales).round() + half)
    else:
        scales = replace_tiny_scales(
            torch.maximum(*(limit.abs() for limit in limits)) * steps / (half - 1)
        )
        offsets = torch.zeros_like(scales)
    losses = [
        measure_loss(values, scale, offset, half)
        for scale, offset in zip(scales, offsets, strict=True)
    ]
    best = torch.stack(losses).argmin()
    return scales[best].reshape(data_min.shape), offsets[best].reshape(data_min.shape)


def replace_tiny_scales(scales: torch.Tensor) -> torch.Tensor:
    """Return scales that can divide."""
    return scales.where(scales >= SMALLEST_SCALE, 1.0)


def measure_loss(
    values: torch.Tensor, scale: torch.Tensor, offset: torch.Tensor, half: int
) -> torch.Tensor:
    """Return the sum of the squares of what quantization changes."""
    quantized = ((values / scale).round() + offset).clamp(-half, half - 1)
    return ((quantized - offset) * scale - values).square().sum()
