"""Tests that some pairs of torch and torch_npu cannot pass: tests/by_version.toml, applied.

An entry names tests by path, by path::function, or by the beginning of a name and `*`; what decides
about it; and the reason:

    [[differs]]
    tests = ["tests/twin/graphs/test_conditions.py"]
    lacks = "torch_npu.npu._npugraph_conditional_nodes"
    reason = "torch_npu has no conditional nodes"

What decides is `lacks`, `torch` or `python`: tests/where.py. A file that an entry with `lacks`
names does not apply and is not collected. All other tests are expected to fail, so that one that
passes is an error. `sometimes = true` is for what depends on timing, and may pass; `ends = true`
for what would end the process, or leave it unusable for the tests after it, and is not run.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
import tomli

from tests.where import Where

__all__ = ["Entry", "entries_here", "expect", "is_collected"]

FILE = Path(__file__).with_name("by_version.toml")
ROOT = FILE.parents[1]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Tests that differ, where they do, and why."""

    tests: tuple[str, ...]
    reason: str
    where: Where
    sometimes: bool = False
    ends: bool = False

    @property
    def beginnings(self) -> tuple[str, ...]:
        """The beginnings of names that end with `*` here."""
        return tuple(name.removesuffix("*") for name in self.tests if name.endswith("*"))


def read(file: Path = FILE) -> tuple[Entry, ...]:
    """Return all entries."""
    content = tomli.loads(file.read_text(encoding="utf-8"))
    return tuple(
        Entry(
            tests=tuple(each["tests"]),
            reason=each["reason"],
            where=Where.of(each, ("tests", "reason", "sometimes", "ends")),
            sometimes=each.get("sometimes", False),
            ends=each.get("ends", False),
        )
        for each in content.get("differs", ())
    )


@cache
def entries_here() -> tuple[Entry, ...]:
    """Return the entries about this environment."""
    return tuple(entry for entry in read() if entry.where.is_here())


def is_collected(path: Path) -> bool:
    """Return whether a file's tests apply."""
    name = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else ""
    return not any(entry.where.lacks and name in entry.tests for entry in entries_here())


def expect(items: list[pytest.Item]) -> None:
    """Mark the tests that differ here."""
    for item in items:
        function = item.nodeid.partition("[")[0]
        names = {item.nodeid, function, function.partition("::")[0]}
        for entry in entries_here():
            if names.intersection(entry.tests) or item.nodeid.startswith(entry.beginnings):
                mark = pytest.mark.xfail(
                    reason=entry.reason, run=not entry.ends, strict=not entry.sometimes
                )
                item.add_marker(mark)
