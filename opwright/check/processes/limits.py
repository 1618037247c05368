"""How much memory a process and its descendants took, and how many they are.

Limits of the system (RLIMIT_AS, RLIMIT_DATA) do not fit: torch and the twin reserve address space
that they never touch. What counts is what is resident.
"""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MOST_PROCESSES", "Family", "descendants"]

# A worker with as many descendants forks without end; compilers have one for each core.
MOST_PROCESSES = 200
PAGE = os.sysconf("SC_PAGESIZE")
PROCESSES = Path("/proc")


class Family:
    """A process and its descendants, from now on.

    A process that is forked shares its memory at first, so each counts from when it is first seen.
    """

    def __init__(self, process: int) -> None:
        self.process = process
        self.before: dict[int, int] = {}
        self.size = 0
        self.grown()

    def grown(self) -> int:
        """Return by how many bytes they have grown."""
        members = [self.process, *islice(descendants(self.process), MOST_PROCESSES)]
        self.size = len(members)
        now = {each: resident(each) for each in members}
        self.before = {each: self.before.get(each, size) for each, size in now.items()}
        return sum(max(0, size - self.before[each]) for each, size in now.items())


def resident(process: int) -> int:
    """Return the bytes that a process has in memory; 0 if it is gone."""
    try:
        fields = (PROCESSES / str(process) / "statm").read_text().split()
    except OSError:  # it ended
        return 0
    return int(fields[1]) * PAGE


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
