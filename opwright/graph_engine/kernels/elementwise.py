"""Operators that compute each element by itself, of numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from opwright.graph_engine.kernels.precision import widened
from opwright.graph_engine.table import kernel

if TYPE_CHECKING:
    from collections.abc import Callable


def quotient(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    """x1 / x2; of integers the integer towards zero."""
    rounding = None if torch.result_type(x1, x2).is_floating_point else "trunc"
    rounding = None if x1.is_complex() or x2.is_complex() else rounding
    return torch.div(x1, x2, rounding_mode=rounding)


def quotient_or_zero(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    """x1 / x2, and 0 where x2 is 0."""
    is_zero = x2 == 0
    return torch.where(is_zero, 0, quotient(x1, torch.where(is_zero, 1, x2)))


def truncated_quotient(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    """x1 / x2, towards zero."""
    return torch.div(x1, x2, rounding_mode="trunc")


def square_of_difference(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    """(x1 - x2) squared."""
    return torch.square(x1 - x2)


# Of one operand x.
UNARY: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "Abs": torch.abs,
    "Acos": torch.acos,
    "Acosh": torch.acosh,
    "Asin": torch.asin,
    "Asinh": torch.asinh,
    "Atan": torch.atan,
    "Atanh": torch.atanh,
    "BesselI0e": torch.special.i0e,
    "BesselI1e": torch.special.i1e,
    "Ceil": torch.ceil,
    "Cos": torch.cos,
    "Cosh": torch.cosh,
    "Erf": torch.erf,
    "Erfc": torch.erfc,
    "Expm1": torch.expm1,
    "Floor": torch.floor,
    "Inv": torch.reciprocal,
    "Log1p": torch.log1p,
    "Ndtri": torch.special.ndtri,
    "Neg": torch.neg,
    "Reciprocal": torch.reciprocal,
    "Relu": torch.relu,
    "Rint": torch.round,
    "Round": torch.round,
    "Rsqrt": torch.rsqrt,
    "Sigmoid": torch.sigmoid,
    "Sign": torch.sign,
    "Sin": torch.sin,
    "Sinh": torch.sinh,
    "Sqrt": torch.sqrt,
    "Square": torch.square,
    "Tan": torch.tan,
    "Tanh": torch.tanh,
}
# Of two operands x1 and x2, which are broadcast.
BINARY: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "Add": torch.add,
    "AddV2": torch.add,
    "Atan2": torch.atan2,
    "Div": quotient,
    "DivNoNan": quotient_or_zero,
    "FloorDiv": torch.floor_divide,
    "FloorMod": torch.remainder,
    "Maximum": torch.maximum,
    "Minimum": torch.minimum,
    "Mod": torch.fmod,
    "Mul": torch.mul,
    "Pow": torch.pow,
    "RealDiv": quotient,
    "SquaredDifference": square_of_difference,
    "Sub": torch.sub,
    "TruncateDiv": truncated_quotient,
    "TruncateMod": torch.fmod,
    "Xdivy": lambda x1, x2: torch.where(x1 == 0, 0, x1 / x2),
    "Xlogy": torch.xlogy,
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


@kernel("Erfinv")
def erfinv(input_x: torch.Tensor) -> torch.Tensor:
    """Answer the inverse of the error function."""
    return torch.erfinv(input_x)


@kernel("Trunc")
def trunc(input_x: torch.Tensor) -> torch.Tensor:
    """Round towards zero."""
    return torch.trunc(input_x)


@kernel("Exp")
def exp(
    x: torch.Tensor, *, base: float = -1.0, scale: float = 1.0, shift: float = 0.0
) -> torch.Tensor:
    """Raise `base`, or e if that is -1, to scale * x + shift."""
    if (scale, shift) != (1.0, 0.0):
        x = x * scale + shift
    return torch.exp(x) if base == -1.0 else torch.pow(base, x)


@kernel("Log")
def log(
    x: torch.Tensor, *, base: float = -1.0, scale: float = 1.0, shift: float = 0.0
) -> torch.Tensor:
    """Answer the logarithm of scale * x + shift to `base`, or to e if that is -1."""
    if (scale, shift) != (1.0, 0.0):
        x = x * scale + shift
    of_base = {-1.0: torch.log, 2.0: torch.log2, 10.0: torch.log10}
    return of_base[base](x) if base in of_base else torch.log(x) / math.log(base)


@kernel("Power")
def power(
    x: torch.Tensor, *, power: float = 1.0, scale: float = 1.0, shift: float = 0.0
) -> torch.Tensor:
    """Raise scale * x + shift to `power`."""
    return torch.pow(x * scale + shift, power)


@kernel("Adds")
def adds(x: torch.Tensor, *, value: float) -> torch.Tensor:
    """X + value."""
    return (x + value).to(x.dtype)


@kernel("Muls")
def muls(x: torch.Tensor, *, value: float) -> torch.Tensor:
    """X * value."""
    return (x * value).to(x.dtype)


@kernel("Axpy")
def axpy(x1: torch.Tensor, x2: torch.Tensor, *, alpha: float) -> torch.Tensor:
    """x1 + alpha * x2."""
    return (widened(x1) + alpha * widened(x2)).to(torch.result_type(x1, x2))


@kernel("AxpyV2")
def axpy_v2(x1: torch.Tensor, x2: torch.Tensor, alpha: torch.Tensor) -> torch.Tensor:
    """x1 + alpha * x2."""
    return (widened(x1) + alpha * widened(x2)).to(torch.result_type(x1, x2))


@kernel("Sxpy")
def sxpy(x1: torch.Tensor, x2: torch.Tensor, alpha: torch.Tensor | None = None) -> torch.Tensor:
    """x1 - alpha * x2."""
    return x1 - (x2 if alpha is None else alpha * x2)


@kernel("Addcdiv")
def addcdiv(
    input_data: torch.Tensor, x1: torch.Tensor, x2: torch.Tensor, value: torch.Tensor
) -> torch.Tensor:
    """input_data + value * x1 / x2."""
    return (widened(input_data) + value * (widened(x1) / widened(x2))).to(input_data.dtype)


@kernel("Addcmul")
def addcmul(
    input_data: torch.Tensor, x1: torch.Tensor, x2: torch.Tensor, value: torch.Tensor
) -> torch.Tensor:
    """input_data + value * x1 * x2."""
    return (widened(input_data) + value * (widened(x1) * widened(x2))).to(input_data.dtype)


@kernel("Lerp")
def lerp(start: torch.Tensor, end: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Interpolate from `start`, at weight 0, to `end`."""
    return torch.lerp(start, end, weight)


@kernel("NanToNum")
def nan_to_num(x: torch.Tensor, *, nan: float, posinf: float, neginf: float) -> torch.Tensor:
    """Replace what is no finite number."""
    return torch.nan_to_num(x, nan, posinf, neginf)


@kernel("ClipByValue")
def clip_by_value(
    x: torch.Tensor, clip_value_min: torch.Tensor, clip_value_max: torch.Tensor
) -> torch.Tensor:
    """Limit from below and above."""
    return torch.minimum(torch.maximum(x, clip_value_min), clip_value_max)


@kernel("AddN")
def add_n(x: list[torch.Tensor], *, N: int) -> torch.Tensor:
    """Add all tensors."""
    del N
    total = x[0]
    for other in x[1:]:
        total = total + other
    return total
