"""Free choices of a solver, by name, and who makes them.

The solver asks for each choice with all values that are still possible. What answers is a chooser:
one for the simplest sample, one that sets some choices, one that draws.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opwright.check.samples.aspects import Aspect

__all__ = ["Asked", "Chooser", "Contradiction", "Fixed", "contains", "is_same", "prefer"]

T = TypeVar("T")


class Contradiction(Exception):  # noqa: N818 - it is no error: the solver's way back
    """No value is possible for a choice, or a rule does not hold."""


class Chooser(Protocol):
    """Answers what a solver asks."""

    def __call__(self, name: str, aspect: Aspect, options: Sequence[T], base: T | None) -> T:
        """Return one of the options.

        Parameters
        ----------
        name
            `size N`, `dtype x`, ...; the same choice has the same name in each sample.
        options
            From the smallest to the largest; at least one.
        base
            What it is as long as nothing varies; None, or what is no option: the first one.
        """


@dataclass(frozen=True, slots=True)
class Asked:
    """A choice as it was made."""

    name: str
    aspect: Aspect
    options: tuple[Any, ...]
    base: Any
    taken: Any

    @property
    def others(self) -> tuple[Any, ...]:
        """The options that were not taken."""
        return tuple(each for each in self.options if not is_same(each, self.taken))


@dataclass(slots=True)
class Fixed:
    """Sets some choices; the others are as the base says.

    Parameters
    ----------
    values
        Of some choices. What is no option is passed over.
    steps
        Of the choices that a search may change, in the order in which they are asked: how far from
        the base each one is.
    trail
        All choices as they were made.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    steps: Sequence[int] = ()
    trail: list[Asked] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)

    def __call__(self, name: str, aspect: Aspect, options: Sequence[T], base: T | None) -> T:
        """Return the set value, else the base or what the search is at."""
        if name in self.values and contains(options, self.values[name]):
            taken: T = self.values[name]
        elif aspect in SEARCHED:
            taken = self.step(options, base)
        else:
            taken = prefer(options, base)
        self.trail.append(Asked(name, aspect, tuple(options), base, taken))
        return taken

    def step(self, options: Sequence[T], base: T | None) -> T:
        """Return what the search is at."""
        ordered = [prefer(options, base)]
        ordered += [each for each in options if not is_same(each, ordered[0])]
        index = len(self.counts)
        self.counts.append(len(ordered))
        return ordered[self.steps[index] if index < len(self.steps) else 0]

    def next_steps(self) -> list[int] | None:
        """Return what the search is at next; None at its end."""
        steps = [*self.steps, *[0] * len(self.counts)][: len(self.counts)]
        for index in reversed(range(len(steps))):
            if steps[index] + 1 < self.counts[index]:
                return [*steps[:index], steps[index] + 1]
        return None


# Aspects that a search for a sample changes: rules contradict each other in nothing else.
SEARCHED = frozenset({"size", "rank", "value", "length"})


def prefer(options: Sequence[T], base: T | None) -> T:
    """Return the base if it is an option, else the first one."""
    return base if base is not None and contains(options, base) else options[0]


def contains(options: Sequence[Any], value: object) -> bool:
    """Return whether a value is an option."""
    return any(is_same(each, value) for each in options)


def is_same(one: object, other: object) -> bool:
    """Return whether two values are the same; 1, 1.0 and True are not."""
    return type(one) is type(other) and one == other
