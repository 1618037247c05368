"""How much memory a process and its descendants took, how many they are, how long it may compute.

Limits of the system for memory (RLIMIT_AS, RLIMIT_DATA) do not fit: torch and the twin reserve
address space that they never touch. What counts is what is resident.
"""

from __future__ import annotations

import contextlib
import math
import os
import resource
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MOST_PROCESSES", "Family", "descendants", "limit_processor_time"]

# A worker with as many descendants forks without end; compilers have one for each core.
MOST_PROCESSES = 200
PAGE = os.sysconf("SC_PAGESIZE")
TICKS = os.sysconf("SC_CLK_TCK")  # in a second
PROCESSES = Path("/proc")


class Family:
    """A process and its descendants, from now on.

    A process that is started later counts with all that it does not share with others: it may have
    grown before it is first seen.
    """

    def __init__(self, process: int) -> None:
        self.process = process
        self.before = {each: read_resident(each) for each in self.members()}
        self.size = len(self.before)

    def members(self) -> list[int]:
        """Return the process and its descendants, up to the limit plus one."""
        return [self.process, *islice(descendants(self.process), MOST_PROCESSES)]

    def grown(self) -> int:
        """Return by how many bytes they have grown."""
        members = self.members()
        self.size = len(members)
        self.before = {
            each: self.before[each] if each in self.before else read_shared(each)
            for each in members
        }
        return sum(max(0, read_resident(each) - self.before[each]) for each in members)


def limit_processor_time(process: int, seconds: float) -> None:
    """Have the system send SIGXCPU to a process that computes for longer, from now, on all cores.

    Endless loops on all cores can keep the command from running that watches the clock: Linux 6.18
    was seen to run nothing else for minutes, not even its own threads.
    """
    with contextlib.suppress(OSError):  # it ended
        cores = len(os.sched_getaffinity(process))
        most = math.ceil(processor_time(process) + seconds * cores) + 1
        _, hard = resource.prlimit(process, resource.RLIMIT_CPU)
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.prlimit(process, resource.RLIMIT_CPU, (allowed, hard))


def processor_time(process: int) -> float:
    """Return the seconds that all threads of a process have computed."""
    text = (PROCESSES / str(process) / "stat").read_text()
    fields = text.rpartition(")")[2].split()  # the name before may have blanks
    return (int(fields[11]) + int(fields[12])) / TICKS


def read_resident(process: int) -> int:
    """Return the bytes that a process has in memory; 0 if it is gone."""
    try:
        fields = (PROCESSES / str(process) / "statm").read_text().split()
    except OSError:  # it ended
        return 0
    return int(fields[1]) * PAGE


def read_shared(process: int) -> int:
    """Return the bytes in memory that a process shares: after a fork, most."""
    try:
        lines = (PROCESSES / str(process) / "smaps_rollup").read_text().splitlines()[1:]
    except OSError:  # it ended, or is another user's: it counts from now
        return read_resident(process)
    sizes = {
        name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)
    }
    return (sizes["Rss"] - sizes["Private_Clean"] - sizes["Private_Dirty"]) << 10


def descendants(process: int) -> Iterator[int]:
    """Yield the processes that a process started, and those that they started."""
    try:
        lists = [
            (task / "children").read_text()
            for task in (PROCESSES / str(process) / "task").iterdir()
        ]
    except OSError:  # it ended
        return
    for child in map(int, " ".join(lists).split()):
        yield child
        yield from descendants(child)
