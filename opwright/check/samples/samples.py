"""The samples of an operator: those of its declaration, and those that are solved from it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from opwright.check.samples.accept import refusal
from opwright.check.samples.aspects import ALL
from opwright.check.samples.corners import corners
from opwright.check.samples.distinct import distinct, falsy, single_flags
from opwright.check.samples.drawn import draw, solutions
from opwright.check.samples.gaps import is_gap
from opwright.check.samples.guess import guesses, kinds_of
from opwright.check.samples.problem import problem_of, tensors_of
from opwright.check.samples.resolve import resolve
from opwright.check.samples.search import Solution, find, first_solution
from opwright.check.samples.shrink import find_smallest
from opwright.check.samples.specs import element_count
from opwright.check.samples.values import UNMADE
from opwright.check.samples.wide import wide
from opwright.kit.declare.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from hypothesis import strategies as st

    from opwright.check.samples.accept import Refusal
    from opwright.check.samples.aspects import Aspect
    from opwright.check.subject import Subject

__all__ = ["Samples"]

LINKED = {"links": True}
LARGE = 16384  # elements of all tensors: what varies is called often


class Samples:
    """The samples of an operator.

    Parameters
    ----------
    seed
        Of what is random: equal seeds give equal samples.
    device
        Where an operator runs that only itself can say what it accepts.
    is_quick
        Whether to spend seconds alone: no samples are drawn at random, none is called for long.

    Attributes
    ----------
    refused
        Samples that were solved, and who refuses them.
    """

    def __init__(
        self, subject: Subject, *, seed: int = 0, device: str = "npu", is_quick: bool = False
    ) -> None:
        self.subject = subject
        self.seed = seed
        self.device = device
        self.is_quick = is_quick
        self.refused: dict[Sample, Refusal] = {}
        self.accepted: set[Sample] = set()
        self.origins: dict[Sample, Solution] = {}
        self.kept: dict[tuple[frozenset[Aspect], int], list[Sample]] = {}

    def of(self, vary: Collection[Aspect], examples: int) -> Iterator[Sample]:
        """Yield the explicit samples, the corner cases of what varies, then random ones.

        Without explicit samples the simplest one comes first. Behind it is the same one with
        distinct attributes, whatever varies.

        Parameters
        ----------
        examples
            How many random ones.
        """
        key = (frozenset(vary), examples)
        if key in self.kept:
            yield from self.kept[key]
            return
        seen: dict[Sample, None] = {}
        for solution in self.solved(*key):
            if solution.sample not in seen:
                seen[solution.sample] = None
                self.origins.setdefault(solution.sample, solution)
                yield solution.sample
        self.kept[key] = list(seen)

    def solved(self, vary: frozenset[Aspect], examples: int) -> Iterator[Solution]:
        """Yield samples with the choices that made them."""
        yield from self.bases
        yield from self.distinct
        for base in self.distinct:
            # A factor of 1 hides what a kernel does to the numbers of one dtype.
            for change in corners(base.trail, vary & {"dtype"}):
                yield from self.changed(base, change)
        for index, root in enumerate(self.roots):
            # The first explicit sample shows the corners; the others only each dtype.
            for change in corners(root.trail, vary if index == 0 else vary & {"dtype"}):
                yield from self.changed(root, change)
        if examples and vary and self.roots and not self.is_quick:
            strategy = solutions(self.roots, vary, self.accepts)
            yield from draw(strategy, examples, self.seed)

    def changed(self, base: Solution, change: dict[str, object]) -> Iterator[Solution]:
        """Yield a corner case, if it is accepted."""
        for more in ({}, LINKED) if base.problem.sample else ({},):
            wanted = change | more
            solution = find(base.problem, wanted, base.taken) or find(base.problem, wanted)
            if solution is not None and self.accepts(solution):
                yield solution
                return

    @cached_property
    def bases(self) -> list[Solution]:
        """The explicit samples, or the simplest one that is accepted."""
        if not self.is_possible:
            return []
        operator = self.subject.operator
        if operator.samples:
            return [self.explicit(each) for each in operator.samples]
        described = self.subject.facts is not None
        for problem in [problem_of(self.subject, None)] if described else guesses(self.subject):
            solution = first_solution(problem, self.accepts)
            if solution is not None:
                return [solution if described else self.with_optional(solution)]
        return []

    def with_optional(self, solution: Solution) -> Solution:
        """Return a guess in which tensors that may be left out are masks or indices, if they are.

        The guess itself leaves them out, so nothing has shown what they look like.
        """
        optional = (each for each in tensors_of(self.subject.operator) if each.type.optional)
        for argument in optional:
            given = {f"presence {argument.name}": True}
            problems = (solution.problem, *kinds_of(solution.problem, argument.name))
            found = (find(problem, given, solution.taken) for problem in problems)
            accepted = next((each for each in found if each and self.accepts(each)), None)
            if accepted is not None:
                base = find(accepted.problem, {}, solution.taken)
                solution = base if base is not None and self.accepts(base) else solution
        return solution

    def explicit(self, sample: Sample) -> Solution:
        """Return an explicit sample with the choices that make it, if the solver can make it."""
        problem = problem_of(self.subject, sample)
        whole = resolve(self.subject.operator, sample)
        solution = find(problem, {})
        is_same = solution is not None and solution.sample == whole
        return solution if solution and is_same else Solution(problem, whole, ())

    @cached_property
    def roots(self) -> list[Solution]:
        """The bases to vary, made smaller where they are large, as the solver makes them."""
        roots = []
        for base in self.bases:
            solution = base if base.trail else find(base.problem, {})
            if solution is not None and (solution is base or self.accepts(solution)):
                roots.append(self.reduced(solution))
        return roots

    @cached_property
    def distinct(self) -> list[Solution]:
        """The first base with attributes away from their defaults, no two of them equal."""
        found = distinct(self.roots[0], self.accepts) if self.roots else None
        return [] if found is None else [found]

    @cached_property
    def falsy(self) -> list[Solution]:
        """The first base with attributes that are false where their defaults are not."""
        found = falsy(self.roots[0], self.accepts) if self.roots else None
        return [] if found is None else [found]

    @cached_property
    def flags(self) -> list[Solution]:
        """The first base, with distinct attributes where it can be, and one flag set at a time."""
        bases = self.distinct or self.roots[:1]
        return [each for base in bases for each in single_flags(base, self.accepts)]

    @cached_property
    def empty(self) -> list[Sample]:
        """The first base without elements, with each of the dtypes: ways out that are taken early.

        An operator may do there what it does not do for another dtype, or leave it undone.
        """
        found: dict[Sample, None] = {}
        for base in self.roots[:1]:
            changes = [{}, *corners(base.trail, {"dtype"})]
            sizes = [each.name for each in base.trail if each.name.startswith("size ")]
            for name in sizes:
                for change in changes:
                    for solution in self.changed(base, change | {name: 0}):
                        self.origins.setdefault(solution.sample, solution)
                        found.setdefault(solution.sample)
        return list(found)

    def distinct_views(self) -> Iterator[Sample]:
        """Yield the sample with distinct attributes in other layouts."""
        for base in self.distinct:
            for change in corners(base.trail, {"layout"}):
                for solution in self.changed(base, change):
                    self.origins.setdefault(solution.sample, solution)
                    yield solution.sample

    @cached_property
    def wide(self) -> list[Sample]:
        """A handful of samples with more elements, and last axes around lengths of vectors."""
        found = list(wide(self.roots[0], self.accepts)) if self.roots else []
        for each in found:
            self.origins.setdefault(each.sample, each)
        return [each.sample for each in found]

    def reduced(self, solution: Solution) -> Solution:
        """Return a solution whose tensors are not large, if it is accepted."""
        count = element_count(solution.sample)
        if count <= LARGE:
            return solution
        for size in (8, 16, 32):
            change = {
                each.name: size
                for each in solution.trail
                if each.name.startswith("size ") and each.taken > size and size in each.options
            }
            smaller = find(solution.problem, {}, solution.taken | change)
            if smaller and element_count(smaller.sample) < count and self.accepts(smaller):
                return smaller
        return solution

    @property
    def is_possible(self) -> bool:
        """Whether all arguments that must be given can be made."""
        return not any(
            argument.type.base in UNMADE and not argument.type.optional and argument.default is None
            for argument in self.subject.schema.arguments
        )

    def accepts(self, solution: Solution) -> bool:
        """Return whether the operator must accept a sample."""
        sample = solution.sample
        if sample in self.accepted:
            return True
        if sample in self.refused:
            return False
        found = refusal(
            self.subject,
            sample,
            device=self.device,
            is_declared=solution.problem.is_declared,
            is_tried=solution.problem.is_tried or solution.is_whole,
        )
        if found is None:
            self.accepted.add(sample)
        else:
            self.refused[sample] = found
            self.origins.setdefault(sample, solution)
        return found is None

    def strategy(self, vary: Collection[Aspect] = ALL) -> st.SearchStrategy[Sample]:
        """Return a strategy of hypothesis for the samples."""
        return solutions(self.roots, vary, self.accepts).map(lambda solution: solution.sample)

    def shrink(self, sample: Sample, fails: Callable[[Sample], bool]) -> Sample:
        """Return the smallest sample found for which `fails` holds, as it does for this one.

        An exception of `fails` counts as no.
        """

        def still_fails(other: Sample) -> bool:
            try:
                return fails(other)
            except Exception:  # noqa: BLE001 - another fault than the one that is looked for
                return False

        start = self.origins.get(sample) or self.explicit(sample)
        if not start.trail:  # the solver cannot make it, but perhaps one like it
            near = find(start.problem, {})
            if near is None or not self.accepts(near) or not still_fails(near.sample):
                return sample
            start = near
        return find_smallest(start, self.accepts, still_fails)

    @property
    def refused_by_reference(self) -> list[Sample]:
        """The samples so far that the rules allow and the reference refuses."""
        return [sample for sample, by in self.refused.items() if by.by == "reference"]

    def error_samples(self, most: int) -> list[Sample]:
        """Return samples that the operator must refuse: the declared ones.

        Of an operator that nobody describes, those that its kernel for the CPU refuses.
        """
        declared = [Sample(error.values) for error in self.subject.operator.errors]
        if declared or not self.subject.is_own_reference:
            return declared[:most]
        list(self.of(ALL, most))  # the search keeps what was refused
        return self.refused_by_reference[:most]

    def gap(self) -> Sample | None:
        """Return the smallest sample so far of which the declaration should say that it is refused.

        None without patterns for all tensors: what the rules allow is not all known then.
        """
        tried = self.refused_by_reference
        if not tried or self.subject.facts is None:
            return None
        base = self.bases[0].sample if self.bases else tried[0]

        def fails(sample: Sample) -> bool:
            by = self.refused.get(sample)
            if by is None or by.by != "reference":
                return False
            return is_gap(self.subject, sample, base, by.text)

        for sample in tried:
            origin = self.origins[sample]
            if origin.problem.is_declared and fails(sample):
                return find_smallest(origin, lambda other: not self.accepts(other), fails)
        return None

    def has_none_by_rules(self) -> bool:
        """Return whether no arguments were found that the rules allow."""
        return (
            self.subject.facts is not None
            and self.is_possible
            and not self.bases
            and all(each.by == "rules" for each in self.refused.values())
        )

    def why_none(self) -> str | None:
        """Say why there are no samples, and what to do; None if there are some."""
        if self.bases:
            return None
        fix = (
            "give samples: samples=[ow.sample(...)]"
            if self.subject.facts is not None
            else f"describe it in an OperatorSet({self.subject.namespace!r}, existing=True) "
            "with samples=[ow.sample(...)]"
        )
        if not self.is_possible:
            return f"it has an argument that no sample can give; {fix}"
        last = next(reversed(self.refused.values()), None)
        said = "" if last is None else f"; the {last.by} of the last one tried says: {last.text}"
        return f"no arguments were found that it accepts{said}; {fix}"
