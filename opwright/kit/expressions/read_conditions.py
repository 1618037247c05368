"""The fields `requires` and `unspecified`: comparisons, memberships and flags -> checks."""

from __future__ import annotations

import ast
import math
from typing import TYPE_CHECKING

from opwright.errors import nearest_first
from opwright.kit.declare.errors import RuleError, UnknownNameError
from opwright.kit.declare.schema import Base
from opwright.kit.declare.texts import check_value
from opwright.kit.expressions import shape
from opwright.kit.expressions.conditions import Flag, MemberCheck, ValueCheck
from opwright.kit.expressions.read_sizes import MAX_INT, integer, is_whole, parsed, size

if TYPE_CHECKING:
    from typing import TypeGuard

    from opwright.kit.expressions.conditions import Check, Comparison, Condition
    from opwright.kit.expressions.scope import Scope

__all__ = ["read_condition", "read_requirement"]


COMPARISONS: dict[type[ast.cmpop], Comparison] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


# Types that a membership may be about, with the types of the values.
PLAIN: dict[Base, type[int | float | str]] = {
    Base.INT: int,
    Base.SYMINT: int,
    Base.FLOAT: float,
    Base.STR: str,
}


# Types that hold the numbers in C++.
HOLDERS: dict[type[int | float | str], str] = {int: "int64", float: "double"}


def read_requirement(text: str, scope: Scope, *, where: str) -> tuple[Check, ...]:
    """Read what has to hold for the arguments: a comparison, a chain of them, or a membership.

    Raises
    ------
    RuleError, UnknownNameError
        OPW-D004, OPW-D003.

    Examples
    --------
    >>> from opwright.kit.declare.schema_text import parse_schema
    >>> from opwright.kit.expressions.scope import Scope
    >>> scope = Scope(schema=parse_schema("f(Tensor x, int k, str mode) -> Tensor", where=""))
    >>> len(read_requirement("0 < k <= x.shape[-1]", scope, where=""))
    2
    >>> read_requirement("mode in ('sum', 'mean')", scope, where="")[0].values
    ('sum', 'mean')
    """
    match parsed(text, where=where):
        case ast.Compare(ast.Name(name), [ast.In()], [ast.Tuple() | ast.List() as values]):
            return (member(name, values, text, scope, where=where),)
        case ast.Compare(ast.Name(name), [ast.Eq()], [ast.Constant(str()) as value]):
            return (member(name, ast.Tuple([value]), text, scope, where=where),)
        case ast.Compare(first, operators, rest) if all(type(o) in COMPARISONS for o in operators):
            sizes = [size(node, scope, where=where) for node in (first, *rest)]
            for operand in sizes:
                check_operations(operand, scope, text, where=where)
            pairs = zip(sizes, operators, sizes[1:], strict=False)
            return tuple(
                ValueCheck(left=left, comparison=COMPARISONS[type(o)], right=right, pattern=text)
                for left, o, right in pairs
            )
    raise RuleError(
        where=where,
        got=repr(text),
        allowed=("0 < k <= N", "k % 8 == 0", "mode in ('sum', 'mean')"),
        fix="compare sizes and numbers, or give the values that an argument may have",
    )


def read_condition(text: str, scope: Scope, *, where: str) -> tuple[Condition, ...]:
    """Read when something is so: a bool, `not` and one, or what a requirement may be.

    Raises
    ------
    RuleError, UnknownNameError
        OPW-D004, OPW-D003.

    Examples
    --------
    >>> from opwright.kit.declare.schema_text import parse_schema
    >>> from opwright.kit.expressions.scope import Scope
    >>> scope = Scope(schema=parse_schema("f(Tensor x, bool[2] mask) -> Tensor", where=""))
    >>> read_condition("not mask[0]", scope, where="")
    (Flag(argument='mask', wanted=False, index=0),)
    """
    match parsed(text, where=where):
        case ast.UnaryOp(ast.Not(), ast.Name() | ast.Subscript() as node):
            return (flag(node, text, scope, wanted=False, where=where),)
        case ast.Name() | ast.Subscript() as node:
            return (flag(node, text, scope, wanted=True, where=where),)
        case ast.Compare():
            return read_requirement(text, scope, where=where)
    raise no_condition(text, where=where)


def no_condition(text: str, *, where: str) -> RuleError:
    """Return the error for a text that is no condition."""
    return RuleError(
        where=where,
        got=repr(text),
        allowed=("training", "not training", "mask[0]", "k == 0", "mode in ('sum', 'mean')"),
        fix="name a bool argument, with 'not' if you like, or compare sizes and numbers",
    )


def flag(node: ast.expr, text: str, scope: Scope, *, wanted: bool, where: str) -> Flag:
    """Read a bool argument that is always there, or an element of a list of them."""
    match node:
        case ast.Name(name):
            index = None
        case ast.Subscript(ast.Name(name), at):
            index = integer(at, where=where)
        case _:
            raise no_condition(text, where=where)
    flags = [
        a.name
        for a in scope.schema.arguments
        if a.type.base is Base.BOOL
        and a.type.is_list == (index is not None)
        and not a.type.optional
    ]
    if name not in flags:
        raise UnknownNameError(
            where=where,
            got=repr(text),
            allowed=nearest_first(name, flags),
            fix="name a bool argument that is never None, or compare numbers",
        )
    return Flag(argument=name, wanted=wanted, index=index)


def check_operations(value: shape.Size, scope: Scope, text: str, *, where: str) -> None:
    """Raise if an operation of whole numbers has a float as operand."""
    if not isinstance(value, shape.Binary):
        return
    for operand in (value.left, value.right):
        if value.operation not in {"+", "-", "*"} and not is_whole(operand, scope.schema):
            raise RuleError(
                where=where,
                got=f"{value.operation!r} of floats in {text!r}",
                allowed=("+", "-", "*"),
                fix="use these with floats, the others with whole numbers only",
            )
        check_operations(operand, scope, text, where=where)


def member(
    name: str, values: ast.Tuple | ast.List, text: str, scope: Scope, *, where: str
) -> MemberCheck:
    """Read a membership."""
    given = scope.schema.argument(name)
    plain = [a.name for a in scope.schema.arguments if a.type.base in PLAIN and not a.type.is_list]
    if given is None or name not in plain:
        raise UnknownNameError(
            where=where,
            got=repr(name),
            allowed=nearest_first(name, plain),
            fix="name an argument that is a number or a string",
        )
    literals: list[int | float | str] = []
    for element in values.elts:
        kind = given.type.base
        if not isinstance(element, ast.Constant) or not is_value(element.value, PLAIN[kind]):
            held = "" if kind is Base.STR else f" that {HOLDERS[PLAIN[kind]]} holds"
            fix = f"give values of type {kind.value}{held}"
            raise RuleError(where=where, got=repr(text), fix=fix)
        if isinstance(element.value, str):
            check_value(element.value, where=where)
        literals.append(element.value)
    return MemberCheck(argument=name, values=tuple(literals), pattern=text)


def is_value(value: object, kind: type[int | float | str]) -> TypeGuard[int | float | str]:
    """Return whether a literal is of a type, and C++ can hold it."""
    if not isinstance(value, kind) or isinstance(value, bool):
        return False
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, str) or abs(value) <= MAX_INT
