"""Operators whose outputs are as large as their values say."""

from __future__ import annotations

import torch

from opwright.graph_engine.legacy.kernels.table import legacy_kernel
from opwright.graph_engine.tensors.dtypes import from_runtime

Three = tuple[torch.Tensor, torch.Tensor, torch.Tensor]

INT64 = 9
NO_AXIS = 1000  # the prototype's default


@legacy_kernel("NonZero", source="ops-nn:index/non_zero/op_graph/non_zero_proto.h")
def non_zero(x: torch.Tensor, *, transpose: bool = False, dtype: int = INT64) -> torch.Tensor:
    """Answer the places of elements that are not zero, one in each row."""
    places = x.nonzero().to(from_runtime(dtype, where="NonZero"))
    return places.t().contiguous() if transpose else places


@legacy_kernel(
    "MaskedSelect", source="ops-math:conversion/masked_select_v3/docs/aclnnMaskedSelect.md"
)
def masked_select(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Answer the elements where the mask is set."""
    return x.masked_select(mask)


@legacy_kernel(
    "UniqueWithCountsAndSorting", source="op-plugin:op_plugin/ops/aclops/_Unique2KernelNpu.cpp"
)
def unique_with_counts_and_sorting(
    x: torch.Tensor,
    *,
    return_inverse: bool = False,
    return_counts: bool = False,
    sorted: bool = True,  # noqa: A002 - the prototype's name
) -> Three:
    """Answer each value once, where each element went, and how many there were.

    What is not wanted is one zero.
    """
    del sorted  # sorted values are as good
    values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
    nothing = torch.zeros(1, dtype=torch.int64)
    wanted = return_inverse or return_counts
    return values, inverse if wanted else nothing, counts if return_counts else nothing


@legacy_kernel(
    "UniqueWithCountsExt2", source="graphengine:third_party/fwkacllib/inc/ops/array_ops.h"
)
def unique_with_counts_ext2(
    x: torch.Tensor,
    axis: int,
    *,
    out_idx: int = INT64,
    sorted: bool = True,  # noqa: A002 - torch_npu's name
    return_inverse: bool = True,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Answer each slice along an axis once: its first place, how many, where each slice went."""
    del out_idx, sorted, return_inverse
    values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True, dim=axis)
    places = torch.arange(len(inverse) - 1, -1, -1)
    first = torch.zeros_like(counts).scatter_(0, inverse.flip(0), places)
    return values, first, counts, inverse


@legacy_kernel(
    "UniqueConsecutive",
    source="ops-nn:index/unique_consecutive/op_graph/unique_consecutive_proto.h",
)
def unique_consecutive(
    x: torch.Tensor,
    *,
    return_idx: bool = False,
    return_counts: bool = False,
    axis: int = NO_AXIS,
) -> Three:
    """Answer each run of equal elements once, where each element went, and how long runs were."""
    del return_idx, return_counts
    values, inverse, counts = torch.unique_consecutive(
        x, return_inverse=True, return_counts=True, dim=None if axis == NO_AXIS else axis
    )
    return values, inverse, counts


@legacy_kernel("Bincount", source="ops-math:math/bincount/op_graph/bincount_proto.h")
def bincount(array: torch.Tensor, size: int, weights: torch.Tensor) -> torch.Tensor:
    """Count numbers, or add up their weights."""
    found = torch.bincount(
        array.flatten().long(),
        weights=weights.flatten() if weights.numel() else None,
        minlength=size,
    )
    return found[:size]


@legacy_kernel("Histogram", source="ops-math:math/histogram_v2/op_graph/histogram_proto.h")
def histogram(
    x: torch.Tensor,
    *,
    bins: int = 100,
    min: float = 0.0,  # noqa: A002 - the prototype's name
    max: float = 0.0,  # noqa: A002 - the prototype's name
) -> torch.Tensor:
    """Count elements in bins of equal width; equal limits stand for those of the elements."""
    return torch.histc(x.float(), bins, min, max)


@legacy_kernel(
    "RepeatInterleave", source="ops-nn:index/repeat_interleave/op_graph/repeat_interleave_proto.h"
)
def repeat_interleave(
    x: torch.Tensor, repeats: torch.Tensor, *, axis: int = NO_AXIS
) -> torch.Tensor:
    """Repeat each slice along an axis."""
    counts = repeats.long().flatten()
    if axis == NO_AXIS:
        x, axis = x.flatten(), 0
    return torch.repeat_interleave(x, counts if len(counts) > 1 else int(counts), dim=axis)
