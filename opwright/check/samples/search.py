"""Samples with some choices set; a search goes around contradictions and refusals."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from opwright.check.samples.choice import Contradiction, Fixed
from opwright.check.samples.solve import solve
from opwright.check.samples.usual import WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from opwright.check.samples.choice import Asked
    from opwright.check.samples.problem import Problem
    from opwright.kit.declare.sample import Sample

__all__ = ["Solution", "find", "first_solution"]

STEPS = 60  # of a search through contradictions
GUESSES = 60  # calls of the judge for a base


@dataclass(frozen=True, slots=True)
class Solution:
    """A sample, and the choices that made it."""

    problem: Problem
    sample: Sample
    trail: tuple[Asked, ...]

    @property
    def taken(self) -> dict[str, Any]:
        """The choices by name."""
        return {each.name: each.taken for each in self.trail}

    @property
    def is_whole(self) -> bool:
        """Whether tensors of which nothing is known have whole numbers, which few kernels take."""
        return self.taken.get("dtype") in WHOLE


def find(
    problem: Problem, change: Mapping[str, Any], taken: Mapping[str, Any] | None = None
) -> Solution | None:
    """Return the first sample without contradictions that has these choices; None if none has.

    Parameters
    ----------
    taken
        Other choices, which are passed over where they are not possible.
    """
    values = {**(taken or {}), **change}
    for chooser in attempts(values):
        try:
            sample = solve(problem, chooser)
        except Contradiction:
            continue
        solution = Solution(problem, sample, tuple(chooser.trail))
        made = solution.taken
        is_whole = all(made.get(name, value) == value for name, value in change.items())
        return solution if is_whole else None
    return None


def attempts(values: Mapping[str, Any]) -> Iterator[Fixed]:
    """Yield choosers for a search; each is asked for after a solver has used the one before it.

    The last choices change first. Where that does not end soon, the contradiction may come from an
    early one: then each choice changes alone, to what is nearest to its base.
    """
    first = Fixed(values)
    yield first
    steps = first.next_steps()
    for _ in range(STEPS - 1):
        if steps is None:
            return
        chooser = Fixed(values, steps)
        yield chooser
        steps = chooser.next_steps()
    alone = (
        [*[0] * index, distance]
        for distance in range(1, max(first.counts, default=0))
        for index in reversed(range(len(first.counts)))
        if distance < first.counts[index]
    )
    for single in islice(alone, STEPS):
        yield Fixed(values, single)


def first_solution(problem: Problem, accepts: Callable[[Solution], bool]) -> Solution | None:
    """Return a sample that is accepted, as near to the base as possible."""
    for tries, solution in enumerate(candidates(problem)):
        if tries >= GUESSES:
            return None
        if accepts(solution):
            return solution
    return None


def candidates(problem: Problem) -> Iterator[Solution]:
    """Yield the base, then what differs from it in one choice, then in two."""
    base = find(problem, {})
    if base is None:
        return
    yield base
    absent = {e.name: False for e in base.trail if e.aspect == "presence"}
    changes: list[dict[str, Any]] = [absent] if absent else []
    changes += [
        {each.name: other}
        for each in base.trail
        if each.aspect not in {"layout", "dtype"} and each.name != "seed"
        for other in each.others[:5]
    ]
    changes += [
        {one.name: first, other.name: second}
        for index, one in enumerate(base.trail)
        for other in base.trail[index + 1 :]
        if {one.aspect, other.aspect} <= {"rank", "size", "value"} and other.name != "seed"
        for first in one.others[:3]
        for second in other.others[:3]
    ]
    for change in changes:
        solution = find(problem, change)
        if solution is not None:
            yield solution
