"""The log of a run: native/runtime/explore/log.h writes it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Copy", "Event", "Launch", "Process", "Race", "Ran", "Step", "Waited", "read_processes"]


class Step(NamedTuple):
    """A task of a stream, or a part of one: a captured graph runs in parts."""

    stream: int
    task: int
    part: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """The host has launched a task.

    Parameters
    ----------
    places
        Lines of Python, innermost first.
    """

    step: Step
    name: str
    places: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A step has begun; no other ran until it ended or waited."""

    step: Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Waited:
    """The host has begun to wait."""

    what: str
    places: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A copy between host and device has run.

    Parameters
    ----------
    key
        Thread, number of the copy among those of the thread, number of the run: the same in each
        order of the program.
    direction
        "to the host" or "to the device".
    size
        Bytes.
    """

    key: str
    direction: str
    size: int
    digest: str
    places: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """Two steps that use the same memory, in the order of their launches; nothing orders them."""

    earlier: Step
    later: Step


Event = Launch | Ran | Waited | Race | Copy


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """The events of one process of a program, in their order.

    Parameters
    ----------
    name
        Its rank, and its number among the processes of that rank: the same in each run.
    """

    name: str
    events: tuple[Event, ...]


def read_processes(folder: Path, prefix: str, hidden: Path) -> tuple[Process, ...]:
    """Read the logs that a program has written as folder/prefix.RANK.PID.

    Parameters
    ----------
    hidden
        File whose lines are left out of the places: the program knows nothing of it.
    """
    files: dict[str, list[Path]] = {}
    for file in sorted(folder.glob(f"{prefix}.*"), key=lambda each: each.stat().st_ctime_ns):
        files.setdefault(file.name.split(".")[-2], []).append(file)
    return tuple(
        Process(name=f"{rank}.{number}", events=read_events(file, hidden))
        for rank in sorted(files, key=int)
        for number, file in enumerate(files[rank])
    )


def read_events(file: Path, hidden: Path) -> tuple[Event, ...]:
    """Read a log; the last line of a process that was killed may be incomplete."""
    lines = file.read_text(encoding="utf-8", errors="replace").split("\n")
    return tuple(event_of(json.loads(line), f"{hidden}:") for line in lines[:-1])


def event_of(plain: dict[str, Any], hidden: str) -> Event:
    """Return the event of a line; places that begin as what is hidden are left out."""
    places = tuple(
        place for place in plain.get("place", "").splitlines() if not place.startswith(hidden)
    )
    if "launch" in plain:
        return Launch(step=Step(*plain["launch"]), name=plain["name"], places=places)
    if "run" in plain:
        return Ran(step=Step(*plain["run"]))
    if "race" in plain:
        return Race(earlier=Step(*plain["race"]), later=Step(*plain["with"]))
    if "wait" in plain:
        return Waited(what=plain["wait"], places=places)
    return Copy(
        key=plain["copy"],
        direction=plain["direction"],
        size=plain["bytes"],
        digest=plain["digest"],
        places=places,
    )
