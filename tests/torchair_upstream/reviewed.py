"""The list of tests that are not run as they are, or cannot pass, each with its reason.

`reviewed.tsv` has a line for each: the test, a kind and why.

* `device`: it passes if new tensors are on the NPU: as it stands, it mixes devices.
* `stub`: it asks for what only the vendor's stub answers.
* `revision`: the installed TorchAir does otherwise than the revision of the tests.
* `twin`: the twin does otherwise than CANN.

A test of the last three kinds has to fail, and each other one has to pass.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tests.torchair_upstream.pool import Result

__all__ = ["REVIEWED", "Entry", "complaints", "read", "summary"]

REVIEWED = Path(__file__).with_name("reviewed.tsv")

Kind: TypeAlias = Literal["device", "stub", "revision", "twin"]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A line of the list."""

    test: str
    kind: Kind
    why: str


def read(path: Path = REVIEWED) -> dict[str, Entry]:
    """Return the list, by test.

    Raises
    ------
    ValueError
        A test is there twice, a kind is none, or there is no reason.
    """
    entries: dict[str, Entry] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            entry = Entry(test=row["test"], kind=row["kind"], why=row["why"])  # type: ignore[arg-type] # looked at below
            if entry.kind not in get_args(Kind) or not entry.why or entry.test in entries:
                kinds = ", ".join(get_args(Kind))
                message = f"{path.name}: {row} must be there once, have a kind of {kinds}, a reason"
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
