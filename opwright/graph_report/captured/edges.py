"""Event edges: which task waits for which record, and which launch thereby waits for which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.graph_report.captured.model import launches

if TYPE_CHECKING:
    from opwright.graph_report.captured.model import CapturedGraph

__all__ = ["Edge", "Ends", "Waits", "event_edges", "launch_waits", "stream_ends"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A wait and its record, as places in the graph's tasks."""

    record: int
    wait: int


@dataclass(frozen=True, slots=True)
class Waits:
    """The waits of a launch besides the one for the launch before it on its stream.

    Parameters
    ----------
    launches
        Places in the graph's tasks.
    external
        Handles of events that are recorded outside of the graph; None where it is not known.
    """

    launches: tuple[int, ...] = ()
    external: tuple[int | None, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """Event edges that no launch shows: it would stand before the first or behind the last.

    Parameters
    ----------
    forks
        Stream that had no launch yet, and stream that forked off from it.
    joins
        Stream -> what it waits for behind its last launch.
    """

    forks: tuple[tuple[int, int], ...]
    joins: dict[int, Waits]


def event_edges(graph: CapturedGraph) -> tuple[Edge, ...]:
    """Return the edges in the order of their waits."""
    return tuple(
        Edge(record=task.waits_for, wait=place)
        for place, task in enumerate(graph.tasks)
        if task.waits_for is not None
    )


def launch_waits(graph: CapturedGraph) -> dict[int, Waits]:
    """Return what each launch waits for through events; launches without are left out.

    A record stands for the last launch before it on its stream. If there is none, as where a stream
    forks off and the next forks off from it, it stands for what that stream waits for itself.
    """
    return follow(graph)[0]


def stream_ends(graph: CapturedGraph) -> Ends:
    """Return the forks before the first launch of a stream and the joins behind the last."""
    return follow(graph)[1]


def follow(graph: CapturedGraph) -> tuple[dict[int, Waits], Ends]:
    """Follow the streams through the graph."""
    numbers = launches(graph)
    last: dict[int, int] = {}  # the last launch of each stream so far
    pending: dict[int, Waits] = {}  # what the next launch of each stream waits for
    at_record: dict[int, Waits] = {}
    result: dict[int, Waits] = {}
    forks: dict[tuple[int, int], None] = {}
    for place, task in enumerate(graph.tasks):
        waiting = pending.get(task.stream, Waits())
        if place in numbers:
            if waiting != Waits():
                result[place] = waiting
            pending[task.stream] = Waits()
            last[task.stream] = place
        elif task.kind == "record":
            own = (last[task.stream],) if task.stream in last else ()
            at_record[place] = join(Waits(own), waiting)
        elif task.kind == "wait":
            awaited = (
                Waits((), (task.event,)) if task.waits_for is None else at_record[task.waits_for]
            )
            if awaited == Waits() and task.waits_for is not None:
                forks[graph.tasks[task.waits_for].stream, task.stream] = None
            others = tuple(
                each for each in awaited.launches if graph.tasks[each].stream != task.stream
            )
            pending[task.stream] = join(waiting, Waits(others, awaited.external))
    joins = {stream: waits for stream, waits in pending.items() if waits != Waits()}
    return result, Ends(forks=tuple(each for each in forks if each[0] != each[1]), joins=joins)


def join(first: Waits, second: Waits) -> Waits:
    """Return both, each launch and event once."""
    return Waits(
        tuple(dict.fromkeys((*first.launches, *second.launches))),
        tuple(dict.fromkeys((*first.external, *second.external))),
    )
