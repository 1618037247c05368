"""The shortest beginning of a graph that a compiler gives other results for.

A compiler that computes in memory which it takes to be free does so only where nobody uses a value
afterwards. A graph that returns all of its tensors shows nothing of that. Here the graph is cut
behind an operator and returns what the rest would have used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from opwright.check.observe.deviation import deviation
from opwright.compare.calls import copy_tensor, map_tensors
from opwright.compare.taps import is_computing, make_prefix

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import torch
    from torch.fx import GraphModule, Node

__all__ = ["Prefix", "find_first_prefix"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefix:
    """A graph that ends with a node of another one.

    Parameters
    ----------
    returned, tensors
        The nodes that it returns, and what it has returned for them.
    """

    last: Node
    module: GraphModule
    returned: tuple[Node, ...]
    tensors: tuple[torch.Tensor, ...]
    is_wrong: bool


def find_first_prefix(
    module: GraphModule,
    wanted: Mapping[Node, torch.Tensor],
    inputs: list[Any],
    compile_graph: Callable[[GraphModule], Callable[..., Any]],
) -> Prefix | None:
    """Return the shortest prefix that differs from what is wanted; None if no prefix does.

    Parameters
    ----------
    wanted
        The values of nodes.
    inputs
        Those of the graph; each run gets copies.
    """
    nodes = [node for node in module.graph.nodes if is_computing(node)]

    def try_prefix(last: Node) -> Prefix:
        prefix, returned = make_prefix(module, last)
        given = map_tensors(copy_tensor, inputs)
        got = tuple(compile_graph(prefix)(*given))
        return Prefix(
            last=last,
            module=prefix,
            returned=tuple(returned),
            tensors=got,
            is_wrong=any(
                deviation(tensor, wanted[node], {}).is_wrong
                for node, tensor in zip(returned, got, strict=True)
            ),
        )

    # Whatever follows the first wrong tensor is wrong, too, as long as the tensor is used.
    low, high, found = 0, len(nodes) - 1, None
    while low <= high:
        middle = (low + high) // 2
        tried = try_prefix(nodes[middle])
        if tried.is_wrong:
            found, high = tried, middle - 1
        else:
            low = middle + 1
    return found
