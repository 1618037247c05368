"""Parts of reports, printed with rich; tables show repetitions once."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from opwright.errors import write_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rich.console import RenderableType
    from rich.table import Table

    from opwright.graph_report.repeats import Section

__all__ = ["add_rows", "render"]

PIPE_WIDTH = 200  # columns where there is no terminal: an address is not broken over two lines
MOST_ROWS = 2000  # of what does not repeat: more take rich a minute and nobody reads them


def render(parts: Sequence[RenderableType], width: int | None) -> str:
    """Return the parts of a report as text.

    Parameters
    ----------
    width
        Columns; by default those of the terminal, or many where there is none.
    """
    if width is None and not sys.stdout.isatty():
        width = PIPE_WIDTH
    console = Console(highlight=False, width=width)
    with console.capture() as capture:
        for part in parts:
            console.print(part)
    return "\n".join(line.rstrip() for line in capture.get().rstrip().splitlines())


def add_rows(
    table: Table,
    sections: Sequence[Section],
    cells: Callable[[int], Iterable[RenderableType]],
    *,
    before: int,
) -> None:
    """Add the rows of each section once.

    Parameters
    ----------
    cells
        Place of a row -> its cells.
    before
        Number of columns in front of the one in which a section is announced.
    """
    empty = [""] * before
    total = sum(section.length * section.times for section in sections)
    for section in sections:
        if section.times > 1:
            table.add_row(*empty, Text(section_text(section), style="bold"))
        for place in range(section.start, section.start + section.length):
            if table.row_count >= MOST_ROWS:
                more = f"... {write_count(total - place, 'row')} more; --json FILE writes all"
                table.add_row(*empty, Text(more))
                return
            table.add_row(*cells(place))
        if section.times > 1:
            table.add_row(*empty, Text(f"(end of the {section.times} times)", style="bold"))


def section_text(section: Section) -> str:
    """Announce a section that repeats."""
    last = section.start + section.length * section.times
    return (
        f"{section.times} times the next {write_count(section.length, 'row')}: "
        f"#{section.start + 1} to #{last}"
    )
