"""Checks of arguments as C++ statements: the same rules as everywhere, safe for symbolic sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import assert_never

from opwright.kit.declare.dtypes import SCALAR_TYPES
from opwright.kit.declare.reserved import safe
from opwright.kit.declare.rules import DtypeArgument, DtypeSet, Promoted, SameDtype
from opwright.kit.emit.cpp.layout import block, flow, message
from opwright.kit.expressions.conditions import (
    MemberCheck,
    RankCheck,
    SizeCheck,
    SpanCheck,
    ValueCheck,
    arguments_of_check,
)
from opwright.kit.expressions.messages import texts_of_check
from opwright.kit.expressions.print_cpp import dtype, size, span, tensor_member
from opwright.kit.expressions.shape import Dim

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.kit.declare.rules import DtypeRule
    from opwright.kit.derive.facts import OperatorFacts
    from opwright.kit.expressions.conditions import Check, Comparison
    from opwright.kit.expressions.messages import Texts
    from opwright.kit.expressions.print_cpp import Scope, Value

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
            allowed = ", ".join(f"{scope.dtypes}::{SCALAR_TYPES[each]}" for each in rule.names)
        elif isinstance(rule, SameDtype) and rule.tensor == name:
            continue
        else:
            allowed = dtype(rule, scope, where=where)
        statement = flow(
            "check_dtype(",
            [message(f"{operator}: argument '{name}'"), safe(name)],
            f", {{{allowed}}});",
        )
        conditions = [given for each in tensors_of(rule) if (given := is_given(each, scope))]
        if conditions:
            statement = block([f"if ({' && '.join(conditions)}) {{"], statement)
        lines += statement
    for check in facts.checks:
        lines += guard_optional(check_lines(check, scope, operator), check, scope)
    return lines


def tensors_of(rule: DtypeRule) -> tuple[str, ...]:
    """Return the tensors that a dtype rule names."""
    match rule:
        case SameDtype(tensor):
            return (tensor,)
        case Promoted(tensors):
            return tensors
        case DtypeArgument(_, otherwise) if otherwise is not None:
            return tensors_of(otherwise)
        case _:
            return ()


def is_given(name: str, scope: Scope) -> str | None:
    """Return the condition that an argument has a tensor; None if it always has."""
    argument = scope.argument(name)
    if argument is None:
        return None
    if argument.type.is_list:
        return f"!{safe(name)}.empty()"
    return f"{safe(name)}.has_value()" if argument.type.optional else None


def guard_optional(lines: Sequence[str], check: Check, scope: Scope) -> list[str]:
    """Return statements that run only where the optional tensors that they use are given."""
    optional = sorted(
        name
        for name in arguments_of_check(check)
        if (argument := scope.argument(name)) is not None and argument.type.optional
    )
    if not optional:
        return list(lines)
    condition = " && ".join(f"{safe(name)}.has_value()" for name in optional)
    return block([f"if ({condition}) {{"], lines)


def check_lines(check: Check, scope: Scope, operator: str) -> list[str]:
    """Return the statement of one check."""
    match check:
        case RankCheck(at_least=True, rank=0):
            return []
        case RankCheck():
            rank = f"{tensor_member(scope, check.tensor)}dim()"
            condition = f"{rank} {'>=' if check.at_least else '=='} {check.rank}"
            values = [rank]
        case SizeCheck():
            actual, expected = size(Dim(check.tensor, check.axis), scope), size(check.size, scope)
            condition = write_comparison(actual, "==", expected)
            values = [actual.text, expected.text]
        case SpanCheck():
            spans = [span(each, scope) for each in (check.span, check.other)]
            condition = f"equal({', '.join(spans)})"
            values = spans if scope.symbolic else [f"text({each})" for each in spans]
        case ValueCheck():
            left, right = size(check.left, scope), size(check.right, scope)
            condition = write_comparison(left, check.comparison, right)
            values = [left.text, right.text]
        case MemberCheck():
            argument = scope.argument(check.argument)
            optional = argument is not None and argument.type.optional
            value = f"*{safe(check.argument)}" if optional else safe(check.argument)
            condition, values = is_member(value, check.values), [value]
        case _:
            assert_never(check)
    return require(condition, f"{operator}: ", texts_of_check(check), values, scope)


def require(
    condition: str, before: str, texts: Texts, values: Sequence[str], scope: Scope
) -> list[str]:
    """Return a check: ValueError, or RuntimeError on the stable ABI, which has no other."""
    macro = "TORCH_CHECK_VALUE(" if scope.symbolic else "STD_TORCH_CHECK("
    parts = [message(before + texts[0])]
    for value, text in zip(values, texts[1:], strict=True):
        parts += [value, message(text)] if text else [value]
    return flow(macro, [condition, *parts], ");")


def write_comparison(left: Value, comparison: Comparison, right: Value) -> str:
    """Return a comparison; of sizes, one that a graph with dynamic shapes carries."""
    if "size" not in {left.kind, right.kind}:
        return f"{left.operand} {comparison} {right.operand}"
    return f"{left.as_size}.{SYMBOLIC[comparison]}({right.text}).expect_true(__FILE__, __LINE__)"


def is_member(value: str, allowed: Sequence[float | str]) -> str:
    """Return the condition that a value is one of some."""
    literals = [message(each) if isinstance(each, str) else repr(each) for each in allowed]
    return " || ".join(f"{value} == {literal}" for literal in literals)
