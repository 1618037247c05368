"""How much memory a process and its descendants have.

Limits of the system (RLIMIT_AS, RLIMIT_DATA) do not fit: torch and the twin reserve address space
that they never touch. What counts is what is resident.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["descendants", "proportional", "resident"]

PAGE = os.sysconf("SC_PAGESIZE")
PROPORTIONAL = re.compile(r"^Pss:\s+(\d+) kB", re.MULTILINE)
PROCESSES = Path("/proc")


def resident(process: int) -> int:
    """Return the bytes that a process and its descendants have in memory; 0 if it is gone.

    What they share counts once for each: this is quick, and never too little.
    """
    return sum(resident_alone(each) for each in (process, *descendants(process)))


def proportional(process: int) -> int:
    """Return the same with what processes share divided among them: exact, in milliseconds."""
    return sum(proportional_alone(each) for each in (process, *descendants(process)))


def resident_alone(process: int) -> int:
    """Return the bytes of one process."""
    try:
        fields = (PROCESSES / str(process) / "statm").read_text().split()
    except OSError:  # it ended
        return 0
    return int(fields[1]) * PAGE


def proportional_alone(process: int) -> int:
    """Return the bytes of one process, and its part of those that it shares."""
    try:
        text = (PROCESSES / str(process) / "smaps_rollup").read_text()
    except OSError:  # it ended
        return 0
    found = PROPORTIONAL.search(text)
    return 0 if found is None else int(found[1]) << 10


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
