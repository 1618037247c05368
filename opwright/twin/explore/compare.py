"""Whether two orders of a program had the same results, bit for bit. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING

from opwright.errors import clip
from opwright.twin.explore.events import Copy

if TYPE_CHECKING:
    from opwright.twin.explore.outcome import Outcome

__all__ = ["Baseline", "Difference", "find_difference", "find_findings", "make_baseline"]

MOST_SHOWN = 120  # characters of a line that the program has printed


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The first result of an order that differs.

    Parameters
    ----------
    what
        The copy or the line of output, and how it differs.
    places
        Lines of Python, innermost first; empty for output.
    """

    what: str
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The results that two runs in the order of the launches have in common.

    Parameters
    ----------
    copies
        By process and key, in the order of the first run.
    output
        Standard output; None if it is another one in each run.
    unsteady
        How many copies are not the same in two runs of one order.
    """

    copies: dict[tuple[str, str], Copy] = field(default_factory=dict)
    output: str | None
    unsteady: int


def make_baseline(first: Outcome, second: Outcome) -> Baseline:
    """Return what two runs in the same order have in common."""
    others = copies_of(second)
    mine = copies_of(first)
    steady = {
        key: copy
        for key, copy in mine.items()
        if key in others and others[key].digest == copy.digest
    }
    return Baseline(
        copies=steady,
        output=first.output if first.output == second.output else None,
        unsteady=len(mine.keys() | others.keys()) - len(steady),
    )


def copies_of(outcome: Outcome) -> dict[tuple[str, str], Copy]:
    """Return the copies of all processes."""
    return {
        (process.name, event.key): event
        for process in outcome.processes
        for event in process.events
        if isinstance(event, Copy)
    }


def find_difference(baseline: Baseline, outcome: Outcome) -> Difference | None:
    """Return the first result that is another one than in the order of the launches."""
    copies = copies_of(outcome)
    for key, expected in baseline.copies.items():
        found = copies.get(key)
        if found is None:
            what = f"a copy of {expected.size} bytes {expected.direction} did not happen"
        elif found.digest != expected.digest:
            what = f"a copy of {expected.size} bytes {expected.direction} has other bytes"
        else:
            continue
        return Difference(what=what, places=expected.places)
    if baseline.output is not None and outcome.output != baseline.output:
        return Difference(what=describe_output(baseline.output, outcome.output))
    return None


def describe_output(expected: str, found: str) -> str:
    """Return a sentence about the first line that differs."""
    for number, (left, right) in enumerate(
        zip_longest(expected.splitlines(), found.splitlines()), 1
    ):
        if left != right:
            return f"line {number} of its output is {quote(right)}, not {quote(left)}"
    return "its output ends in another way"


def quote(line: str | None) -> str:
    """Quote a line, or say that there is none."""
    return "missing" if line is None else repr(clip(line, MOST_SHOWN))


def find_findings(errors: str) -> tuple[str, ...]:
    """Return what the twin has reported on standard error: a line, and those indented below it.

    Addresses are left out: they differ between processes.
    """
    found: list[list[str]] = []
    inside = False
    for line in errors.splitlines():
        if line.startswith("opwright: ") and not line.startswith("opwright: deadlock"):
            found.append([line])
            inside = True
        elif inside and line.startswith("  "):
            found[-1].append(re.sub(r" at 0x[0-9a-f]+", "", line))
        else:
            inside = False
    return tuple(dict.fromkeys("\n".join(lines) for lines in found if len(lines) > 1))
