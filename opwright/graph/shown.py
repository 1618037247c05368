"""What is shown of a graph, whether it was captured or compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from opwright.graph import report, svg
from opwright.graph.compiled import lines
from opwright.graph.compiled import report as compiled_report
from opwright.graph.compiled import svg as compiled_svg
from opwright.graph.compiled.load import read_compiled
from opwright.graph.compiled.messages import SUFFIXES
from opwright.graph.compiled.model import CompiledGraph
from opwright.graph.compiled.page import to_page
from opwright.graph.model import CapturedGraph
from opwright.graph.read import read_graphs
from opwright.graph.text import title_text

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FILES", "Graph", "page_of", "read", "svg_of", "text_of", "title_of"]

Graph: TypeAlias = CapturedGraph | CompiledGraph
FILES = (".json", *SUFFIXES)


def read(file: Path) -> tuple[Graph, ...]:
    """Return the graphs of a file.

    Raises
    ------
    DumpError, GeDumpError
        OPW-G001, OPW-G005.
    """
    return read_compiled(file) if file.suffix in SUFFIXES else read_graphs(file)


def title_of(graph: Graph, number: int) -> str:
    """Return the title of a graph; `number` is its place in the list of all, from 1."""
    if isinstance(graph, CompiledGraph):
        return lines.title(graph, number)
    return title_text(graph, number)


def text_of(graph: Graph, number: int) -> str:
    """Return the report about a graph."""
    if isinstance(graph, CompiledGraph):
        return compiled_report.to_text(graph, number)
    return report.to_text(graph, number)


def svg_of(graph: Graph, number: int) -> str:
    """Return the drawing of a graph."""
    if isinstance(graph, CompiledGraph):
        return compiled_svg.to_svg(graph, number)
    return svg.to_svg(graph, number)


def page_of(graph: Graph, number: int) -> str:
    """Return the page of a graph."""
    return to_page(title_of(graph, number), svg_of(graph, number))
