"""Batches of sequences that are padded to one length."""

from __future__ import annotations

import torch

from opwright.graph_engine.kernels.available import require_one_of
from opwright.graph_engine.kernels.precision import widen
from opwright.graph_engine.legacy.kernels.table import legacy_kernel

SHARED_AXES = {"per_feature": (2,), "all_features": (1, 2)}


@legacy_kernel("NormalizeBatch", source="torch_npu:_op_plugin_docs.py:npu_normalize_batch")
def normalize_batch(
    input_x: torch.Tensor,
    seq_len: torch.Tensor,
    *,
    normalize_type: str,
    epsilon: float = 1e-5,
) -> torch.Tensor:
    """Normalise [batch, features, steps] by mean and deviation of the steps that count."""
    require_one_of("normalize_type", normalize_type, *SHARED_AXES)
    axes = SHARED_AXES[normalize_type]
    wide = widen(input_x)
    counts = (torch.arange(wide.shape[2]) < seq_len.view(-1, 1, 1)).expand_as(wide)
    number = counts.sum(axes, keepdim=True)
    mean = (wide * counts).sum(axes, keepdim=True) / number
    variance = ((wide - mean).square() * counts).sum(axes, keepdim=True) / (number - 1)
    return ((wide - mean) / (variance.sqrt() + epsilon)).to(input_x.dtype)
