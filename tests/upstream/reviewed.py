"""The list of a repository's tests that are not run as they are, or cannot pass, with reasons.

`reviewed.tsv` has a line for each: the test, a kind and why. A test of the list has to fail unless
its kind is `device`, and each other one has to pass. `device` says that it passes if new tensors
are on the NPU: as it stands, it mixes devices.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from tests.upstream.results import Result

__all__ = ["Entry", "complaints", "read", "summary"]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A line of the list."""

    test: str
    kind: str
    why: str


def read(path: Path, kinds: Collection[str]) -> dict[str, Entry]:
    """Return the list, by test; each kind is one of these.

    Raises
    ------
    ValueError
        A test is there twice, a kind is none, or there is no reason.
    """
    entries: dict[str, Entry] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            entry = Entry(test=row["test"], kind=row["kind"], why=row["why"])
            if entry.kind not in kinds or not entry.why or entry.test in entries:
                words = ", ".join(kinds)
                message = f"{path.name}: {row} must be there once, have a kind of {words}, a reason"
                raise ValueError(message)
            entries[entry.test] = entry
    return entries


def complaints(results: Iterable[Result], entries: Mapping[str, Entry]) -> list[str]:
    """Return a line for each test that is not what the list says."""
    lines = []
    for result in results:
        entry = entries.get(result.test)
        fails = entry is not None and entry.kind != "device"
        if result.outcome == "skipped" or (result.outcome != "passed") == fails:
            continue
        known = f"the list says {entry.kind}: {entry.why}" if entry else "the list has no entry"
        words = result.message.strip().splitlines()
        lines.append(f"{result.test} {result.outcome} ({known}): {words[-1] if words else ''}")
    return lines


def summary(results: Iterable[Result], entries: Mapping[str, Entry]) -> dict[str, int]:
    """Return how many tests there are of each outcome; those of the list have its kind."""
    counts: dict[str, int] = {}
    for result in results:
        entry = entries.get(result.test)
        word = result.outcome if entry is None or entry.kind == "device" else f"list: {entry.kind}"
        counts[word] = counts.get(word, 0) + 1
    return counts
