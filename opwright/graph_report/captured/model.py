"""A captured graph as values: tasks in the order of their capture, and what each touches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Access", "Argument", "CapturedGraph", "Kind", "Task", "is_copy", "launches"]

Kind: TypeAlias = Literal[
    "kernel", "copy", "memset", "host", "conditional", "other", "record", "wait", "reset"
]

# Kinds that order work but do none; all others are launches.
SYNCHRONIZATION: frozenset[Kind] = frozenset({"record", "wait", "reset"})

# aclnn functions that do nothing but copy; torch's copy_() and _foreach_copy_() launch them.
COPIES = frozenset({"aclnnInplaceCopy", "aclnnForeachCopy"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """An argument of a launch.

    Parameters
    ----------
    name
        Of the parameter in the C function.
    text
        The value; for a tensor its dtype and shape, as in "float32[2, 3]".
    address
        Where a tensor starts, None for anything else.
    """

    name: str
    text: str
    address: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """A range of memory that a task reads or writes.

    Parameters
    ----------
    size
        Bytes.
    written
        Whether the task writes it.
    in_place
        Whether it is read before it is written.
    parameter
        Of the C function; None if the dump does not say.
    host
        Whether it is pinned memory of the host.
    """

    address: int
    size: int
    written: bool
    in_place: bool = False
    parameter: str | None = None
    host: bool = False

    @property
    def read(self) -> bool:
        """Whether the task reads it."""
        return not self.written or self.in_place


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One entry of a captured graph.

    Parameters
    ----------
    stream
        Number of the stream.
    name
        The operator's aclnn function, or the call that made the task.
    arguments
        As recorded; empty in a summary.
    accesses
        Memory that the task reads and writes; empty in a summary.
    waits_for
        For a wait, the place in `CapturedGraph.tasks` of the record that it waits for; None if that
        lies outside of the graph (an external event).
    event
        Handle of the event of a record, wait or reset.
    group
        Number of the task group, whose arguments can be updated between replays.
    """

    stream: int
    name: str
    kind: Kind
    arguments: tuple[Argument, ...] = ()
    accesses: tuple[Access, ...] = ()
    waits_for: int | None = None
    event: int | None = None
    group: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedGraph:
    """A captured graph.

    Parameters
    ----------
    model
        Number of the model, as aclmdlRIGetId gives it.
    device
        Number of the device; None if the dump does not say (those of CANN do not).
    bodies
        Model numbers of the graphs that its conditional tasks may run, in the order of the tasks.
    detailed
        Whether the dump has arguments and memory.
    tasks
        In an order that respects streams and event edges: on the twin that of the capture.
    """

    model: int
    device: int | None
    bodies: tuple[int, ...] = ()
    detailed: bool
    tasks: tuple[Task, ...]

    @property
    def streams(self) -> tuple[int, ...]:
        """Streams in the order in which they joined the capture."""
        return tuple(dict.fromkeys(task.stream for task in self.tasks))


def is_copy(task: Task) -> bool:
    """Return whether the task does nothing but copy memory."""
    return task.kind == "copy" or task.name in COPIES


def launches(graph: CapturedGraph) -> dict[int, int]:
    """Return place in `tasks` -> number of the launch, counted from 1."""
    places = (place for place, task in enumerate(graph.tasks) if task.kind not in SYNCHRONIZATION)
    return {place: number for number, place in enumerate(places, start=1)}
