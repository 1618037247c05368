"""Samples whose attributes differ from their defaults and from each other.

A kernel that swaps or drops one of them gives another result.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from opwright.check.samples.search import Solution, find
from opwright.kit.declare.defaults import default_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from opwright.check.samples.choice import Asked

__all__ = ["distinct"]

PREFIX = "value "
MOST_TRIES = 5  # of one attribute


def distinct(root: Solution, accepts: Callable[[Solution], bool]) -> Solution | None:
    """Return a solution with other attributes; None if these are distinct, or nothing else is.

    Attributes are changed one at a time: one that must keep its default does not stop the others.
    """
    tried = replace(root.problem, is_tried=root.problem.is_foreign)
    whole = find(tried, {}, root.taken)
    if whole is None:
        return None
    current = whole
    used: list[object] = []
    for asked in attributes(whole):
        if is_apart(whole, asked, asked.taken, used):
            used.append(asked.taken)
            continue
        options = [each for each in asked.others if is_apart(whole, asked, each, used)]
        for option in options[:MOST_TRIES]:
            changed = find(tried, {asked.name: option}, current.taken)
            if changed is not None and accepts(changed):
                current = changed
                used.append(option)
                break
    return None if current is whole else current


def attributes(solution: Solution) -> Iterator[Asked]:
    """Yield the choices of attributes that are numbers or flags."""
    for asked in solution.trail:
        is_number = isinstance(asked.taken, bool | int | float)
        if asked.aspect == "value" and asked.name.startswith(PREFIX) and is_number:
            yield asked


def is_apart(solution: Solution, asked: Asked, value: object, used: list[object]) -> bool:
    """Return whether a value is neither a default nor that of another attribute."""
    name = asked.name.removeprefix(PREFIX).partition("[")[0]
    argument = solution.problem.operator.schema.argument(name)
    if argument is None or value == default_value(argument):
        return False
    return isinstance(value, bool) or value not in used
