"""Checks of arguments as C++ statements: the same rules as everywhere, safe for symbolic sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from opwright.declare.dims import MemberCheck, RankCheck, SizeCheck, SpanCheck, ValueCheck
from opwright.declare.rules import DtypeSet, SameDtype
from opwright.declare.shape import Argument, Binary, Dim, Element, Length, Rank
from opwright.emit.cpp.layout import block, flow, message
from opwright.emit.cpp.names import safe
from opwright.emit.cpp.sizes import dtype, size, span, tensor_member
from opwright.emit.cpp.types import DTYPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from opwright.declare.dims import Check, Comparison
    from opwright.declare.shape import Size
    from opwright.derive.facts import OperatorFacts
    from opwright.emit.cpp.sizes import Scope, Value

__all__ = ["checks"]

SYMBOLIC: dict[Comparison, str] = {
    "<": "sym_lt",
    "<=": "sym_le",
    ">": "sym_gt",
    ">=": "sym_ge",
    "==": "sym_eq",
    "!=": "sym_ne",
}


def checks(facts: OperatorFacts, scope: Scope, operator: str, *, where: str) -> list[str]:
    """Return the statements that check dtypes and shapes.

    Parameters
    ----------
    operator
        The operator's name for messages.
    """
    lines: list[str] = []
    for name, rule in facts.dtypes.items():
        argument = scope.argument(name)
        if argument is None or not argument.type.has_tensors:
            continue
        if isinstance(rule, DtypeSet):
            allowed = ", ".join(f"{scope.dtypes}::{DTYPES[each]}" for each in rule.names)
        elif isinstance(rule, SameDtype) and rule.tensor == name:
            continue
        else:
            allowed = dtype(rule, scope, where=where)
        lines += flow(
            "check_dtype(",
            [message(f"{operator}: argument '{name}'"), safe(name)],
            f", {{{allowed}}});",
        )
    for check in facts.checks:
        lines += only_if_given(check_lines(check, scope, operator), check, scope)
    return lines


def only_if_given(lines: Sequence[str], check: Check, scope: Scope) -> list[str]:
    """Return statements that run only where the optional tensors that they use are given."""
    optional = sorted(
        name
        for name in used(check)
        if (argument := scope.argument(name)) is not None and argument.type.optional
    )
    if not optional:
        return list(lines)
    condition = " && ".join(f"{safe(name)}.has_value()" for name in optional)
    return block([f"if ({condition}) {{"], lines)


def used(check: Check) -> set[str]:
    """Return the arguments that a check uses."""
    match check:
        case RankCheck():
            return {check.tensor}
        case SizeCheck():
            return {check.tensor, *of_size(check.size)}
        case SpanCheck():
            return {check.span.tensor, check.other.tensor}
        case ValueCheck():
            return {*of_size(check.left), *of_size(check.right)}
        case MemberCheck():
            return {check.argument}
        case _:
            assert_never(check)


def of_size(rule: Size) -> Iterable[str]:
    """Return the arguments that a size uses."""
    match rule:
        case Dim(tensor) | Rank(tensor):
            return {tensor}
        case Argument(name) | Length(name) | Element(name):
            return {name}
        case Binary(_, left, right):
            return {*of_size(left), *of_size(right)}
        case _:
            return set()


def check_lines(check: Check, scope: Scope, operator: str) -> list[str]:
    """Return the statement of one check."""
    match check:
        case RankCheck(at_least=True, rank=0):
            return []
        case RankCheck():
            rank = f"{tensor_member(scope, check.tensor)}dim()"
            comparison = ">=" if check.at_least else "=="
            least = "at least " if check.at_least else ""
            return require(
                f"{rank} {comparison} {check.rank}",
                [
                    message(f"{operator}: argument '{check.tensor}' has "),
                    rank,
                    message(f" axes; it needs {least}{check.rank}, as in '{check.pattern}'"),
                ],
                scope,
            )
        case SizeCheck():
            actual = size(Dim(check.tensor, check.axis), scope)
            expected = size(check.size, scope)
            return require(
                compared(actual, "==", expected),
                [
                    message(
                        f"{operator}: axis {check.axis} of argument '{check.tensor}' has size "
                    ),
                    actual.text,
                    message(f"; '{check.pattern}' asks for "),
                    expected.text,
                ],
                scope,
            )
        case SpanCheck():
            actual_sizes, expected_sizes = span(check.span, scope), span(check.other, scope)
            shown = "{}" if scope.symbolic else "text({})"
            return require(
                f"equal({actual_sizes}, {expected_sizes})",
                [
                    message(f"{operator}: argument '{check.span.tensor}' has axes "),
                    shown.format(actual_sizes),
                    message(f"; '{check.pattern}' asks for "),
                    shown.format(expected_sizes),
                ],
                scope,
            )
        case ValueCheck():
            left, right = size(check.left, scope), size(check.right, scope)
            return require(
                compared(left, check.comparison, right),
                [
                    message(f"{operator}: '{check.pattern}' does not hold: "),
                    left.text,
                    message(" and "),
                    right.text,
                ],
                scope,
            )
        case MemberCheck():
            return member(check, scope, operator)
        case _:
            assert_never(check)


def require(condition: str, parts: Sequence[str], scope: Scope) -> list[str]:
    """Return a check: ValueError, or RuntimeError on the stable ABI, which has no other."""
    macro = "TORCH_CHECK_VALUE(" if scope.symbolic else "STD_TORCH_CHECK("
    return flow(macro, [condition, *parts], ");")


def compared(left: Value, comparison: Comparison, right: Value) -> str:
    """Return a comparison; of sizes, one that a graph with dynamic shapes carries."""
    if "size" not in {left.kind, right.kind}:
        return f"{left.operand} {comparison} {right.operand}"
    return f"{left.as_size}.{SYMBOLIC[comparison]}({right.text}).expect_true(__FILE__, __LINE__)"


def member(check: MemberCheck, scope: Scope, operator: str) -> list[str]:
    """Return the check that an argument has one of some values."""
    argument = scope.argument(check.argument)
    optional = argument is not None and argument.type.optional
    value = f"*{safe(check.argument)}" if optional else safe(check.argument)
    literals = [message(each) if isinstance(each, str) else repr(each) for each in check.values]
    return require(
        " || ".join(f"{value} == {literal}" for literal in literals),
        [
            message(f"{operator}: argument '{check.argument}' is "),
            value,
            message(f"; '{check.pattern}' allows {', '.join(map(str, check.values))}"),
        ],
        scope,
    )
