"""Tests that some pairs of torch and torch_npu cannot pass: tests/by_version.toml, applied.

An entry names tests by path, by path::function, or by the beginning of a name and `*`; what decides
about it; and the reason:

    [[differs]]
    tests = ["tests/twin/graphs/test_conditions.py"]
    lacks = "torch_npu.npu._npugraph_conditional_nodes"
    reason = "torch_npu has no conditional nodes"

`lacks` is a module (`a.b`) or a file of a package (`a/b.h`), with `:name` a name in it, that is not
there; `torch` and `python` are ranges of versions, for what can only be seen when it runs. A file
that an entry with `lacks` names does not apply and is not collected. All other tests are expected
to fail, so that one that passes is an error. `sometimes = true` is for what depends on timing, and
may pass; `ends = true` for what would end the process, or leave it unusable for the tests after it,
and is not run.
"""

from __future__ import annotations

import importlib.util
import platform
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

import pytest
import tomli
from packaging.specifiers import SpecifierSet

__all__ = ["Entry", "entries_here", "expect", "is_collected"]

FILE = Path(__file__).with_name("by_version.toml")
ROOT = FILE.parents[1]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Tests that differ, where they do, and why."""

    tests: tuple[str, ...]
    reason: str
    lacks: str | None = None
    torch: str | None = None
    python: str | None = None
    sometimes: bool = False
    ends: bool = False

    @property
    def beginnings(self) -> tuple[str, ...]:
        """The beginnings of names that end with `*` here."""
        return tuple(name.removesuffix("*") for name in self.tests if name.endswith("*"))

    def applies(self) -> bool:
        """Whether this environment is one of those that the entry is about."""
        ranges = ((self.torch, version("torch")), (self.python, platform.python_version()))
        fits = [
            SpecifierSet(text).contains(found.partition("+")[0], prereleases=True)
            for text, found in ranges
            if text is not None
        ]
        return all(fits) and (self.lacks is None or not has(self.lacks))


def has(name: str) -> bool:
    """Return whether there is a module, a file or a name in one, without an import of torch."""
    place, _, wanted = name.partition(":")
    package, *parts = place.split("/" if "/" in place else ".")
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return False
    path = Path(spec.origin).parent.joinpath(*parts)
    sources = (path, path / "__init__.py", path.with_suffix(".py"))
    source = next((each for each in sources if each.is_file()), None)
    return source is not None and wanted.encode() in source.read_bytes()  # of a library as well


def read(file: Path = FILE) -> tuple[Entry, ...]:
    """Return all entries."""
    content = tomli.loads(file.read_text(encoding="utf-8"))
    return tuple(
        Entry(**{**each, "tests": tuple(each["tests"])}) for each in content.get("differs", ())
    )


@cache
def entries_here() -> tuple[Entry, ...]:
    """Return the entries about this environment."""
    return tuple(entry for entry in read() if entry.applies())


def is_collected(path: Path) -> bool:
    """Return whether a file's tests apply."""
    name = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else ""
    return not any(entry.lacks and name in entry.tests for entry in entries_here())


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
