"""A captured graph for people: an overview, the launches in order, the memory."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from opwright.errors import counted
from opwright.graph.edges import Waits
from opwright.graph.facts import gather, moved, task_key
from opwright.graph.memory import MOST_LISTED, largest
from opwright.graph.model import is_copy
from opwright.graph.repeats import Section, sections
from opwright.graph.text import (
    MOST_NAMED,
    argument_text,
    launch_summary,
    memory_summary,
    operator_text,
    size_text,
    title_text,
    users_text,
    waits_text,
    writers_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from opwright.graph.facts import Facts
    from opwright.graph.model import CapturedGraph

__all__ = ["MOST_ROWS", "more_text", "printed", "section_text", "to_text"]

PIPE_WIDTH = 200  # columns where there is no terminal: an address is not broken over two lines
MOST_LAUNCHES = 60  # a longer list shows sections that repeat once
MOST_ROWS = 2000  # of what does not repeat: more take rich a minute and nobody reads them


def to_text(graph: CapturedGraph, number: int, *, width: int | None = None) -> str:
    """Return the report about a graph.

    Parameters
    ----------
    number
        Place of the graph in the list of all, from 1.
    width
        Columns; by default those of the terminal, or many where there is none.
    """
    facts = gather(graph)
    parts: list[RenderableType] = [
        Text(title_text(graph, number), style="bold"),
        Padding(overview(graph, facts), (0, 0, 0, 2)),
    ]
    if facts.numbers:
        parts.append(launch_table(graph, facts))
    if facts.blocks:
        parts.append(memory_table(facts))
    return printed(parts, width)


def printed(parts: Sequence[RenderableType], width: int | None) -> str:
    """Return the parts of a report as text; width as of `to_text`."""
    if width is None and not sys.stdout.isatty():
        width = PIPE_WIDTH
    console = Console(highlight=False, width=width)
    with console.capture() as capture:
        for part in parts:
            console.print(part)
    return "\n".join(line.rstrip() for line in capture.get().rstrip().splitlines())


def overview(graph: CapturedGraph, facts: Facts) -> Table:
    """Return the lines that describe the whole graph."""
    table = Table.grid(padding=(0, 2))
    table.add_row("launches", launch_summary(graph))
    table.add_row("copies", copies_text(graph, facts))
    table.add_row("streams", streams_text(facts))
    table.add_row("event edges", edges_text(facts))
    if found := list(ends_text(facts)):
        table.add_row("ends", "; ".join(found))
    if facts.groups:
        launches = ", ".join(f"{group}: {count}" for group, count in facts.groups.items())
        table.add_row("task groups", f"{len(facts.groups)} (launches in {launches})")
    if graph.bodies:
        table.add_row("bodies", ", ".join(f"model {body}" for body in graph.bodies))
    table.add_row("memory", memory_summary(graph, facts))
    return table


def copies_text(graph: CapturedGraph, facts: Facts) -> str:
    """Count the copies and name their launches."""
    names = [f"#{facts.numbers[place]} {graph.tasks[place].name}" for place in facts.copies]
    shown = ", ".join(names[:MOST_NAMED]) + (", ..." if len(names) > MOST_NAMED else "")
    return f"{len(names)} ({shown})" if names else "0"


def streams_text(facts: Facts) -> str:
    """Count the streams and the launches of each."""
    each = ", ".join(f"stream {stream}: {count}" for stream, count in facts.per_stream.items())
    return f"{len(facts.per_stream)} ({each})" if each else "0"


def edges_text(facts: Facts) -> str:
    """Count the event edges, and the waits for events from outside."""
    outside = f", and {facts.external} from outside" if facts.external else ""
    return f"{len(facts.edges)}{outside}"


def ends_text(facts: Facts) -> Iterator[str]:
    """Yield the forks before the first launch and the joins behind the last."""
    for stream, other in facts.ends.forks:
        yield f"stream {other} forks off stream {stream} before its first launch"
    for stream, waits in facts.ends.joins.items():
        yield f"stream {stream} ends waiting for {waits_text(waits, facts.numbers)}"


def launch_table(graph: CapturedGraph, facts: Facts) -> Table:
    """Return the launches in the order of the capture; a long list shows repetitions once."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1), title=None)
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("stream", justify="right", no_wrap=True)
    table.add_column("operator", overflow="fold")
    table.add_column("arguments", overflow="fold")
    for name in ("read", "written"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("waits for", overflow="fold")
    places = list(facts.numbers)
    for section in shown_sections(graph, facts):
        if section.times > 1:
            table.add_row("", "", Text(section_text(section), style="bold"))
        for place in places[section.start : section.start + section.length]:
            if table.row_count >= MOST_ROWS:
                table.add_row("", "", Text(more_text(len(places) - facts.numbers[place] + 1)))
                return table
            table.add_row(*launch_row(graph, facts, place))
        if section.times > 1:
            table.add_row("", "", Text(f"(end of the {section.times} times)", style="bold"))
    return table


def more_text(count: int) -> str:
    """Say how many rows are left out."""
    return f"... {counted(count, 'row')} more; --json FILE writes all"


def shown_sections(graph: CapturedGraph, facts: Facts) -> Sequence[Section]:
    """Return the sections of the list of launches: one if it is short."""
    if len(facts.numbers) <= MOST_LAUNCHES:
        return (Section(0, len(facts.numbers)),)
    return sections([task_key(graph, place) for place in facts.numbers])


def section_text(section: Section) -> str:
    """Announce a section that repeats."""
    last = section.start + section.length * section.times
    return (
        f"{section.times} times the next {counted(section.length, 'row')}: "
        f"#{section.start + 1} to #{last}"
    )


def launch_row(graph: CapturedGraph, facts: Facts, place: int) -> Iterator[Text]:
    """Yield the cells of a launch."""
    task = graph.tasks[place]
    yield Text(str(facts.numbers[place]))
    yield Text(str(task.stream))
    yield Text(operator_text(task), style="yellow" if is_copy(task) else "")
    yield Text("\n".join(map(argument_text, task.arguments)))
    for written in (False, True):
        size = moved(task, written=written)
        yield Text(size_text(size) if size else "")
    yield Text(waits_text(facts.waits.get(place, Waits()), facts.numbers))


def memory_table(facts: Facts) -> Table:
    """Return the blocks; of many the largest, in the order of their first use."""
    title = None
    if len(facts.blocks) > MOST_LISTED:
        title = f"the {MOST_LISTED} largest of {len(facts.blocks)} blocks of memory"
    table = Table(box=SIMPLE_HEAD, padding=(0, 1), title=title, title_justify="left")
    table.add_column("block", no_wrap=True)
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("written by", overflow="fold")
    table.add_column("read by", overflow="fold")
    for block in largest(facts.blocks, MOST_LISTED).values():
        table.add_row(
            f"{block.address:#x}",
            size_text(block.size),
            writers_text(block, facts.numbers),
            users_text(block.readers, facts.numbers),
        )
    return table
