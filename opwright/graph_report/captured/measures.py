"""Counts and measures of one graph: the same for the report, the drawing and JSON."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.graph_report.captured.edges import (
    Edge,
    Ends,
    Waits,
    event_edges,
    launch_waits,
    stream_ends,
)
from opwright.graph_report.captured.memory import Block, memory_blocks, most_alive
from opwright.graph_report.captured.model import is_copy, launches

if TYPE_CHECKING:
    from collections.abc import Hashable

    from opwright.graph_report.captured.model import CapturedGraph, Task

__all__ = ["Facts", "count_moved", "gather", "task_key"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """About one graph.

    Parameters
    ----------
    numbers
        Place in the graph's tasks -> number of the launch, from 1.
    per_stream
        Stream -> number of its launches.
    edges
        Of events that are recorded in the graph.
    external
        Number of waits for events that are recorded outside of it.
    waits
        Place of a launch -> what it waits for on other streams.
    ends
        Forks and joins that no launch shows.
    copies
        Places of the launches that do nothing but copy.
    groups
        Task group -> number of its launches.
    blocks
        In the order of their first use.
    most_alive
        Most bytes of blocks between their first and their last use at one time.
    """

    numbers: dict[int, int]
    per_stream: dict[int, int]
    edges: tuple[Edge, ...]
    external: int
    waits: dict[int, Waits]
    ends: Ends
    copies: tuple[int, ...]
    groups: dict[int, int]
    blocks: tuple[Block, ...]
    most_alive: int


def gather(graph: CapturedGraph) -> Facts:
    """Return the facts about a graph."""
    numbers = launches(graph)
    streams = Counter(graph.tasks[place].stream for place in numbers)
    blocks = memory_blocks(graph)
    groups = Counter(group for place in numbers if (group := graph.tasks[place].group) is not None)
    return Facts(
        numbers=numbers,
        per_stream={stream: streams[stream] for stream in graph.streams},
        edges=event_edges(graph),
        external=sum(task.kind == "wait" and task.waits_for is None for task in graph.tasks),
        waits=launch_waits(graph),
        ends=stream_ends(graph),
        copies=tuple(place for place in numbers if is_copy(graph.tasks[place])),
        groups=dict(sorted(groups.items())),
        blocks=blocks,
        most_alive=most_alive(blocks),
    )


def count_moved(task: Task, *, written: bool) -> int:
    """Return the bytes that a task reads, or writes."""
    wanted = (a for a in task.accesses if (a.written if written else a.read))
    return sum(access.size for access in wanted)


def task_key(graph: CapturedGraph, place: int) -> Hashable:
    """Return what makes two tasks alike: all but addresses, events and places."""
    task = graph.tasks[place]
    return (
        task.stream,
        task.name,
        task.kind,
        task.group is None,
        tuple((argument.name, argument.text) for argument in task.arguments),
        None if task.waits_for is None else place - task.waits_for,
    )
