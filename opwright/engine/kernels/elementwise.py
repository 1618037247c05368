"""Operators that compute each element by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from opwright.engine.dtypes import from_runtime
from opwright.engine.table import kernel

if TYPE_CHECKING:
    from collections.abc import Callable

# Of one operand.
UNARY: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "Abs": torch.abs,
    "Ceil": torch.ceil,
    "Cos": torch.cos,
    "Erf": torch.erf,
    "Exp": torch.exp,
    "Floor": torch.floor,
    "LogicalNot": torch.logical_not,
    "Neg": torch.neg,
    "OnesLike": torch.ones_like,
    "Reciprocal": torch.reciprocal,
    "Relu": torch.relu,
    "Rsqrt": torch.rsqrt,
    "Sigmoid": torch.sigmoid,
    "Sign": torch.sign,
    "Sin": torch.sin,
    "Sqrt": torch.sqrt,
    "Square": torch.square,
    "Tanh": torch.tanh,
    "ZerosLike": torch.zeros_like,
}
# Of two operands, which are broadcast.
BINARY: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "Add": torch.add,
    "Equal": torch.eq,
    "FloorDiv": torch.floor_divide,
    "Greater": torch.gt,
    "GreaterEqual": torch.ge,
    "Less": torch.lt,
    "LessEqual": torch.le,
    "LogicalAnd": torch.logical_and,
    "LogicalOr": torch.logical_or,
    "Maximum": torch.maximum,
    "Minimum": torch.minimum,
    "Mul": torch.mul,
    "NotEqual": torch.ne,
    "Pow": torch.pow,
    "RealDiv": torch.true_divide,
    "Sub": torch.sub,
}


def unary(function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Return the kernel of an operator of UNARY."""

    def run(x: torch.Tensor) -> torch.Tensor:
        return function(x)

    return run


def binary(
    function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
) -> Callable[..., torch.Tensor]:
    """Return the kernel of an operator of BINARY."""

    def run(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
        return function(x1, x2)

    return run


for name, function in UNARY.items():
    kernel(name)(unary(function))
for name, pair in BINARY.items():
    kernel(name)(binary(pair))


@kernel("Cast")
def cast(x: torch.Tensor, *, dst_type: int, truncate: bool = False) -> torch.Tensor:
    """Convert the dtype."""
    del truncate
    return x.to(from_runtime(dst_type, where="Cast"))


@kernel("Identity", "TensorMove")
def identity(x: torch.Tensor) -> torch.Tensor:
    """Answer a copy."""
    return x.clone()


@kernel("AxpyV2")
def axpy_v2(x1: torch.Tensor, x2: torch.Tensor, alpha: torch.Tensor) -> torch.Tensor:
    """x1 + alpha * x2."""
    return x1 + alpha * x2
