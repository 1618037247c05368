"""Operators that call graphs."""

from __future__ import annotations

import torch

from opwright.graph_engine.calls.control_flow import call_graphs
from opwright.graph_engine.graph.model import Node  # noqa: TC001 - the table reads the annotations
from opwright.graph_engine.table import kernel

BRANCHES = 2  # of If: what runs if the condition holds, and what runs otherwise
LOOP = 2  # the graphs of While: the condition and the body


@kernel(
    "If", "StatelessIf", "_If", source="graphengine:third_party/fwkacllib/inc/ops/functional_ops.h"
)
def if_(
    cond: torch.Tensor,
    input: list[torch.Tensor],  # noqa: A002 - the prototype's name
    *,
    node: Node,
) -> tuple[torch.Tensor, ...]:
    """Run the first graph if the condition holds, the second one otherwise."""
    if cond.dtype != torch.bool or cond.numel() != 1:
        cond = cond.ne(0) if cond.numel() == 1 else torch.tensor(cond.numel() > 0)
    return call_graphs(node, input, cond, graphs=BRANCHES)


@kernel("Case", source="graphengine:third_party/fwkacllib/inc/ops/functional_ops.h")
@kernel("StatelessCase", source="inferred")
def case(
    branch_index: torch.Tensor,
    input: list[torch.Tensor],  # noqa: A002 - as above
    *,
    node: Node,
) -> tuple[torch.Tensor, ...]:
    """Run the graph with this index; the last one if there is none."""
    return call_graphs(node, input, branch_index)


@kernel(
    "While",
    "StatelessWhile",
    "_While",
    source="graphengine:third_party/fwkacllib/inc/ops/functional_ops.h",
)
def while_(
    input: list[torch.Tensor],  # noqa: A002 - as above
    *,
    parallel_iterations: int = 10,
    node: Node,
) -> tuple[torch.Tensor, ...]:
    """Run the second graph on its own results as long as the first one says so."""
    del parallel_iterations
    return call_graphs(node, input, graphs=LOOP)


@kernel(
    "PartitionedCall",
    "StatefulPartitionedCall",
    source="graphengine:third_party/fwkacllib/inc/ops/functional_ops.h",
)
def partitioned_call(
    args: list[torch.Tensor],
    *,
    config: str = "",
    config_proto: str = "",
    executor_type: str = "",
    node: Node,
) -> tuple[torch.Tensor, ...]:
    """Run a graph."""
    del config, config_proto, executor_type
    return call_graphs(node, args, graphs=1)
