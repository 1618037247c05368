"""Conditions as data -> whether they hold for the arguments of one call."""

from __future__ import annotations

import operator as operators
from typing import TYPE_CHECKING, Any

from opwright.kit.expressions.conditions import Flag, MemberCheck, ValueCheck, arguments_of_check
from opwright.kit.expressions.evaluate import evaluate_size

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from opwright.kit.expressions.conditions import Comparison, Condition

__all__ = ["COMPARISONS", "holds"]

COMPARISONS: dict[Comparison, Callable[[Any, Any], Any]] = {
    "<": operators.lt,
    "<=": operators.le,
    ">": operators.gt,
    ">=": operators.ge,
    "==": operators.eq,
    "!=": operators.ne,
}


def holds(check: Condition, values: Mapping[str, Any]) -> bool:
    """Return whether a condition holds; one on an argument that is not given does not."""
    if isinstance(check, Flag):
        value = values[check.argument]
        return bool(value if check.index is None else value[check.index]) == check.wanted
    if any(values[name] is None for name in arguments_of_check(check)):
        return False
    match check:
        case ValueCheck(left=left, comparison=comparison, right=right):
            sides = evaluate_size(left, values), evaluate_size(right, values)
            return bool(COMPARISONS[comparison](*sides))
        case MemberCheck(argument=argument, values=allowed):
            return values[argument] in allowed
        case _:  # patterns of shapes are no conditions
            raise AssertionError(check)
