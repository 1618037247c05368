"""A file of kernels: `opwright run --kernels` loads it when the first of them is needed."""

from __future__ import annotations

import torch

from opwright.twin import kernel


@kernel("aclnnScaledByDefault(const aclTensor *x, double factor, aclTensor *out)")
def scaled_by_default(x: torch.Tensor, factor: float, out: torch.Tensor) -> None:
    torch.mul(x, factor, out=out)
