"""A failing sample -> the smallest one found that fails as well."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from opwright.check.samples.choice import is_same
from opwright.check.samples.search import find
from opwright.check.samples.specs import specs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from opwright.check.samples.search import Solution
    from opwright.kit.declare.sample import Sample

__all__ = ["find_smallest"]

SECONDS = 2.0
CALLS = 80
# The order of simplification: the first says the most about a fault.
ORDER = ("layout", "presence", "length", "rank", "dtype", "value", "size")


@dataclass(slots=True)
class Reduction:
    """A search for the smallest sample."""

    best: Solution
    accepts: Callable[[Solution], bool]
    fails: Callable[[Sample], bool]
    until: float = field(default_factory=lambda: time.monotonic() + SECONDS)
    calls: int = 0
    tried: set[Sample] = field(default_factory=set)

    def is_over(self) -> bool:
        """Return whether time or calls are used up."""
        return self.calls >= CALLS or time.monotonic() > self.until

    def try_(self, change: dict[str, Any]) -> bool:
        """Take over a change if the sample becomes smaller and still fails."""
        if self.is_over():
            return False
        solution = find(self.best.problem, {}, self.best.taken | change)
        if solution is None or solution.sample in self.tried:
            return False
        if measure(solution) >= measure(self.best) or not self.accepts(solution):
            return False
        self.tried.add(solution.sample)
        self.calls += 1
        if not self.fails(solution.sample):
            return False
        self.best = solution
        return True


def find_smallest(
    start: Solution, accepts: Callable[[Solution], bool], fails: Callable[[Sample], bool]
) -> Sample:
    """Return the smallest sample found."""
    reduction = Reduction(start, accepts, fails)
    for change in take_coarse_steps(start):
        reduction.try_(change)
    changed = True
    while changed and not reduction.is_over():
        changed = False
        for name in [each.name for each in order(reduction.best)]:
            changed |= reduce_one(reduction, name)
    return reduction.best.sample


def reduce_one(reduction: Reduction, name: str) -> bool:
    """Make one choice as small as it can be."""
    asked = next((each for each in reduction.best.trail if each.name == name), None)
    if asked is None:
        return False
    for option in asked.options:
        if is_same(option, asked.taken):
            return False
        if reduction.try_({name: option}):
            return True
    return False


def take_coarse_steps(start: Solution) -> Iterator[dict[str, Any]]:
    """Yield large steps: everything as small as possible, then one aspect after the other."""
    simple = {each.name: each.options[0] for each in start.trail}
    yield simple
    # Fewer axes need other sizes for what shows only in empty axes, or in several elements.
    for size in (0, 2, 3):
        sizes = {each.name: size for each in start.trail if each.name.startswith("size ")}
        yield {e.name: simple[e.name] for e in start.trail if e.aspect == "rank"} | sizes
    for aspect in ORDER:
        yield {each.name: simple[each.name] for each in start.trail if each.aspect == aspect}


def order(solution: Solution) -> list[Any]:
    """Return the choices, in the order in which they are made simple."""
    return sorted(solution.trail, key=lambda each: ORDER.index(each.aspect))


def measure(solution: Solution) -> tuple[int, ...]:
    """Return how large a sample is: tensors, axes, elements, then what is not the first option.

    An empty axis counts as 2: one element says more.
    """
    specs = list(specs_of(solution.sample))
    others = [each for each in solution.trail if each.aspect != "size"]
    places = [
        next(place for place, option in enumerate(each.options) if is_same(option, each.taken))
        for each in others
    ]
    return (
        len(specs),
        sum(len(spec.shape) for spec in specs),
        sum(math.prod(size or 2 for size in spec.shape) for spec in specs),
        sum(size or 2 for spec in specs for size in spec.shape),
        sum(spec.layout != "contiguous" for spec in specs),
        sum(places),
    )
