"""Operators that compute each element by itself, of numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from opwright.graph_engine.kernels.precision import widen
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


# Of one operand x; with its source.
UNARY: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], str]] = {
    "Abs": (torch.abs, "ops-math:math/abs/op_graph/abs_proto.h"),
    "Acos": (torch.acos, "ops-math:math/acos/op_graph/acos_proto.h"),
    "Acosh": (torch.acosh, "ops-math:math/acosh/op_graph/acosh_proto.h"),
    "Asin": (torch.asin, "ops-math:math/asin/op_graph/asin_proto.h"),
    "Asinh": (torch.asinh, "ops-math:math/asinh/op_graph/asinh_proto.h"),
    "Atan": (torch.atan, "ops-math:math/atan/op_graph/atan_proto.h"),
    "Atanh": (torch.atanh, "ops-math:math/atanh/op_graph/atanh_proto.h"),
    "BesselI0e": (torch.special.i0e, "ops-math:math/bessel_i0e/op_graph/bessel_i0e_proto.h"),
    "BesselI1e": (torch.special.i1e, "ops-math:math/bessel_i1e/op_graph/bessel_i1e_proto.h"),
    "Ceil": (torch.ceil, "ops-math:math/ceil/op_graph/ceil_proto.h"),
    "Cos": (torch.cos, "ops-math:math/cos/op_graph/cos_proto.h"),
    "Cosh": (torch.cosh, "graphengine:third_party/fwkacllib/inc/ops/elewise_calculation_ops.h"),
    "Erf": (torch.erf, "ops-math:math/erf/op_graph/erf_proto.h"),
    "Erfc": (torch.erfc, "ops-math:math/erfc/op_graph/erfc_proto.h"),
    "Expm1": (torch.expm1, "ops-math:math/expm1/op_graph/expm1_proto.h"),
    "Floor": (torch.floor, "ops-math:math/floor/op_graph/floor_proto.h"),
    "Inv": (torch.reciprocal, "ops-math:math/inv/op_graph/inv_proto.h"),
    "Log1p": (torch.log1p, "ops-math:math/log1p/op_graph/log1p_proto.h"),
    "Ndtri": (torch.special.ndtri, "ops-math:math/ndtri/op_graph/ndtri_proto.h"),
    "Neg": (torch.neg, "ops-math:math/neg/op_graph/neg_proto.h"),
    "Reciprocal": (torch.reciprocal, "ops-math:math/reciprocal/op_graph/reciprocal_proto.h"),
    "Relu": (torch.relu, "ops-nn:activation/relu/op_graph/relu_proto.h"),
    "Rint": (torch.round, "ops-math:math/rint/op_graph/rint_proto.h"),
    "Round": (torch.round, "ops-math:math/round/op_graph/round_proto.h"),
    "Rsqrt": (torch.rsqrt, "ops-math:math/rsqrt/op_graph/rsqrt_proto.h"),
    "Sigmoid": (torch.sigmoid, "ops-nn:activation/sigmoid/op_graph/sigmoid_proto.h"),
    "Sign": (torch.sign, "ops-math:math/sign/op_graph/sign_proto.h"),
    "Sin": (torch.sin, "ops-math:math/sin/op_graph/sin_proto.h"),
    "Sinh": (torch.sinh, "ops-math:math/sinh/op_graph/sinh_proto.h"),
    "Sqrt": (torch.sqrt, "ops-math:math/sqrt/op_graph/sqrt_proto.h"),
    "Square": (torch.square, "ops-math:math/square/op_graph/square_proto.h"),
    "Tan": (torch.tan, "graphengine:third_party/fwkacllib/inc/ops/elewise_calculation_ops.h"),
    "Tanh": (torch.tanh, "ops-math:math/tanh/op_graph/tanh_proto.h"),
}
# Of two operands x1 and x2, which are broadcast; with its source.
BINARY: dict[str, tuple[Callable[[torch.Tensor, torch.Tensor], torch.Tensor], str]] = {
    "Add": (torch.add, "ops-math:math/add/op_graph/add_proto.h"),
    "AddV2": (torch.add, "graphengine:third_party/fwkacllib/inc/ops/elewise_calculation_ops.h"),
    "Atan2": (torch.atan2, "ops-math:math/atan2/op_graph/atan2_proto.h"),
    "Div": (quotient, "ops-math:math/div/op_graph/div_proto.h"),
    "DivNoNan": (quotient_or_zero, "ops-math:math/div_no_nan/op_graph/div_no_nan_proto.h"),
    "FloorDiv": (torch.floor_divide, "ops-math:math/floor_div/op_graph/floor_div_proto.h"),
    "FloorMod": (torch.remainder, "ops-math:math/floor_mod/op_graph/floor_mod_proto.h"),
    "Maximum": (torch.maximum, "ops-math:math/maximum/op_graph/maximum_proto.h"),
    "Minimum": (torch.minimum, "ops-math:math/minimum/op_graph/minimum_proto.h"),
    "Mod": (torch.fmod, "ops-math:math/mod/op_graph/mod_proto.h"),
    "Mul": (torch.mul, "ops-math:math/mul/op_graph/mul_proto.h"),
    "Pow": (torch.pow, "ops-math:math/pow/op_graph/pow_proto.h"),
    "RealDiv": (quotient, "ops-math:math/real_div/op_graph/real_div_proto.h"),
    "SquaredDifference": (
        square_of_difference,
        "ops-math:math/squared_difference/op_graph/squared_difference_proto.h",
    ),
    "Sub": (torch.sub, "ops-math:math/sub/op_graph/sub_proto.h"),
    "TruncateDiv": (truncated_quotient, "ops-math:math/truncate_div/op_graph/truncate_div_proto.h"),
    "TruncateMod": (torch.fmod, "ops-math:math/truncate_mod/op_graph/truncate_mod_proto.h"),
    "Xdivy": (
        lambda x1, x2: torch.where(x1 == 0, 0, x1 / x2),
        "ops-math:math/xdivy/op_graph/xdivy_proto.h",
    ),
    "Xlogy": (torch.xlogy, "ops-math:math/xlogy/op_graph/xlogy_proto.h"),
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


for name, (function, source) in UNARY.items():
    kernel(name, source=source)(unary(function))
for name, (pair, source) in BINARY.items():
    kernel(name, source=source)(binary(pair))


@kernel("Erfinv", source="ops-nn:activation/erfinv/op_graph/erfinv_proto.h")
def erfinv(input_x: torch.Tensor) -> torch.Tensor:
    """Answer the inverse of the error function."""
    return torch.erfinv(input_x)


@kernel("Trunc", source="ops-math:math/trunc/op_graph/trunc_proto.h")
def trunc(input_x: torch.Tensor) -> torch.Tensor:
    """Round towards zero."""
    return torch.trunc(input_x)


@kernel("Exp", source="ops-math:math/exp/op_graph/exp_proto.h")
def exp(
    x: torch.Tensor, *, base: float = -1.0, scale: float = 1.0, shift: float = 0.0
) -> torch.Tensor:
    """Raise `base`, or e if that is -1, to scale * x + shift."""
    if (scale, shift) != (1.0, 0.0):
        x = x * scale + shift
    return torch.exp(x) if base == -1.0 else torch.pow(base, x)


@kernel("Log", source="ops-math:math/log/op_graph/log_proto.h")
def log(
    x: torch.Tensor, *, base: float = -1.0, scale: float = 1.0, shift: float = 0.0
) -> torch.Tensor:
    """Answer the logarithm of scale * x + shift to `base`, or to e if that is -1."""
    if (scale, shift) != (1.0, 0.0):
        x = x * scale + shift
    of_base = {-1.0: torch.log, 2.0: torch.log2, 10.0: torch.log10}
    return of_base[base](x) if base in of_base else torch.log(x) / math.log(base)


@kernel("Power", source="ops-math:math/power/op_graph/power_proto.h")
def power(
    x: torch.Tensor, *, power: float = 1.0, scale: float = 1.0, shift: float = 0.0
) -> torch.Tensor:
    """Raise scale * x + shift to `power`."""
    return torch.pow(x * scale + shift, power)


@kernel("Adds", source="graphengine:third_party/fwkacllib/inc/ops/elewise_calculation_ops.h")
def adds(x: torch.Tensor, *, value: float) -> torch.Tensor:
    """X + value."""
    return (x + value).to(x.dtype)


@kernel("Muls", source="ops-math:math/muls/op_graph/muls_proto.h")
def muls(x: torch.Tensor, *, value: float) -> torch.Tensor:
    """X * value."""
    return (x * value).to(x.dtype)


@kernel("Axpy", source="ops-math:math/axpy/op_graph/axpy_proto.h")
def axpy(x1: torch.Tensor, x2: torch.Tensor, *, alpha: float) -> torch.Tensor:
    """x1 + alpha * x2."""
    return (widen(x1) + alpha * widen(x2)).to(torch.result_type(x1, x2))


@kernel("AxpyV2", source="ops-math:math/axpy_v2/op_graph/axpy_v2_proto.h")
def axpy_v2(x1: torch.Tensor, x2: torch.Tensor, alpha: torch.Tensor) -> torch.Tensor:
    """x1 + alpha * x2."""
    return (widen(x1) + alpha * widen(x2)).to(torch.result_type(x1, x2))


@kernel("Sxpy", source="torchair:aten.rsub.Scalar")
def sxpy(x1: torch.Tensor, x2: torch.Tensor, alpha: torch.Tensor | None = None) -> torch.Tensor:
    """x1 - alpha * x2."""
    return x1 - (x2 if alpha is None else alpha * x2)


@kernel("Addcdiv", source="ops-math:math/addcdiv/op_graph/addcdiv_proto.h")
def addcdiv(
    input_data: torch.Tensor, x1: torch.Tensor, x2: torch.Tensor, value: torch.Tensor
) -> torch.Tensor:
    """input_data + value * x1 / x2."""
    return (widen(input_data) + value * (widen(x1) / widen(x2))).to(input_data.dtype)


@kernel("Addcmul", source="ops-math:math/addcmul/op_graph/addcmul_proto.h")
def addcmul(
    input_data: torch.Tensor, x1: torch.Tensor, x2: torch.Tensor, value: torch.Tensor
) -> torch.Tensor:
    """input_data + value * x1 * x2."""
    return (widen(input_data) + value * (widen(x1) * widen(x2))).to(input_data.dtype)


@kernel("Lerp", source="ops-math:math/lerp/op_graph/lerp_proto.h")
def lerp(start: torch.Tensor, end: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Interpolate from `start`, at weight 0, to `end`."""
    return torch.lerp(start, end, weight)


@kernel("NanToNum", source="ops-math:math/nan_to_num/op_graph/nan_to_num_proto.h")
def nan_to_num(x: torch.Tensor, *, nan: float, posinf: float, neginf: float) -> torch.Tensor:
    """Replace what is no finite number."""
    return torch.nan_to_num(x, nan, posinf, neginf)


@kernel("ClipByValue", source="ops-math:conversion/clip_by_value/op_graph/clip_by_value_proto.h")
def clip_by_value(
    x: torch.Tensor, clip_value_min: torch.Tensor, clip_value_max: torch.Tensor
) -> torch.Tensor:
    """Limit from below and above."""
    return torch.minimum(torch.maximum(x, clip_value_min), clip_value_max)


@kernel("AddN", source="ops-math:math/add_n/op_graph/add_n_proto.h")
def add_n(x: list[torch.Tensor], *, N: int) -> torch.Tensor:
    """Add all tensors."""
    del N
    total = x[0]
    for other in x[1:]:
        total = total + other
    return total
