"""TorchScript's graphs and types: torch.jit makes them of Python's source only."""
# ruff: noqa: SLF001 - that is what the package is for

from __future__ import annotations

from typing import TypeAlias

import torch

__all__ = [
    "Graph",
    "JitType",
    "create_function_from_graph",
    "get_graph_executor_optimize",
    "parse_schema",
]

Graph = torch._C.Graph
JitType: TypeAlias = "torch._C.JitType"  # in torch's stubs alone
create_function_from_graph = torch._C._create_function_from_graph
# Sets what it is called after, and returns what was set.
get_graph_executor_optimize = torch._C._get_graph_executor_optimize

# The schema of a text.
parse_schema = torch._C.parse_schema
