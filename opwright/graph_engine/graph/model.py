"""An Ascend IR graph as frozen dataclasses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from opwright.graph_engine.tensors.layouts import ND

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import torch

__all__ = [
    "CONSTANTS",
    "INPUTS",
    "OUTPUT",
    "VARIABLES",
    "Attribute",
    "GeGraph",
    "Node",
    "Source",
    "TensorSpec",
    "find_port",
]

# Types of nodes that compute nothing: inputs of the graph, tensors of its session, constants, and
# the end, whose inputs are the outputs of the graph.
WRITTEN_INPUT = "RefData"
INPUTS = ("Data", WRITTEN_INPUT)
VARIABLES = ("Variable",)
CONSTANTS = ("Const", "Constant", "ConstPlaceHolder")
OUTPUT = "NetOutput"

Attribute = object  # int, float, bool, str, a torch.Tensor, a GeGraph, or a list of these


def find_port(name: str, ports: Collection[str]) -> str:
    """Return the port that an input or output of a node is, or is an element of.

    Elements of a dynamic port are numbered: x0, x1, ... are those of x. A name that is of no port
    is returned as it is.

    >>> find_port("output_01", ["output_0", "output_1"])
    'output_0'
    """
    if name in ports:
        return name
    longest_first = sorted(ports, key=len, reverse=True)
    found = (p for p in longest_first if name.startswith(p) and name[len(p) :].isdecimal())
    return next(found, name)


@dataclass(frozen=True, slots=True)
class Source:
    """An output of a node: what an edge begins at. Index -1 orders only (a control edge)."""

    node: str
    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorSpec:
    """A descriptor of a tensor.

    Parameters
    ----------
    name
        Of the input or output in the operator's prototype; elements of a dynamic one are numbered.
    dtype
        None where the graph leaves it open.
    shape
        A dimension of -1 is not known; None: not even the rank.
    format
        The aclFormat in which the elements lie in memory; `shape` is that of the tensor all the
        same.
    """

    name: str
    dtype: torch.dtype | None
    shape: tuple[int, ...] | None
    format: int = ND


class Referable:
    """Has room for weak references in a class with slots (`weakref_slot` of newer dataclasses)."""

    __slots__ = ("__weakref__",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node(Referable):
    """One operator of a graph.

    Parameters
    ----------
    inputs
        Of each input's name, where it comes from; None for an optional input without a tensor.
    after
        Nodes that have to run before this one, beside those it takes inputs from.
    origin
        The node of the FX graph that it was made for, if TorchAir recorded one.
    rule
        JSON with which TorchAir says how the outputs' shapes follow from those of the inputs; only
        operators that are not CANN's own have it.
    notes
        What scopes and passes wrote at it, by name: streams, super kernels, numbers of cores. They
        change no result.
    subgraphs
        The graphs that a control-flow operator calls, in the order of its prototype.
    """

    name: str
    type: str
    inputs: tuple[tuple[str, Source | None], ...]
    outputs: tuple[TensorSpec, ...]
    attributes: Mapping[str, Attribute]
    after: tuple[str, ...] = ()
    origin: str = ""
    rule: str = ""
    notes: Mapping[str, Attribute] = field(default_factory=dict)
    subgraphs: tuple[GeGraph, ...] = ()

    @property
    def index(self) -> int:
        """Of a node that stands for an input of its graph: which one."""
        return cast("int", self.attributes.get("index", 0))

    def __str__(self) -> str:
        """Name the node for an error."""
        return f"node '{self.name}' ({self.type})" + (f", {self.origin}" if self.origin else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class GeGraph:
    """A graph whose nodes stand in an order of execution."""

    name: str
    nodes: tuple[Node, ...]
    attributes: Mapping[str, Attribute] = field(default_factory=dict)

    def of_type(self, *types: str) -> tuple[Node, ...]:
        """Return the nodes of these types."""
        return tuple(node for node in self.nodes if node.type in types)
