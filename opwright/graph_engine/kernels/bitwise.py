"""Operators on the bits of integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from opwright.graph_engine.kernels.elementwise import binary, unary
from opwright.graph_engine.table import kernel

if TYPE_CHECKING:
    from collections.abc import Callable

BINARY: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "BitwiseAnd": torch.bitwise_and,
    "BitwiseOr": torch.bitwise_or,
    "BitwiseXor": torch.bitwise_xor,
}

kernel("Invert")(unary(torch.bitwise_not))
for name, pair in BINARY.items():
    kernel(name)(binary(pair))


@kernel("LeftShift")
def left_shift(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """X times 2 to the power of y."""
    return torch.bitwise_left_shift(x, y)


@kernel("RightShift")
def right_shift(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """X divided by 2 to the power of y, with the sign of x."""
    return torch.bitwise_right_shift(x, y)
