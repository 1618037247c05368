"""Tensors of 4-bit numbers: one number in each byte.

CANN has two numbers in a byte, the first in the lower half. With one in each, sizes and strides are
those of the numbers, so that kernels may reshape and transpose such a tensor. It is packed only
where it is read as another dtype, or passed to an aclnn function. Of torch's dtypes some have no
operators and are a byte wide; these stand for CANN's dtypes within a graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from opwright.aclnn.dtypes import DTYPE_NUMBERS

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FOUR_BITS", "INT4", "code_of", "is_four_bits", "pack", "unpack"]

dtypes: Any = torch  # whose stubs lack these
INT4: torch.dtype = dtypes.int4
FOUR_BITS: Mapping[int, torch.dtype] = {
    DTYPE_NUMBERS["INT4"]: INT4,
    DTYPE_NUMBERS["FLOAT4_E2M1"]: dtypes.uint4,
    DTYPE_NUMBERS["FLOAT4_E1M2"]: dtypes.uint3,
}
HALF = 4


def is_four_bits(dtype: torch.dtype) -> bool:
    """Return whether a dtype stands for one of 4 bits."""
    return dtype in FOUR_BITS.values()


def code_of(dtype: torch.dtype) -> int:
    """Return CANN's number of the dtype that one of torch's stands for."""
    return next(code for code, each in FOUR_BITS.items() if each == dtype)


def pack(numbers: torch.Tensor) -> torch.Tensor:
    """Return the bytes, [..., n / 2] uint8, of numbers [..., n].

    >>> pack(torch.tensor([1, -1], dtype=torch.int8).view(torch.int4))
    tensor([241], dtype=torch.uint8)
    """
    pairs = torch.unflatten(numbers.view(torch.uint8) & 0xF, -1, (-1, 2))
    return pairs[..., 0] | (pairs[..., 1] << HALF)


def unpack(packed: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return the numbers, [..., 2 * n], of bytes [..., n] uint8.

    >>> unpack(torch.tensor([241], dtype=torch.uint8), torch.int4).view(torch.int8)
    tensor([ 1, -1], dtype=torch.int8)
    """
    signed = packed.view(torch.int8)
    low = (signed << HALF) >> HALF
    return torch.stack([low, signed >> HALF], -1).flatten(-2).view(dtype)
