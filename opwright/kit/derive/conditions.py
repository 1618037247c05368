"""Conditions on the arguments of one call: whether they hold."""

from __future__ import annotations

import operator as operators
from typing import TYPE_CHECKING, Any

from opwright.kit.declare.checks import Flag, MemberCheck, ValueCheck, arguments_of_check
from opwright.kit.derive.evaluate import evaluate_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from opwright.kit.declare.checks import Comparison, Condition
    from opwright.kit.derive.facts import Output

__all__ = ["COMPARISONS", "unspecified_outputs"]

COMPARISONS: dict[Comparison, Callable[[Any, Any], Any]] = {
    "<": operators.lt,
    "<=": operators.le,
    ">": operators.gt,
    ">=": operators.ge,
    "==": operators.eq,
    "!=": operators.ne,
}


def unspecified_outputs(outputs: Iterable[Output], values: Mapping[str, Any]) -> frozenset[str]:
    """Return the outputs whose values a call leaves open.

    Parameters
    ----------
    values
        All arguments by name; anything with `shape` stands for a tensor.
    """
    return frozenset(
        output.name
        for output in outputs
        if output.unspecified and all(holds(check, values) for check in output.unspecified)
    )


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
