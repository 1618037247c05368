"""An FX graph and the GE graph it became, as text: what is drawn and listed."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CompiledGraph", "Link", "Vertex"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """An input of a vertex.

    Parameters
    ----------
    name
        Of the parameter; empty for an edge that only orders.
    source
        Name of the vertex that it comes from; None for an optional input without a tensor.
    index
        Which output of it; -1 for an edge that only orders.
    tensor
        Dtype and shape, as in "float32[2, 3]"; empty where neither is known.
    """

    name: str
    source: str | None
    index: int = 0
    tensor: str = ""

    @property
    def orders(self) -> bool:
        """Whether the edge carries no tensor."""
        return self.index < 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Vertex:
    """A node of either graph.

    Parameters
    ----------
    type
        GE type, or the target of an FX node.
    outputs
        Dtype and shape of each.
    attributes
        Name and value; of an FX node its arguments that are no nodes.
    marks
        What scopes say of where it runs: stream, super kernel, cores.
    source
        Line of Python that it comes from.
    module
        Of torch.nn, in which that line ran.
    fx
        Of a GE node: names of the FX nodes that it belongs to; the first is the one whose converter
        made it.
    is_input, is_output
        Whether it stands for inputs or outputs of the whole graph.
    """

    name: str
    type: str
    inputs: tuple[Link, ...] = ()
    outputs: tuple[str, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()
    marks: tuple[tuple[str, str], ...] = ()
    source: str = ""
    module: str = ""
    fx: tuple[str, ...] = ()
    is_input: bool = False
    is_output: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledGraph:
    """A GE graph and its FX graph.

    Parameters
    ----------
    fx
        In order of execution.
    ge
        As they stand in the serialized graph: in the order in which converters made them.
    fx_is_complete
        False if `fx` was put together from what the GE graph says about it.
    attributes
        Of the GE graph.
    """

    name: str
    fx: tuple[Vertex, ...]
    ge: tuple[Vertex, ...]
    fx_is_complete: bool
    attributes: tuple[tuple[str, str], ...] = ()
