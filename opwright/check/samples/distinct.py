"""Samples whose attributes differ from their defaults and from each other, or are flags.

A kernel or converter that swaps or drops one of them gives another result.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from opwright.check.samples.search import Solution, find
from opwright.check.samples.values import USUAL
from opwright.kit.declare.defaults import default_value
from opwright.kit.declare.schema import Base

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from opwright.check.samples.choice import Asked
    from opwright.kit.declare.schema import Argument

__all__ = ["distinct", "falsy", "single_flags"]

PREFIX = "value "
PRESENCE = "presence "
NUMBERS = (Base.INT, Base.SYMINT, Base.FLOAT, Base.SYMFLOAT, Base.BOOL, Base.SYMBOOL, Base.SCALAR)
MOST_TRIES = 5  # of one attribute
MOST_FLAGS = 4  # that are set alone


def distinct(root: Solution, accepts: Callable[[Solution], bool]) -> Solution | None:
    """Return a solution with other attributes; None if these are distinct, or nothing else is.

    Attributes are changed one at a time: one that must keep its default does not stop the others.
    """
    tried = replace(root.problem, is_tried=root.problem.is_foreign)
    whole = find(tried, {}, root.taken)
    if whole is None:
        return None
    current = whole = give_numbers(whole, accepts)
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
    return None if current.sample == root.sample else current


def give_numbers(solution: Solution, accepts: Callable[[Solution], bool]) -> Solution:
    """Return a solution in which numbers and flags are given that may be None, where they can.

    Nothing else gives them, where no explicit sample does.
    """
    current = solution
    for asked in solution.trail:
        argument = solution.problem.operator.schema.argument(asked.name.removeprefix(PRESENCE))
        is_number = argument is not None and argument.type.base in NUMBERS
        if not asked.name.startswith(PRESENCE) or asked.taken or not is_number:
            continue
        changed = find(solution.problem, {asked.name: True}, current.taken)
        if changed is not None and accepts(changed):
            current = changed
    return current


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


def falsy(root: Solution, accepts: Callable[[Solution], bool]) -> Solution | None:
    """Return a solution whose attributes are false as conditions; None if none can be.

    Code that asks `if scale:` for "is it given" takes 0, False, "" and [] for nothing, and computes
    with a default. So these are given where the default is another value or None. Attributes are
    changed one at a time, as for `distinct`.
    """
    tried = replace(root.problem, is_tried=root.problem.is_foreign)
    whole = find(tried, {}, root.taken)
    if whole is None:
        return None
    current = whole
    for argument in root.problem.operator.schema.arguments:
        change = choose_falsy(argument)
        changed = find(tried, change, current.taken) if change else None
        if changed is not None and accepts(changed):
            current = changed
    return None if current is whole else current


def choose_falsy(argument: Argument) -> dict[str, object]:
    """Return the choices that make an attribute false; none where its default is, or none can."""
    kind = argument.type
    has_default = argument.default is not None
    if not kind.optional and not (has_default and default_value(argument)):
        return {}
    presence: dict[str, object] = {PRESENCE + argument.name: True} if kind.optional else {}
    if kind.is_list:
        is_free = kind.length is None and not kind.has_tensors
        return presence | {f"length {argument.name}": 0} if is_free else {}
    value = next((each for each in USUAL.get(kind.base, ()) if not each), None)
    return {} if value is None else presence | {PREFIX + argument.name: value}


def single_flags(root: Solution, accepts: Callable[[Solution], bool]) -> Iterator[Solution]:
    """Yield solutions in which one flag is set and the others are not, for the first few flags.

    Flags are bool attributes and the elements of masks. As long as all of them are equal, one may
    stand for another.
    """
    tried = replace(root.problem, is_tried=root.problem.is_foreign)
    whole = find(tried, {}, root.taken)
    if whole is None:
        return
    flags = [each.name for each in attributes(whole) if isinstance(each.taken, bool)]
    if len(flags) < 2:  # noqa: PLR2004 - one has no other
        return
    for flag in flags[:MOST_FLAGS]:
        changed = find(tried, {name: name == flag for name in flags}, whole.taken)
        if changed is not None and changed.sample != root.sample and accepts(changed):
            yield changed
