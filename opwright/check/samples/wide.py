"""Samples with more elements, and with last axes around the lengths of vectors."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from opwright.check.samples.problem import Axis, Computed
from opwright.check.samples.search import find

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from opwright.check.samples.problem import Problem
    from opwright.check.samples.search import Solution

__all__ = ["wide"]

LAST = (63, 64, 65, 128)  # sizes of the last axis
MANY = 4097  # elements, if there is one axis
MOST = 8  # samples
LINKED = {"links": True}


def wide(root: Solution, accepts: Callable[[Solution], bool]) -> Iterator[Solution]:
    """Yield a handful of solutions that differ from one in the sizes of axes."""
    problem = replace(root.problem, is_wide=True)
    seen = {root.sample}
    for change in changes(root):
        if len(seen) > MOST:
            return
        for more in ({}, LINKED) if problem.sample else ({},):
            solution = find(problem, change | more, root.taken)
            if solution is None or not accepts(solution):
                continue
            if solution.sample not in seen:
                seen.add(solution.sample)
                yield solution
            break


def changes(root: Solution) -> Iterator[dict[str, Any]]:
    """Yield the sizes to set."""
    named = [each.name for each in root.trail if each.name.startswith("size ")]
    last = [name for name in dict.fromkeys(last_axes(root.problem)) if name in named]
    for name in last[:1]:
        yield from ({name: size} for size in LAST)
        others = [each for each in named if each != name]
        yield {name: 65, others[0]: 128} if others else {name: MANY}
        yield {name: 128, others[0]: 65} if others else {name: MANY + 63}
    for name in last[1:]:
        yield {name: 65}
    for name in named:
        yield {name: MANY}


def last_axes(problem: Problem) -> Iterator[str]:
    """Yield the choices of the sizes of last axes."""
    for patterns in problem.patterns.values():
        for pattern in patterns:
            part = pattern[-1] if pattern else None
            if part is None or isinstance(part, Computed):
                continue
            yield f"size {part.name}" if isinstance(part, Axis) else f"size {part.name}[-1]"
