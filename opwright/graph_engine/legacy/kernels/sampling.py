"""Deformable sampling."""

from __future__ import annotations

import torch

from opwright.graph_engine.kernels.available import require_one_of
from opwright.graph_engine.kernels.precision import widen
from opwright.graph_engine.legacy.kernels.gradient import gradients
from opwright.graph_engine.legacy.kernels.table import legacy_kernel


def base_points(count: int, kernel: int, stride: int, pad: int, dilation: int) -> torch.Tensor:
    """Return where a convolution samples along one axis, [outputs, taps]."""
    first = torch.arange(count) * stride - pad
    return first.unsqueeze(1) + torch.arange(kernel) * dilation


def at_points(x: torch.Tensor, row: torch.Tensor, column: torch.Tensor) -> torch.Tensor:
    """Return the pixels [n, g, points, channels] of x [n, g, h, w, channels]; 0 outside."""
    height, width = x.shape[2:4]
    inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
    place = row.clamp(0, height - 1) * width + column.clamp(0, width - 1)
    flat = x.flatten(2, 3)
    index = place.flatten(2).unsqueeze(-1).expand(-1, -1, -1, flat.shape[-1])
    return flat.gather(2, index) * inside.flatten(2).unsqueeze(-1)


def sample(
    x: torch.Tensor,
    offsets: torch.Tensor,
    *,
    strides: tuple[int, ...],
    pads: tuple[int, ...],
    ksize: tuple[int, ...],
    dilations: tuple[int, ...],
    groups: int,
    modulated: bool,
) -> torch.Tensor:
    """Sample x [n, h, w, c] where a convolution with offsets does: [n, oh * kh, ow * kw, c]."""
    batch, _, _, channels = x.shape
    _, rows, columns, _ = offsets.shape
    kh, kw = ksize
    parts = 3 if modulated else 2
    split = widen(offsets).reshape(batch, rows, columns, parts, groups, kh, kw)
    split = split.permute(3, 0, 4, 1, 5, 2, 6)  # part, n, group, oh, kh, ow, kw
    right = base_points(columns, kw, strides[2], pads[2], dilations[2])
    down = base_points(rows, kh, strides[1], pads[0], dilations[1]).view(rows, kh, 1, 1)
    column, row = split[0] + right, split[1] + down
    groups_x = widen(x).reshape(*x.shape[:3], groups, channels // groups).permute(0, 3, 1, 2, 4)
    left, top = column.floor(), row.floor()
    result = torch.zeros(())
    for dy in (0, 1):
        for dx in (0, 1):
            near = (1 - (row - top - dy).abs()) * (1 - (column - left - dx).abs())
            pixels = at_points(groups_x, (top + dy).long(), (left + dx).long())
            result = result + pixels * near.flatten(2).unsqueeze(-1)
    if modulated:
        result = result * split[2].flatten(2).unsqueeze(-1)
    return result.permute(0, 2, 1, 3).reshape(batch, rows * kh, columns * kw, channels)


@legacy_kernel(
    "DeformableOffsets", source="ops-nn:conv/deformable_offsets/op_graph/deformable_offsets_proto.h"
)
def deformable_offsets(
    x: torch.Tensor,
    offsets: torch.Tensor,
    *,
    strides: tuple[int, ...],
    pads: tuple[int, ...],
    ksize: tuple[int, ...],
    dilations: tuple[int, ...] = (1, 1, 1, 1),
    data_format: str = "NHWC",
    deformable_groups: int = 1,
    modulated: bool = True,
) -> torch.Tensor:
    """Pixels that a deformable convolution multiplies, side by side."""
    require_one_of("data_format", data_format, "NHWC")
    return sample(
        x,
        offsets,
        strides=strides,
        pads=pads,
        ksize=ksize,
        dilations=dilations,
        groups=deformable_groups,
        modulated=modulated,
    ).to(x.dtype)


@legacy_kernel(
    "DeformableOffsetsGrad",
    source="ops-nn:conv/deformable_offsets_grad/op_graph/deformable_offsets_grad_proto.h",
)
def deformable_offsets_grad(
    grad: torch.Tensor,
    x: torch.Tensor,
    offsets: torch.Tensor,
    *,
    strides: tuple[int, ...],
    pads: tuple[int, ...],
    ksize: tuple[int, ...],
    dilations: tuple[int, ...] = (1, 1, 1, 1),
    data_format: str = "NHWC",
    deformable_groups: int = 1,
    modulated: bool = True,
) -> tuple[torch.Tensor, ...]:
    """Gradients of DeformableOffsets."""
    require_one_of("data_format", data_format, "NHWC")

    def function(pixels: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        return sample(
            pixels,
            places,
            strides=strides,
            pads=pads,
            ksize=ksize,
            dilations=dilations,
            groups=deformable_groups,
            modulated=modulated,
        )

    return gradients(function, (x, offsets), widen(grad))
