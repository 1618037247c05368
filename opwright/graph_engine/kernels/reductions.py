"""Operators that reduce axes, and running sums along one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch

from opwright.graph_engine.table import kernel
from opwright.graph_engine.tensors.dtypes import from_runtime

UNDEFINED = 28
INT64 = 9
OLD_HEADER = (
    "graphengine:third_party/fwkacllib/inc/ops/reduce_ops.h"  # of types with axes as attribute
)
INT32_RANGE = torch.iinfo(torch.int32)  # its ends stand for an infinite order of a norm

Reduction = Callable[[torch.Tensor, list[int], bool], torch.Tensor]


def widen_for_mean(x: torch.Tensor) -> torch.Tensor:
    """Return the tensor in a dtype that has means: float32 for integers."""
    return x if x.is_floating_point() or x.is_complex() else x.float()


def total(x: torch.Tensor, axes: list[int], keep: bool) -> torch.Tensor:  # noqa: FBT001 - Reduction
    """Sum; integers keep their dtype."""
    return x.sum(axes, keepdim=keep, dtype=x.dtype)


def mean(x: torch.Tensor, axes: list[int], keep: bool) -> torch.Tensor:  # noqa: FBT001 - Reduction
    """Answer the mean; integers keep their dtype."""
    return widen_for_mean(x).mean(axes, keepdim=keep).to(x.dtype)


def product(x: torch.Tensor, axes: list[int], keep: bool) -> torch.Tensor:  # noqa: FBT001 - Reduction
    """Multiply; integers keep their dtype."""
    for axis in sorted((axis % max(x.dim(), 1) for axis in axes), reverse=True):
        x = x.prod(axis, keepdim=keep, dtype=x.dtype)
    return x


# None of these changes the dtype. Without axes there is nothing to reduce: the input is the answer.
REDUCTIONS: dict[str, Reduction] = {
    "ReduceSum": total,
    "ReduceProd": product,
    "ReduceMax": lambda x, axes, keep: x.amax(axes, keepdim=keep),
    "ReduceMin": lambda x, axes, keep: x.amin(axes, keepdim=keep),
    "ReduceAny": lambda x, axes, keep: torch.any(x, tuple(axes), keepdim=keep),
    "ReduceAll": lambda x, axes, keep: torch.all(x, tuple(axes), keepdim=keep),
}


def of_input(reduction: Reduction) -> Callable[..., torch.Tensor]:
    """Return the kernel whose axes are an input."""

    def run(x: torch.Tensor, axes: list[int], *, keep_dims: bool = False) -> torch.Tensor:
        return reduction(x, axes, keep_dims) if axes else x

    return run


def of_attribute(reduction: Reduction) -> Callable[..., torch.Tensor]:
    """Return the kernel whose axes are an attribute."""

    def run(x: torch.Tensor, *, axes: Sequence[int], keep_dims: bool = False) -> torch.Tensor:
        return reduction(x, list(axes), keep_dims) if axes else x

    return run


for name, function in REDUCTIONS.items():
    folder = "reduce_" + name.removeprefix("Reduce").lower()
    header = f"ops-math:math/{folder}/op_graph/{folder}_proto.h"
    kernel(name, source=header)(of_input(function))
    kernel(name + "D", source=OLD_HEADER)(of_attribute(function))
kernel(
    "ReduceLogSumExp", source="ops-math:math/reduce_log_sum_exp/op_graph/reduce_log_sum_exp_proto.h"
)(of_input(lambda x, axes, keep: x.logsumexp(axes, keepdim=keep)))


def reduce_mean(x: torch.Tensor, axes: Sequence[int], *, keep: bool, noop: bool) -> torch.Tensor:
    """Answer the mean; without axes, `noop` says whether it is that of all or `x` itself."""
    if not axes and noop:
        return x
    return mean(x, list(axes) or list(range(x.dim())), keep)


@kernel("ReduceMean", source="ops-math:math/reduce_mean/op_graph/reduce_mean_proto.h")
def reduce_mean_v1(
    x: torch.Tensor,
    axes: list[int],
    *,
    keep_dims: bool = False,
    noop_with_empty_axes: bool = True,
) -> torch.Tensor:
    """Answer the mean."""
    return reduce_mean(x, axes, keep=keep_dims, noop=noop_with_empty_axes)


@kernel("ReduceMeanD", source="graphengine:third_party/fwkacllib/inc/ops/reduce_ops.h")
def reduce_mean_d(
    x: torch.Tensor,
    *,
    axes: Sequence[int],
    keep_dims: bool = False,
    noop_with_empty_axes: bool = False,
) -> torch.Tensor:
    """Answer the mean."""
    return reduce_mean(x, axes, keep=keep_dims, noop=noop_with_empty_axes)


@kernel(
    "ReduceMeanWithCast", source="ops-math:math/reduce_mean/op_graph/reduce_mean_with_cast_proto.h"
)
def reduce_mean_with_cast(
    x: torch.Tensor,
    axes: list[int],
    *,
    keep_dims: bool = False,
    noop_with_empty_axes: bool = True,
    dtype: int = UNDEFINED,
) -> torch.Tensor:
    """Convert the dtype and answer the mean."""
    if dtype != UNDEFINED:
        x = x.to(from_runtime(dtype, where="ReduceMeanWithCast"))
    return reduce_mean(x, axes, keep=keep_dims, noop=noop_with_empty_axes)


@kernel("ReduceStdV2", source="ops-math:math/reduce_std_v2/op_graph/reduce_std_v2_proto.h")
def reduce_std_v2(
    x: torch.Tensor,
    *,
    dim: Sequence[int] = (),
    correction: int = 1,
    keepdim: bool = False,
    is_mean_out: bool = True,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Answer standard deviation and mean."""
    del is_mean_out
    std, middle = torch.std_mean(x, tuple(dim) or None, correction=correction, keepdim=keepdim)
    return std, middle


