"""Kernels that write a variable or an input of the graph."""

from __future__ import annotations

import torch

from opwright.graph_engine.table import kernel


@kernel("AssignAdd", source="ops-math:math/assign_add/op_graph/assign_add_proto.h")
def assign_add(
    ref: torch.Tensor, value: torch.Tensor, *, use_locking: bool = False
) -> torch.Tensor:
    """Add `value` to what is in the memory of `ref`."""
    del use_locking
    return ref.add_(value)


@kernel("AssignSub", source="ops-math:math/assign_sub/op_graph/assign_sub_proto.h")
def assign_sub(
    var: torch.Tensor, value: torch.Tensor, *, use_locking: bool = False
) -> torch.Tensor:
    """Subtract `value` from what is in the memory of `var`."""
    del use_locking
    return var.sub_(value)
