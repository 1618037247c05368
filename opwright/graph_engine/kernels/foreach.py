"""Operators that do the same to each tensor of one or more lists.

The inputs of the prototypes are x, or x1, x2, …; with tensors numbered from 0, x10 is an element of
x1 or of x. All lists of an operator are of one length, so the kernels here take all tensors, in
order, as one input x, and divide them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import torch

from opwright.graph_engine.table import kernel

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = Callable[..., torch.Tensor]

# Of one list.
UNARY: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "ForeachACos": torch.acos,
    "ForeachASin": torch.asin,
    "ForeachATan": torch.atan,
    "ForeachAtan": torch.atan,
    "ForeachAbs": torch.abs,
    "ForeachCos": torch.cos,
    "ForeachCosh": torch.cosh,
    "ForeachErf": torch.erf,
    "ForeachErfc": torch.erfc,
    "ForeachExp": torch.exp,
    "ForeachExpm1": torch.expm1,
    "ForeachLog": torch.log,
    "ForeachLog10": torch.log10,
    "ForeachLog1p": torch.log1p,
    "ForeachLog2": torch.log2,
    "ForeachNeg": torch.neg,
    "ForeachReciprocal": torch.reciprocal,
    "ForeachSigmoid": torch.sigmoid,
    "ForeachSin": torch.sin,
    "ForeachSinh": torch.sinh,
    "ForeachSqrt": torch.sqrt,
    "ForeachTan": torch.tan,
    "ForeachTanh": torch.tanh,
}
# The types of UNARY of which only the converter is known, and it.
WITHOUT_HEADER = {
    "ForeachACos": "torchair:aten._foreach_acos.default",
    "ForeachASin": "torchair:aten._foreach_asin.default",
    "ForeachATan": "torchair:aten._foreach_atan.default",
}
# Of two lists.
BINARY: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "ForeachDivList": torch.div,
    "ForeachMaximumList": torch.maximum,
    "ForeachMinimumList": torch.minimum,
    "ForeachMulList": torch.mul,
    "ForeachPowList": torch.pow,
}
# Of one list and a number, the input `scalar`; or a number for each tensor, the input `scalars`.
WITH_NUMBER: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "ForeachAdd": torch.add,
    "ForeachDiv": torch.div,
    "ForeachMaximum": torch.maximum,
    "ForeachMinimum": torch.minimum,
    "ForeachMul": torch.mul,
    "ForeachPow": torch.pow,
    "ForeachSub": torch.sub,
}


def plus(x1: torch.Tensor, x2: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
    """x1 + factor * x2."""
    return x1 + factor * x2


def minus(x1: torch.Tensor, x2: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
    """x1 - factor * x2."""
    return x1 - factor * x2


def plus_quotient(
    x1: torch.Tensor, x2: torch.Tensor, x3: torch.Tensor, factor: torch.Tensor
) -> torch.Tensor:
    """x1 + factor * x2 / x3."""
    return x1 + factor * (x2 / x3)


def plus_product(
    x1: torch.Tensor, x2: torch.Tensor, x3: torch.Tensor, factor: torch.Tensor
) -> torch.Tensor:
    """x1 + factor * x2 * x3."""
    return x1 + factor * (x2 * x3)


# Type -> function of as many lists, and of the number in the input of this name: one for all
# tensors, or one for each.
LISTS_AND_NUMBER: dict[str, tuple[Function, int, str]] = {
    "ForeachAddList": (plus, 2, "alpha"),
    "ForeachAddcdivList": (plus_quotient, 3, "scalar"),
    "ForeachAddcdivScalar": (plus_quotient, 3, "scalar"),
    "ForeachAddcdivScalarList": (plus_quotient, 3, "scalars"),
    "ForeachAddcmulList": (plus_product, 3, "scalar"),
    "ForeachAddcmulScalar": (plus_product, 3, "scalar"),
    "ForeachAddcmulScalarList": (plus_product, 3, "scalars"),
    "ForeachSubList": (minus, 2, "alpha"),
}
# The numbers of roundMode.
ROUNDINGS: dict[int, Callable[[torch.Tensor], torch.Tensor]] = {
    2: torch.floor,
    3: torch.ceil,
    4: torch.round,
    5: torch.trunc,
    7: torch.frac,
}


def lists(x: list[torch.Tensor], count: int) -> list[tuple[torch.Tensor, ...]]:
    """Return the tensors that belong together, from `count` lists of one length."""
    length = len(x) // count
    return list(zip(*(x[i * length : (i + 1) * length] for i in range(count)), strict=True))


def numbers(given: torch.Tensor, likes: list[torch.Tensor]) -> list[torch.Tensor]:
    """Return a number for each tensor, as a tensor without axes, so that it changes no dtype."""
    each = given.reshape(-1)
    count = len(likes)
    return [each[0] for _ in range(count)] if each.numel() == 1 else list(each[:count].unbind())


def keep_dtypes(results: list[torch.Tensor], likes: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """Return the results in the dtypes of the tensors that they stand for."""
    return tuple(
        result
        if result.dtype == like.dtype or not like.is_floating_point()
        else result.to(like.dtype)
        for result, like in zip(results, likes, strict=True)
    )


def of_lists(function: Function, count: int) -> Callable[..., tuple[torch.Tensor, ...]]:
    """Return the kernel of an operator of UNARY or BINARY."""

    def run(x: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        return tuple(function(*row) for row in lists(x, count))

    return run


def of_lists_and(
    function: Function, count: int, name: str
) -> Callable[..., tuple[torch.Tensor, ...]]:
    """Return the kernel of an operator that takes lists, and numbers in the input `name`."""

    def compute(x: list[torch.Tensor], given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        rows = lists(x, count)
        likes = [row[0] for row in rows]
        pairs = zip(rows, numbers(given, likes), strict=True)
        return keep_dtypes([function(*row, number) for row, number in pairs], likes)

    def of_alpha(x: list[torch.Tensor], alpha: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return compute(x, alpha)

    def of_scalar(x: list[torch.Tensor], scalar: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return compute(x, scalar)

    def of_scalars(x: list[torch.Tensor], scalars: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return compute(x, scalars)

    def of_weight(x: list[torch.Tensor], weight: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return compute(x, weight)

    return {"alpha": of_alpha, "scalar": of_scalar, "scalars": of_scalars, "weight": of_weight}[
        name
    ]


def header(name: str) -> str:
    """Return where the header of a type is: the same place for all but WITHOUT_HEADER."""
    folder = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return f"ops-nn:foreach/{folder}/op_graph/{folder}_proto.h"


for name, function in UNARY.items():
    kernel(name, source=WITHOUT_HEADER.get(name, header(name)))(of_lists(function, 1))
for name, pair in BINARY.items():
    kernel(name, source=header(name))(of_lists(pair, 2))
for name, pair in WITH_NUMBER.items():
    one, each = f"{name}Scalar", f"{name}ScalarList"
    kernel(one, source=header(one))(of_lists_and(pair, 1, "scalar"))
    kernel(each, source=header(each))(of_lists_and(pair, 1, "scalars"))
for name, (several, count, number) in LISTS_AND_NUMBER.items():
    kernel(name, source=header(name))(of_lists_and(several, count, number))
kernel(
    "ForeachLerpScalar",
    source="ops-nn:foreach/foreach_lerp_scalar/op_graph/foreach_lerp_scalar_proto.h",
)(of_lists_and(torch.lerp, 2, "weight"))


@kernel(
    "ForeachLerpList", source="ops-nn:foreach/foreach_lerp_list/op_graph/foreach_lerp_list_proto.h"
)
def foreach_lerp_list(
    x: list[torch.Tensor], weight: list[torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    """Interpolate between two lists by weights of the same shapes."""
    rows = zip(lists(x, 2), weight, strict=True)
    return tuple(torch.lerp(start, end, by) for (start, end), by in rows)


@kernel(
    "ForeachPowScalarAndTensor",
    source="ops-nn:foreach/foreach_pow_scalar_and_tensor/op_graph/foreach_pow_scalar_and_tensor_proto.h",
)
def foreach_pow_scalar_and_tensor(
    scalar: torch.Tensor, x: list[torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    """Raise a number to the power of each tensor."""
    pairs = zip(numbers(scalar, x), x, strict=True)
    return keep_dtypes([torch.pow(number, exponent) for number, exponent in pairs], x)


@kernel(
    "ForeachRoundOffNumber",
    source="ops-nn:foreach/foreach_round_off_number/op_graph/foreach_round_off_number_proto.h",
)
def foreach_round_off_number(x: list[torch.Tensor], roundMode: int) -> tuple[torch.Tensor, ...]:
    """Round, as the mode says."""
    if roundMode not in ROUNDINGS:
        message = f"roundMode {roundMode} is not available; it can be {sorted(ROUNDINGS)}"
        raise NotImplementedError(message)
    return tuple(ROUNDINGS[roundMode](each) for each in x)


@kernel("ForeachNorm", source="ops-nn:foreach/foreach_norm/op_graph/foreach_norm_proto.h")
def foreach_norm(x: list[torch.Tensor], scalar: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Answer the norm of each tensor: the sum of |x|^p to the power of 1 / p."""
    order = scalar.reshape(())
    return tuple(norm(each, order.to(each.dtype)) for each in x)


def norm(x: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
    """Return the norm of all elements; of the order infinity it is the largest."""
    size = x.abs()
    largest = size.max() if size.numel() else size.sum()
    total = size.float().pow(order).sum().pow(1 / order).to(x.dtype)
    return torch.where(torch.isinf(order), largest, total)
