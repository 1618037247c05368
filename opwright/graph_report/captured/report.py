"""A captured graph for people: an overview, the launches in order, the memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from opwright.graph_report.captured.edges import Waits
from opwright.graph_report.captured.measures import count_moved, gather, task_key
from opwright.graph_report.captured.memory import MOST_LISTED, find_largest
from opwright.graph_report.captured.model import is_copy
from opwright.graph_report.captured.text import (
    MOST_NAMED,
    argument_text,
    launch_summary,
    memory_summary,
    operator_text,
    title_text,
    users_text,
    waits_text,
    writers_text,
)
from opwright.graph_report.printing import add_rows, render
from opwright.graph_report.repeats import fold
from opwright.graph_report.text import size_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from opwright.graph_report.captured.measures import Facts
    from opwright.graph_report.captured.model import CapturedGraph

__all__ = ["to_text"]

MOST_LAUNCHES = 60  # a longer list shows sections that repeat once


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
    return render(parts, width)


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
    found = fold([task_key(graph, place) for place in places], MOST_LAUNCHES)
    add_rows(table, found, lambda row: launch_row(graph, facts, places[row]), before=2)
    return table


def launch_row(graph: CapturedGraph, facts: Facts, place: int) -> Iterator[Text]:
    """Yield the cells of a launch."""
    task = graph.tasks[place]
    yield Text(str(facts.numbers[place]))
    yield Text(str(task.stream))
    yield Text(operator_text(task), style="yellow" if is_copy(task) else "")
    yield Text("\n".join(map(argument_text, task.arguments)))
    for written in (False, True):
        size = count_moved(task, written=written)
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
    for block in find_largest(facts.blocks, MOST_LISTED).values():
        table.add_row(
            f"{block.address:#x}",
            size_text(block.size),
            writers_text(block, facts.numbers),
            users_text(block.readers, facts.numbers),
        )
    return table
