"""The lines of text that describe a vertex and a graph, the same in all forms."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from opwright.errors import write_count
from opwright.graph_report.text import make_printable

if TYPE_CHECKING:
    from opwright.graph_report.compiled.model import CompiledGraph, Link, Vertex

__all__ = ["Line", "details", "lines_of", "link_text", "source_text", "summary", "title"]

MOST_LINKS = 8  # inputs and outputs of a vertex that are drawn; of more the first
MOST_TYPES = 12  # that are counted in the summary
FILE = re.compile(r".*[/\\](?=[^/\\]*:\d+ in )")
Kind: TypeAlias = Literal["head", "input", "output", "note", "mark", "source"]


@dataclass(frozen=True, slots=True)
class Line:
    """One line.

    Parameters
    ----------
    link
        Of an input: its place in the vertex's inputs.
    """

    kind: Kind
    text: str
    link: int | None = None


def lines_of(vertex: Vertex) -> tuple[Line, ...]:
    """Return what is drawn of a vertex."""
    head = f"{vertex.name}: {vertex.type}" if vertex.type else vertex.name
    if is_small(vertex):
        value = "".join(f" = {value}" for _, value in vertex.attributes)
        return (Line("head", make_printable(f"{head} \u2192 {vertex.outputs[0]}{value}")),)
    found = [Line("head", make_printable(head))]
    shown = vertex.inputs[:MOST_LINKS]
    found += [Line("input", link_text(link), place) for place, link in enumerate(shown)]
    if len(vertex.inputs) > MOST_LINKS:
        found.append(Line("note", f"... {len(vertex.inputs) - MOST_LINKS} more inputs"))
    several = len(vertex.outputs) > 1
    for place, tensor in enumerate(vertex.outputs[:MOST_LINKS]):
        number = f"{place} " if several else ""
        found.append(Line("output", make_printable(f"\u2192 {number}{tensor or 'not known'}")))
    if len(vertex.outputs) > MOST_LINKS:
        found.append(Line("note", f"... {len(vertex.outputs) - MOST_LINKS} more outputs"))
    attributes = [pair for pair in vertex.attributes if not pair[0].startswith("_")]
    if attributes:
        found.append(Line("note", make_printable(", ".join(f"{k}={v}" for k, v in attributes))))
    if vertex.marks:
        found.append(Line("mark", make_printable(", ".join(f"{k}: {v}" for k, v in vertex.marks))))
    if source := source_text(vertex):
        found.append(Line("source", source))
    return tuple(found)


def is_small(vertex: Vertex) -> bool:
    """Whether a vertex is a constant of which one line says all."""
    only_value = [name for name, _ in vertex.attributes] == ["value"]
    return only_value and len(vertex.outputs) == 1 and not vertex.inputs and not vertex.marks


def link_text(link: Link) -> str:
    """Write an input: its name, where it comes from, dtype and shape.

    >>> from opwright.graph_report.compiled.model import Link
    >>> link_text(Link(name="x", source="relu", index=1, tensor="float32[2]"))
    'x ← relu:1  float32[2]'
    """
    if link.source is None:
        return make_printable(f"{link.name} \u2190 none")
    if link.orders:
        return make_printable(f"after {link.source}")
    index = f":{link.index}" if link.index else ""
    return make_printable(f"{link.name} \u2190 {link.source}{index}  {link.tensor}".strip())


def source_text(vertex: Vertex) -> str:
    """Return the line of Python with the file's name alone, or the module if no line is known."""
    if not vertex.source and vertex.module:
        return make_printable(f"in {vertex.module}")
    return make_printable(FILE.sub("", vertex.source))


def details(vertex: Vertex) -> str:
    """Return all that is known about a vertex, over several lines."""
    found = [f"{vertex.name}  {vertex.type}".strip()]
    found += [link_text(link) for link in vertex.inputs]
    found += [f"\u2192 {place} {tensor}" for place, tensor in enumerate(vertex.outputs)]
    found += [f"{name}: {value}" for name, value in vertex.marks]
    found += [f"{name} = {value}" for name, value in vertex.attributes]
    found += [f"in {vertex.module}"] if vertex.module else []
    found += [vertex.source] if vertex.source else []
    return "\n".join(map(make_printable, found))


def title(graph: CompiledGraph, number: int) -> str:
    """Name a graph: its number in the list and its name."""
    return make_printable(f"graph {number} (compiled, {graph.name})")


def summary(graph: CompiledGraph) -> tuple[str, ...]:
    """Return what is counted of a graph, a line each."""
    nodes = [vertex for vertex in graph.ge if not vertex.is_input and not vertex.is_output]
    types = Counter(vertex.type for vertex in nodes).most_common()
    noted = "" if graph.fx_is_complete else ", as the GE graph names them"
    inputs, outputs = (
        sum(len(vertex.outputs) for vertex in graph.ge if vertex.is_input),
        sum(len(vertex.inputs) for vertex in graph.ge if vertex.is_output),
    )
    marked = Counter(f"{k} {v}" for vertex in graph.ge for k, v in vertex.marks)
    marks = ", ".join(f"{name}: {write_count(count, 'node')}" for name, count in marked.items())
    shown = ", ".join(f"{name} {count}" for name, count in types[:MOST_TYPES])
    more = ", ..." if len(types) > MOST_TYPES else ""
    found = [
        f"FX: {write_count(len(graph.fx), 'node') or 'no nodes'}{noted}",
        (
            f"GE: {write_count(len(nodes), 'node') or 'no nodes'}, "
            f"inputs: {inputs}, outputs: {outputs}"
        ),
        f"types: {shown}{more}",
        *([f"scopes: {marks}"] if marks else []),
    ]
    return tuple(map(make_printable, found))
