"""Operators that answer or take truth values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from opwright.graph_engine.kernels.elementwise import binary, unary
from opwright.graph_engine.table import TABLE, Kernel, Passing, Takes, kernel

if TYPE_CHECKING:
    from collections.abc import Callable

UNARY: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "IsFinite": torch.isfinite,
    "IsInf": torch.isinf,
    "IsNan": torch.isnan,
    "LogicalNot": torch.logical_not,
}
BINARY: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "Equal": torch.eq,
    "Greater": torch.gt,
    "GreaterEqual": torch.ge,
    "Less": torch.lt,
    "LessEqual": torch.le,
    "LogicalAnd": torch.logical_and,
    "LogicalOr": torch.logical_or,
    "NotEqual": torch.ne,
}

for name, function in UNARY.items():
    kernel(name)(unary(function))
for name, pair in BINARY.items():
    kernel(name)(binary(pair))


@kernel("IsClose")
def is_close(
    x1: torch.Tensor,
    x2: torch.Tensor,
    *,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> torch.Tensor:
    """Answer where |x1 - x2| <= atol + rtol * |x2|."""
    return torch.isclose(x1, x2, rtol=rtol, atol=atol, equal_nan=equal_nan)


@kernel("MaskedFill")
def masked_fill(x: torch.Tensor, mask: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Answer `value` where the mask is true, otherwise `x`."""
    return torch.where(mask.bool(), value.to(x.dtype), x)


@kernel("Select")
def select(condition: torch.Tensor, x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    """Answer x1 where the condition holds; one of less axes chooses whole rows."""
    missing = x1.dim() - condition.dim()
    condition = condition.reshape([*condition.shape, *[1] * missing])
    return torch.where(condition.bool(), x1, x2)


# One of its inputs is called `else`, which no parameter can be.
def select_v2(**inputs: torch.Tensor) -> torch.Tensor:
    """Answer `then` where the condition holds, otherwise `else`; all are broadcast."""
    return torch.where(inputs["condition"].bool(), inputs["then"], inputs["else"])


TABLE["SelectV2"] = Kernel(
    function=select_v2,
    inputs={name: Passing(Takes.TENSOR, optional=False) for name in ("condition", "then", "else")},
    attributes={},
)
