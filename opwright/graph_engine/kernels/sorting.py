"""Operators that put elements in order, or find a place in an order.

The indices of what is sorted are int32, as in CANN.
"""

from __future__ import annotations

import torch

from opwright.graph_engine.table import kernel
from opwright.graph_engine.tensors.dtypes import from_runtime

INT64 = 9


@kernel("Sort", source="ops-math:math/sort/op_graph/sort_proto.h")
def sort(
    x: torch.Tensor, *, axis: int = -1, descending: bool = False, stable: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sort along an axis."""
    values, indices = torch.sort(x, dim=axis, descending=descending, stable=stable)
    return values, indices.to(torch.int32)


@kernel("TopK", source="ops-math:math/topk/op_graph/topk_proto.h")
def top_k(
    x: torch.Tensor,
    k: int,
    *,
    sorted: bool = True,  # noqa: A002 - the prototype's name
    dim: int = -1,
    largest: bool = True,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Answer the k greatest or least along an axis."""
    values, indices = torch.topk(x, k, dim, largest, sorted)
    return values, indices.to(torch.int32)


@kernel("TopKV2", source="ops-math:math/top_k_v2/op_graph/top_k_v2_proto.h")
def top_k_v2(
    x: torch.Tensor,
    k: int,
    *,
    sorted: bool = True,  # noqa: A002 - the prototype's name
    dim: int = -1,
    largest: bool = True,
    sort_policy: int = 1,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Answer the k greatest or least along an axis."""
    del sort_policy
    return top_k(x, k, sorted=sorted, dim=dim, largest=largest)


@kernel("SearchSorted", source="ops-math:math/search_sorted/op_graph/search_sorted_proto.h")
def search_sorted(
    sorted_sequence: torch.Tensor,
    values: torch.Tensor,
    sorter: torch.Tensor | None = None,
    *,
    dtype: int = INT64,
    right: bool = False,
) -> torch.Tensor:
    """Answer where values would be inserted."""
    places = torch.searchsorted(
        sorted_sequence, values, right=right, sorter=None if sorter is None else sorter.long()
    )
    return places.to(from_runtime(dtype, where="SearchSorted"))
