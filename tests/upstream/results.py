"""Results of unittest modules of other repositories, which run in processes of their own.

A process runs the tests of a module one after the other. One that ends or hangs is one test's
result; another process runs what remains.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

__all__ = ["Plan", "Result", "Run", "is_about", "results_of"]

Plan: TypeAlias = "dict[str, list[str]]"
# The rows of a process's report, how it ended, and the end of its output.
Run: TypeAlias = "tuple[list[dict[str, Any]], str, str]"


@dataclass(frozen=True, kw_only=True)
class Result:
    """Outcome of a test: "passed", "failed", "skipped" or "ended"; the message says why."""

    test: str
    outcome: str
    message: str
    seconds: float


def results_of(
    name: str, patterns: Collection[str], run_process: Callable[[Plan], Run]
) -> list[Result]:
    """Return the results of a module's tests that a pattern is about, all without patterns.

    `run_process` runs a process of the module with a plan: the patterns, and the tests that are
    done. It is called as often as it takes.
    """
    results: list[Result] = []
    while True:
        done = [result.test for result in results]
        rows, status, output = run_process({"patterns": [*patterns], "done": done})
        results += [Result(**row) for row in rows if "test" in row]
        if any("end" in row for row in rows):
            return results
        begun = [row["begun"] for row in rows if "begun" in row]
        lost = begun[len([row for row in rows if "test" in row]) :]
        test = lost[0] if lost else f"{name}.(before the first test)"
        results.append(Result(test=test, outcome="ended", message=f"{status}: {output}", seconds=0))
        if not lost:
            return results


def is_about(patterns: Collection[str], test: str) -> bool:
    """Return whether a test is asked for."""
    return not patterns or any(fnmatchcase(test, pattern) for pattern in patterns)
