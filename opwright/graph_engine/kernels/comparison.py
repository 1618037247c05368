"""Operators that answer or take truth values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from opwright.graph_engine.kernels.elementwise import binary, unary
from opwright.graph_engine.table import TABLE, Kernel, Passing, Takes, kernel

if TYPE_CHECKING:
    from collections.abc import Callable

UNARY: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], str]] = {
    "IsFinite": (torch.isfinite, "ops-math:math/is_finite/op_graph/is_finite_proto.h"),
    "IsInf": (torch.isinf, "ops-math:math/is_inf/op_graph/is_inf_proto.h"),
    "IsNan": (torch.isnan, "ops-math:math/is_nan/op_graph/is_nan_proto.h"),
    "LogicalNot": (torch.logical_not, "ops-math:math/logical_not/op_graph/logical_not_proto.h"),
}
BINARY: dict[str, tuple[Callable[[torch.Tensor, torch.Tensor], torch.Tensor], str]] = {
    "Equal": (torch.eq, "ops-math:math/equal/op_graph/equal_proto.h"),
    "Greater": (torch.gt, "ops-math:math/greater/op_graph/greater_proto.h"),
    "GreaterEqual": (torch.ge, "ops-math:math/greater_equal/op_graph/greater_equal_proto.h"),
    "Less": (torch.lt, "ops-math:math/less/op_graph/less_proto.h"),
    "LessEqual": (torch.le, "ops-math:math/less_equal/op_graph/less_equal_proto.h"),
    "LogicalAnd": (torch.logical_and, "ops-math:math/logical_and/op_graph/logical_and_proto.h"),
    "LogicalOr": (torch.logical_or, "ops-math:math/logical_or/op_graph/logical_or_proto.h"),
    "NotEqual": (torch.ne, "ops-math:math/not_equal/op_graph/not_equal_proto.h"),
}

for name, (function, source) in UNARY.items():
    kernel(name, source=source)(unary(function))
for name, (pair, source) in BINARY.items():
    kernel(name, source=source)(binary(pair))


@kernel("IsClose", source="ops-math:math/is_close/op_graph/is_close_proto.h")
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


@kernel("MaskedFill", source="ops-math:conversion/masked_fill/op_graph/masked_fill_proto.h")
def masked_fill(x: torch.Tensor, mask: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Answer `value` where the mask is true, otherwise `x`."""
    return torch.where(mask.bool(), value.to(x.dtype), x)


@kernel("Select", source="ops-math:math/select/op_graph/select_proto.h")
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
    source="ops-math:math/select_v2/op_graph/select_v2_proto.h",
)
