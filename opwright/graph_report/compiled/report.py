"""A compiled graph for people: an overview, and each FX node with the GE nodes it became."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from opwright.graph_report.compiled.layout import make_sections
from opwright.graph_report.compiled.lines import source_text, summary, title
from opwright.graph_report.compiled.relate import rows
from opwright.graph_report.printing import add_rows, render
from opwright.graph_report.text import make_printable

if TYPE_CHECKING:
    from opwright.graph_report.compiled.model import CompiledGraph, Vertex
    from opwright.graph_report.compiled.relate import Row

__all__ = ["to_text"]


def to_text(graph: CompiledGraph, number: int, *, width: int | None = None) -> str:
    """Return the report about a graph; parameters as of `to_text` of captured graphs."""
    return render(
        [
            Text(title(graph, number), style="bold"),
            Padding(Text("\n".join(summary(graph))), (0, 0, 0, 2)),
            row_table(graph),
        ],
        width,
    )


def row_table(graph: CompiledGraph) -> Table:
    """Return the rows; of many, sections that repeat once."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1))
    table.add_column("#", justify="right", no_wrap=True)
    for name in ("FX node", "GE nodes", "outputs", "scopes", "source"):
        table.add_column(name, overflow="fold")
    found = rows(graph)
    add_rows(table, make_sections(found), lambda row: row_cells(row, found[row]), before=1)
    return table


def row_cells(place: int, row: Row) -> list[Text]:
    """Return the cells of a row."""
    marks = dict.fromkeys(f"{name}: {value}" for each in row.ge for name, value in each.marks)
    outputs = row.fx.outputs if row.fx is not None else row.ge[0].outputs
    return [
        Text(str(place + 1)),
        Text("" if row.fx is None else write_vertex(row.fx)),
        Text("\n".join(map(write_vertex, row.ge))),
        Text(make_printable_lines(outputs)),
        Text(make_printable_lines(marks)),
        Text("" if row.fx is None else source_text(row.fx)),
    ]


def write_vertex(vertex: Vertex) -> str:
    """Write a vertex in one line: its name and type."""
    return make_printable(f"{vertex.name}  {vertex.type}".strip())


def make_printable_lines(texts: dict[str, None] | tuple[str, ...]) -> str:
    """Return texts, one per line."""
    return "\n".join(map(make_printable, texts))
