"""Problems of operators that nobody describes: what their arguments usually look like."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from opwright.check.samples.problem import Axes, Axis, problem_of, tensors_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.check.samples.problem import Pattern, Problem
    from opwright.check.subject import Subject

__all__ = ["guesses", "kinds_of"]

SAME: tuple[Pattern, ...] = ((Axes("shape"),),)
# Shapes by place of the tensor; the last one goes on.
SHAPES: tuple[tuple[Pattern, ...], ...] = (
    ((Axes("batch"), Axis("D")), (Axis("D"),)),
    ((Axis("N"), Axis("K")), (Axis("K"), Axis("M")), (Axis("M"),)),
    ((Axes("batch"), Axis("N"), Axis("K")), (Axes("batch"), Axis("K"), Axis("M"))),
    ((Axis("N"), Axis("D")), (Axis("N"),)),
    ((Axis("B"), Axis("C"), Axis("H"), Axis("W")),),
    ((Axis("B"), Axis("C"), Axis("H"), Axis("W")), (Axis("C"),)),
)


def kinds_of(problem: Problem, name: str) -> tuple[Problem, ...]:
    """Return problems in which a tensor is a mask, or has whole numbers."""
    masks, integers = problem.masks | {name}, problem.integers | {name}
    return (
        replace(problem, masks=masks),
        replace(problem, integers=integers),
        replace(problem, integers=integers, is_int32=True),
    )


def guesses(subject: Subject) -> Iterator[Problem]:
    """Yield problems, the most usual one first."""
    same = problem_of(subject, None)
    tensors = [argument.name for argument in tensors_of(subject.operator)]
    yield same
    shaped = [
        replace(same, patterns={n: (p[min(i, len(p) - 1)],) for i, n in enumerate(tensors)})
        for p in SHAPES
    ]
    if tensors:
        yield from shaped
        # An index comes last, or behind the first tensor; so does a mask.
        for name in dict.fromkeys(tensors[:0:-1]):
            for each in (same, *shaped):
                yield replace(each, integers=frozenset({name}))
            for each in (same, *shaped):
                yield replace(each, masks=frozenset({name}))
        for each in (same, *shaped):
            yield replace(each, integers=frozenset(tensors))
            yield replace(each, integers=frozenset(tensors), is_int32=True)
