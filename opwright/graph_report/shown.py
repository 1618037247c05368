"""A graph as it is shown, whether it was captured or compiled."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeAlias

from opwright.graph_report.captured import as_json as captured_json
from opwright.graph_report.captured import report as captured_report
from opwright.graph_report.captured import svg as captured_svg
from opwright.graph_report.captured.model import CapturedGraph
from opwright.graph_report.captured.read import read_graphs
from opwright.graph_report.captured.text import title_text
from opwright.graph_report.compiled import as_json as compiled_json
from opwright.graph_report.compiled import lines
from opwright.graph_report.compiled import report as compiled_report
from opwright.graph_report.compiled import svg as compiled_svg
from opwright.graph_report.compiled.messages import SUFFIXES
from opwright.graph_report.compiled.model import CompiledGraph
from opwright.graph_report.compiled.read import read_compiled
from opwright.graph_report.page import to_page

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["FILES", "Graph", "json_of", "page_of", "read", "svg_of", "text_of", "title_of"]

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
    return captured_report.to_text(graph, number)


def svg_of(graph: Graph, number: int) -> str:
    """Return the drawing of a graph."""
    if isinstance(graph, CompiledGraph):
        return compiled_svg.to_svg(graph, number)
    return captured_svg.to_svg(graph, number)


def page_of(graph: Graph, number: int) -> str:
    """Return the page of a graph."""
    return to_page(title_of(graph, number), svg_of(graph, number))


def json_of(graphs: Iterable[Graph]) -> str:
    """Return an array with an object per graph."""
    return json.dumps(
        [
            compiled_json.describe(graph)
            if isinstance(graph, CompiledGraph)
            else captured_json.describe(graph)
            for graph in graphs
        ],
        indent=2,
    )
