"""Graphs that return the values inside of another graph."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import torch
from torch.fx import Graph, GraphModule, Node

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["is_computing", "make_prefix", "make_tapped", "tensors_of"]


def is_computing(node: Node) -> bool:
    """Return whether a node calls an operator: `getitem` picks a result of one."""
    return node.op == "call_function" and node.target is not operator.getitem


def tensors_of(module: GraphModule) -> list[Node]:
    """Return the nodes of a graph that have one tensor as their value, in their order."""
    return [
        node
        for node in module.graph.nodes
        if node.op == "call_function" and isinstance(node.meta.get("val"), torch.Tensor)
    ]


def find_returned(module: GraphModule) -> list[Any]:
    """Return what a graph returns: nodes, numbers and None."""
    returned = module.graph.output_node().args[0]
    return list(returned) if isinstance(returned, list | tuple) else [returned]


def make_tapped(module: GraphModule) -> GraphModule:
    """Return the graph with the tensors of all nodes in front of its results."""
    return make_graph(module, module.graph.nodes, [*tensors_of(module), *find_returned(module)])


def make_prefix(module: GraphModule, last: Node) -> tuple[GraphModule, list[Node]]:
    """Return the graph as far as a node, and the nodes whose tensors it returns.

    They are those that the rest of the graph uses, so that a compiler sees as many uses of each as
    in the whole graph.
    """
    nodes: list[Node] = []
    for node in module.graph.nodes:
        nodes.append(node)
        if node is last:
            break
    # The results of an operator that returns several are taken by the nodes behind it.
    place = len(nodes)
    for node in list(module.graph.nodes)[place:]:
        if node.target is not operator.getitem or node.args[0] is not last:
            break
        nodes.append(node)
    inside = set(nodes)
    tensors = [
        node
        for node in tensors_of(module)
        if node in inside and (node is last or any(user not in inside for user in node.users))
    ]
    return make_graph(module, nodes, tensors), tensors


def make_graph(module: GraphModule, nodes: Iterable[Node], returned: Iterable[Any]) -> GraphModule:
    """Return a graph of some of the nodes of another one."""
    graph = Graph()
    copies: dict[Node, Node] = {}
    for node in nodes:
        if node.op != "output":
            copies[node] = graph.node_copy(node, copies.__getitem__)
    graph.output(tuple(copies[each] if isinstance(each, Node) else each for each in returned))
    return GraphModule(module, graph)
