"""Results of mutants in a TSV: one line each, from which an interrupted run goes on."""

from __future__ import annotations

import csv
import threading
from dataclasses import astuple, dataclass, fields
from pathlib import Path  # noqa: TC003 - a field's type, which dataclasses may look up
from typing import Literal, TypeAlias

__all__ = ["Explanation", "Log", "Result", "Verdict", "read_explanations"]

# found      a row of the check says that something is wrong
# survived   no row does
# refused    there is nothing to check: it does not compile, or raises while it is loaded
Verdict: TypeAlias = Literal["found", "survived", "refused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The fate of a mutant.

    Parameters
    ----------
    identity
        Of the mutant; it stays when other lines of its file change.
    by
        The row and kind that found it, or why there was nothing to check.
    seconds
        Of wall-clock time.
    """

    identity: str
    target: str
    kind: str
    file: str
    line: int
    before: str
    after: str
    verdict: Verdict
    by: str
    seconds: float


class Log:
    """Results that were written, and a file to which more are added."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        self.results = read_results(path) if path.exists() else {}

    def add(self, result: Result) -> None:
        """Keep a result, at once in the file too."""
        with self.lock, self.path.open("a", encoding="utf-8", newline="") as stream:
            csv.writer(stream, delimiter="\t", lineterminator="\n").writerow(astuple(result))
            self.results[result.target, result.identity] = result


def read_results(path: Path) -> dict[tuple[str, str], Result]:
    """Return the results in a file, by target and mutant; a line that was cut is left out."""
    names = [each.name for each in fields(Result)]
    found = {}
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.reader(stream, delimiter="\t"):
            if len(row) != len(names):
                continue
            texts = dict(zip(names, row, strict=True))
            result = Result(
                **texts | {"line": int(texts["line"]), "seconds": float(texts["seconds"])}  # type: ignore[arg-type]  # a text for each field
            )
            found[result.target, result.identity] = result
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why mutants survive.

    Parameters
    ----------
    is_equivalent
        They do what the original does, as far as its contract goes; others are missed.
    target, kind, before, after
        Which ones: the whole text, or `...` for any part of it.
    """

    is_equivalent: bool
    target: str
    kind: str
    before: str
    after: str
    reason: str

    def fits(self, result: Result) -> bool:
        """Return whether it explains a result."""
        pairs = (
            (self.target, result.target),
            (self.kind, result.kind),
            (self.before, result.before),
            (self.after, result.after),
        )
        return all(fits(pattern, text) for pattern, text in pairs)


def fits(pattern: str, text: str) -> bool:
    """Return whether a text is a pattern, whose `...` stand for any text.

    >>> fits("emitted ...", "emitted in-place"), fits("x", "x + y")
    (True, False)
    """
    first, *others = pattern.split("...")
    if not others:
        return pattern == text
    if not text.startswith(first) or not text.endswith(others[-1]):
        return False
    place = len(first)
    for each in others[:-1]:
        place = text.find(each, place)
        if place < 0:
            return False
        place += len(each)
    return place <= len(text) - len(others[-1])


def read_explanations(path: Path) -> list[Explanation]:
    """Return the explanations in a table."""
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    return [
        Explanation(
            is_equivalent={"equivalent": True, "missed": False}[row["verdict"]],
            **{name: row[name] for name in ("target", "kind", "before", "after", "reason")},
        )
        for row in rows
    ]
