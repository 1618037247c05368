"""Random samples, as a strategy of hypothesis."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from hypothesis import HealthCheck, Phase, given, reject, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

from opwright.check.samples.choice import Asked, Contradiction, contains, prefer
from opwright.check.samples.search import Solution
from opwright.check.samples.solve import solve

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from opwright.check.samples.aspects import Aspect

__all__ = ["draw", "solutions"]

T = TypeVar("T")


def solutions(
    bases: Sequence[Solution], vary: Collection[Aspect], accepts: Callable[[Solution], bool]
) -> st.SearchStrategy[Solution]:
    """Return a strategy for samples that differ from one of the bases in what varies.

    Hypothesis makes them smaller towards few and small axes, contiguous tensors and defaults.
    """

    @st.composite
    def strategy(draw: st.DrawFn) -> Solution:
        base = draw(st.sampled_from(bases))
        taken = base.taken
        trail: list[Asked] = []

        def choose(name: str, aspect: Aspect, options: Sequence[T], base: T | None) -> T:
            option: T
            if aspect in vary:
                option = draw(st.sampled_from(options))
            elif contains(options, taken.get(name)):
                option = taken[name]
            else:
                option = prefer(options, base)
            trail.append(Asked(name, aspect, tuple(options), base, option))
            return option

        try:
            sample = solve(base.problem, choose)
        except Contradiction:
            reject()
        solution = Solution(base.problem, sample, tuple(trail))
        if not accepts(solution):
            reject()
        return solution

    return strategy()


def draw(strategy: st.SearchStrategy[Solution], count: int, number: int) -> list[Solution]:
    """Return random solutions: equal numbers give equal ones."""
    collected: list[Solution] = []

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(solution: Solution) -> None:
        collected.append(solution)

    with suppress(Unsatisfiable):
        collect()
    return collected[:count]
