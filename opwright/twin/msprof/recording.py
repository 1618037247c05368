"""Files that native/runtime/profiling wrote between aclprofStart and aclprofStop.

Recorded times are on the steady clock. torch_npu's records are on the raw one, and its analysis
puts them on the clock of the day by host/start_info; all times here are there as well. The two
clocks drift against each other, so the recording has both at its beginning and at its end.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from opwright.twin.msprof.errors import RecordingError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["Call", "Launch", "Mark", "Recording", "Task", "read"]

Line = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of the host into CANN; nanoseconds."""

    name: str
    thread: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """The moment at which the host gave a task to a stream."""

    name: str
    thread: int
    time: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The tasks of a stream.

    Parameters
    ----------
    launch
        None for a task of a captured graph, and for one that was launched before the profile began.
    graph
        Number of the captured graph that it belongs to, or None.
    written
        The parameters that it wrote.
    arguments
        Parameter -> its value as text; "float32[2, 3]" for a tensor.
    """

    name: str
    device: int
    stream: int
    number: int
    begin: int
    end: int
    launch: Launch | None
    graph: int | None
    bookkeeping: bool
    written: frozenset[str]
    arguments: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """The moment at which a stream came to a mark of the program."""

    name: str
    device: int
    stream: int
    time: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One profile of one process."""

    process: int
    calls: tuple[Call, ...]
    tasks: tuple[Task, ...]
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """From the steady clock to the clock of the day, over the raw clock."""

    steady: tuple[int, int]
    raw: tuple[int, int]
    day_minus_raw: int

    def day(self, steady: int) -> int:
        """Return the time of the day of a recorded time."""
        passed = self.steady[1] - self.steady[0]
        drift = (self.raw[1] - self.raw[0]) - passed
        since = steady - self.steady[0]
        corrected = since + (drift * since // passed if passed else 0)
        return self.raw[0] + corrected + self.day_minus_raw


def read(folder: Path) -> Recording:
    """Read the recording of a folder PROF_...

    Raises
    ------
    RecordingError
        OPW-T051, if the folder has none, or one that was not finished.
    """
    file = folder / "host" / "data" / "opwright.jsonl"
    try:
        lines: list[Line] = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        start: Line = json.loads((folder / "host" / "start_info").read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise RecordingError(where=str(folder), got=str(error)) from error
    if not lines or lines[0].get("kind") != "start" or lines[-1].get("kind") != "stop":
        raise RecordingError(where=str(folder), got=f"{file.name} without beginning or end")
    first, last = lines[0], lines[-1]
    clock = Clock(
        steady=(first["steady"], last["steady"]),
        raw=(first["raw"], last["raw"]),
        day_minus_raw=1000 * int(start["collectionTimeBegin"]) - int(start["clockMonotonicRaw"]),
    )
    launches = {place(line): launch_of(line, clock) for line in lines if line["kind"] == "launch"}
    return Recording(
        process=first["pid"],
        calls=tuple(
            Call(
                name=line["name"],
                thread=line["tid"],
                begin=clock.day(line["begin"]),
                end=clock.day(line["end"]),
            )
            for line in lines
            if line["kind"] == "call"
        ),
        tasks=tuple(
            task_of(line, clock, launches) for line in lines if line["kind"] in ("task", "replayed")
        ),
        marks=tuple(
            Mark(
                name=line["name"],
                device=line["device"],
                stream=line["stream"],
                time=clock.day(line["time"]),
            )
            for line in lines
            if line["kind"] == "mark"
        ),
    )


def place(line: Line) -> tuple[int, int, int]:
    """Return what ties a launch to its task."""
    return line["device"], line["stream"], line["number"]


def launch_of(line: Line, clock: Clock) -> Launch:
    """Return the launch that a line describes."""
    return Launch(name=line["name"], thread=line["tid"], time=clock.day(line["time"]))


def task_of(line: Line, clock: Clock, launches: Mapping[tuple[int, int, int], Launch]) -> Task:
    """Return the task that a line describes, with its launch."""
    begin = clock.day(line["begin"])
    number = line.get("number", 0)
    launch = None
    if line["kind"] == "task":
        launch = launches.get(place(line))
        if number == 0:  # sync mode: the calling thread ran it at once
            launch = Launch(name=line["name"], thread=line["tid"], time=begin)
    return Task(
        name=line["name"],
        device=line["device"],
        stream=line["stream"],
        number=number,
        begin=begin,
        end=clock.day(line["end"]),
        launch=launch,
        graph=line.get("graph"),
        bookkeeping=bool(line["bookkeeping"]),
        written=frozenset(line["written"]),
        arguments=line["args"],
    )
