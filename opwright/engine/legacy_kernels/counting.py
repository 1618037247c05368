"""Operators whose outputs are as large as their values say."""

from __future__ import annotations

import torch

from opwright.engine.dtypes import from_runtime
from opwright.engine.legacy_kernels.table import legacy_kernel

INT64 = 9


@legacy_kernel("NonZero")
def non_zero(x: torch.Tensor, *, transpose: bool = False, dtype: int = INT64) -> torch.Tensor:
    """Answer the places of elements that are not zero, one in each row."""
    places = x.nonzero().to(from_runtime(dtype, where="NonZero"))
    return places.t().contiguous() if transpose else places


@legacy_kernel("MaskedSelect")
def masked_select(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Answer the elements where the mask is set."""
    return x.masked_select(mask)
