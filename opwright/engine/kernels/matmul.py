"""Products of matrices."""

from __future__ import annotations

import torch

from opwright.engine.table import kernel


def flipped(x: torch.Tensor, *, flip: bool) -> torch.Tensor:
    """Return the matrices, transposed if wanted."""
    return x.transpose(-1, -2) if flip else x


@kernel("MatMul")
def mat_mul(
    x1: torch.Tensor,
    x2: torch.Tensor,
    bias: torch.Tensor | None = None,
    *,
    transpose_x1: bool = False,
    transpose_x2: bool = False,
) -> torch.Tensor:
    """x1 @ x2 + bias."""
    product = flipped(x1, flip=transpose_x1) @ flipped(x2, flip=transpose_x2)
    return product if bias is None else product + bias


@kernel("MatMulV2")
def mat_mul_v2(
    x1: torch.Tensor,
    x2: torch.Tensor,
    bias: torch.Tensor | None = None,
    offset_w: torch.Tensor | None = None,
    *,
    transpose_x1: bool = False,
    transpose_x2: bool = False,
    offset_x: int = 0,
) -> torch.Tensor:
    """x1 @ x2 + bias."""
    if offset_w is not None or offset_x:
        message = "offsets of quantized weights are not available"
        raise NotImplementedError(message)
    product = flipped(x1, flip=transpose_x1) @ flipped(x2, flip=transpose_x2)
    return product if bias is None else product + bias