@kernel("ReduceStdWithMean", source="torchair:aten.std.correction")
def reduce_std_with_mean(
    x: torch.Tensor,
    mean: torch.Tensor,
    *,
    dim: Sequence[int] = (),
    unbiased: bool = True,
    keepdim: bool = False,
    invert: bool = False,
    epsilon: float = 0.001,
    correction: int = 1,
) -> torch.Tensor:
    """Answer the standard deviation about a mean that is known; inverted, with epsilon in it."""
    count = math.prod(x.shape[axis] for axis in dim) if dim else x.numel()
    axes = tuple(dim) or tuple(range(x.dim()))
    if not dim:  # TorchAir then passes what ReduceMean answers without axes, and that is x
        mean = x.mean()
    squares = (x - mean).square().sum(axes, keepdim=keepdim)
    variance = squares / max(count - (correction if unbiased else 0), 0)
    return torch.rsqrt(variance + epsilon) if invert else torch.sqrt(variance)


@kernel("LpNormV2", source="ops-nn:norm/lp_norm_v2/op_graph/lp_norm_v2_proto.h")
def lp_norm_v2(
    x: torch.Tensor,
    *,
    p: float = 2.0,
    axes: Sequence[int] = (),
    keepdim: bool = False,
    epsilon: float = 1e-12,
) -> torch.Tensor:
    """Answer the p-norm, at least epsilon."""
    order = math.inf if p >= INT32_RANGE.max else -math.inf if p <= INT32_RANGE.min else p
    norm: torch.Tensor = torch.linalg.vector_norm(x, order, tuple(axes) or None, keepdim=keepdim)
    return norm.clamp_min(epsilon) if epsilon > 0 else norm


def index_of(
    pick: Callable[..., torch.Tensor],
) -> Callable[..., torch.Tensor]:
    """Return the kernel that answers where along an axis an extreme stands."""

    def run(x: torch.Tensor, dimension: int, *, dtype: int = INT64) -> torch.Tensor:
        return pick(x, dimension).to(from_runtime(dtype, where="dtype of an index"))

    return run


def extreme(
    pick: Callable[..., tuple[torch.Tensor, torch.Tensor]],
) -> Callable[..., tuple[torch.Tensor, torch.Tensor]]:
    """Return the kernel that answers where along an axis an extreme stands, and the extreme."""

    def run(
        x: torch.Tensor, *, dimension: int, keep_dims: bool = False
    ) -> tuple[torch.Tensor, torch.Tensor]:
        values, indices = pick(x, dimension, keepdim=keep_dims)
        return indices.to(torch.int32), values

    return run


kernel("ArgMaxV2", source="ops-math:math/arg_max_v2/op_graph/arg_max_v2_proto.h")(
    index_of(torch.argmax)
)
kernel("ArgMin", source="ops-math:math/arg_min/op_graph/arg_min_proto.h")(index_of(torch.argmin))
kernel(
    "ArgMaxWithValue", source="ops-math:math/arg_max_with_value/op_graph/arg_max_with_value_proto.h"
)(extreme(torch.max))
kernel(
    "ArgMinWithValue", source="ops-math:math/arg_min_with_value/op_graph/arg_min_with_value_proto.h"
)(extreme(torch.min))


def run_along(
    function: Callable[..., torch.Tensor],
    x: torch.Tensor,
    axis: int,
    *,
    start: int,
    exclusive: bool,
    reverse: bool,
) -> torch.Tensor:
    """Run along an axis: from the end if reversed, without the element itself if exclusive."""
    if reverse:
        x = x.flip(axis)
    if exclusive:
        first = torch.full_like(x.narrow(axis, 0, min(x.shape[axis], 1)), start)
        x = torch.cat([first, x.narrow(axis, 0, max(x.shape[axis] - 1, 0))], axis)
    x = function(x, axis, dtype=x.dtype)
    return x.flip(axis) if reverse else x


@kernel("Cumsum", source="ops-math:math/cumsum/op_graph/cumsum_proto.h")
def cumsum(
    x: torch.Tensor, axis: int, *, exclusive: bool = False, reverse: bool = False
) -> torch.Tensor:
    """Answer the sums up to each element."""
    return run_along(torch.cumsum, x, axis, start=0, exclusive=exclusive, reverse=reverse)


@kernel("CumsumD", source="graphengine:third_party/fwkacllib/inc/ops/selection_ops.h")
def cumsum_d(
    x: torch.Tensor, *, axis: int, exclusive: bool = False, reverse: bool = False
) -> torch.Tensor:
    """Answer the sums up to each element."""
    return run_along(torch.cumsum, x, axis, start=0, exclusive=exclusive, reverse=reverse)


@kernel("Cumprod", source="graphengine:third_party/fwkacllib/inc/ops/selection_ops.h")
def cumprod(
    x: torch.Tensor, axis: int, *, exclusive: bool = False, reverse: bool = False
) -> torch.Tensor:
    """Answer the products up to each element."""
    return run_along(torch.cumprod, x, axis, start=1, exclusive=exclusive, reverse=reverse)
