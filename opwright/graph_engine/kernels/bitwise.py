"""Operators on the bits of integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from opwright.graph_engine.kernels.elementwise import binary, unary
from opwright.graph_engine.table import kernel

if TYPE_CHECKING:
    from collections.abc import Callable

BINARY: dict[str, tuple[Callable[[torch.Tensor, torch.Tensor], torch.Tensor], str]] = {
    "BitwiseAnd": (torch.bitwise_and, "ops-math:math/bitwise_and/op_graph/bitwise_and_proto.h"),
    "BitwiseOr": (torch.bitwise_or, "ops-math:math/bitwise_or/op_graph/bitwise_or_proto.h"),
    "BitwiseXor": (torch.bitwise_xor, "ops-math:math/bitwise_xor/op_graph/bitwise_xor_proto.h"),
}

kernel("Invert", source="ops-math:math/invert/op_graph/invert_proto.h")(unary(torch.bitwise_not))
for name, (pair, source) in BINARY.items():
    kernel(name, source=source)(binary(pair))


@kernel("LeftShift", source="ops-math:math/left_shift/docs/aclnnLeftShift.md")
def left_shift(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """X times 2 to the power of y."""
    return torch.bitwise_left_shift(x, y)


@kernel("RightShift", source="ops-math:math/right_shift/op_graph/right_shift_proto.h")
def right_shift(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """X divided by 2 to the power of y, with the sign of x."""
    return torch.bitwise_right_shift(x, y)
