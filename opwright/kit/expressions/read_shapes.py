"""Shape texts with named dimensions -> shapes as data, and the checks that the names imply.

A pattern says what axes a tensor argument has: `"*batch, N, D"`. The first tensor that has a name
binds it; where the name comes again, the sizes must be equal. The shape of an output is written
with these names: `"*batch, N, ceildiv(D, 16)"`.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from typing_extensions import assert_never

from opwright.errors import nearest_first
from opwright.kit.declare.errors import RuleError, UnknownNameError
from opwright.kit.declare.rules import BroadcastOf, Cpp, Dims, Like, ReducedOf, ShapeFunction
from opwright.kit.declare.schema_text import split
from opwright.kit.expressions import shape
from opwright.kit.expressions.conditions import RankCheck, SizeCheck, SpanCheck
from opwright.kit.expressions.read_sizes import integer, parsed, read_size, tensor_of
from opwright.kit.expressions.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from opwright.kit.declare.rules import ShapeRule
    from opwright.kit.declare.schema import Schema
    from opwright.kit.expressions.conditions import Check

__all__ = ["bind", "resolve"]


def bind(
    schema: Schema, patterns: Mapping[str, Dims], *, where: str
) -> tuple[Scope, tuple[Check, ...]]:
    """Bind the names of the patterns of tensor arguments.

    Parameters
    ----------
    patterns
        By name of a tensor argument; in the order of the schema, whatever the order of the mapping.

    Returns
    -------
    scope, checks
        What later rules may name, and what has to hold for the arguments.

    Raises
    ------
    RuleError, UnknownNameError
        OPW-D004, OPW-D003.
    """
    names: dict[str, shape.Size | shape.Span] = {}
    ranks: dict[str, int | None] = {}
    checks: list[Check] = []
    # Tensors that may be absent come last: what they alone bind cannot be used by an output.
    ordered = sorted(
        (a for a in schema.arguments if a.name in patterns), key=lambda a: a.type.optional
    )
    for argument in ordered:
        pattern = patterns[argument.name]
        place = f"{where}, shape of {argument.name!r}"
        parts = split(pattern.text)
        stars = [index for index, part in enumerate(parts) if part.startswith("*")]
        if len(stars) > 1:
            raise RuleError(where=place, got=repr(pattern.text), fix="write one '*name' at most")
        ranks[argument.name] = None if stars else len(parts)
        checks.append(
            RankCheck(
                tensor=argument.name,
                rank=len(parts) - len(stars),
                at_least=bool(stars),
                pattern=pattern.text,
            )
        )
        own = dict(names) if argument.type.optional else names
        for index, part in enumerate(parts):
            after = bool(stars) and index > stars[0]
            axis = index - len(parts) if after else index
            if part.startswith("*"):
                stop = index + 1 - len(parts)
                span = shape.Span(argument.name, index, stop or None)
                checks += bind_span(own, part[1:].strip(), span, pattern.text, where=place)
            else:
                scope = Scope(schema=schema, names=own, ranks=ranks)
                checks += bind_size(
                    scope, own, part, shape.Dim(argument.name, axis), pattern.text, where=place
                )
    return Scope(schema=schema, names=names, ranks=ranks), tuple(checks)


def bind_span(
    names: dict[str, shape.Size | shape.Span],
    name: str,
    span: shape.Span,
    pattern: str,
    *,
    where: str,
) -> Iterable[Check]:
    """Bind `*name`, or check it against an earlier one."""
    if not name.isidentifier():
        raise RuleError(where=where, got=repr(f"*{name}"), fix="write a name behind '*'")
    known = names.setdefault(name, span)
    if not isinstance(known, shape.Span):
        raise RuleError(
            where=where,
            got=f"'*{name}', while {name!r} is one axis elsewhere",
            fix="use another name",
        )
    if known == span or name == "_":
        return ()
    return (SpanCheck(span=span, other=known, pattern=pattern),)


def bind_size(
    scope: Scope,
    names: dict[str, shape.Size | shape.Span],
    part: str,
    dim: shape.Dim,
    pattern: str,
    *,
    where: str,
) -> Iterable[Check]:
    """Bind a name to an axis, or check the axis against what the part says."""
    if part == "_":
        return ()
    if part.isidentifier() and part not in scope.known():
        if scope.schema.argument(part) is not None:
            raise RuleError(
                where=where,
                got=f"{part!r}, which is an argument but no int",
                allowed=scope.known(),
                fix="name the axis differently",
            )
        names[part] = dim
        return ()
    expected = read_size(part, scope, where=where)
    return (SizeCheck(tensor=dim.tensor, axis=dim.axis, size=expected, pattern=pattern),)


def resolve(rule: ShapeRule, scope: Scope, *, where: str) -> shape.Shape | ShapeFunction | Cpp:
    """Turn the shape rule of an output into data; functions and C++ stay what they are.

    Raises
    ------
    RuleError, UnknownNameError
        OPW-D004, OPW-D003.
    """
    match rule:
        case Like(tensor):
            return (whole(tensor, scope, where=where),)
        case BroadcastOf(tensors):
            if not tensors:
                raise RuleError(where=where, got="broadcast()", fix="name the tensors")
            each = tuple((whole(tensor, scope, where=where),) for tensor in tensors)
            return (shape.Broadcast(each),)
        case ReducedOf(tensor, dim, keepdim):
            of = whole(tensor, scope, where=where)
            for name, wanted in ((dim, "int"), (keepdim, "bool")):
                check_argument(name, wanted, scope, where=where)
            return (shape.Reduced(of.tensor, dim, keepdim, of.index),)
        case Dims(text):
            return tuple(read_item(part, scope, where=where) for part in split(text))
        case ShapeFunction() | Cpp():
            return rule
        case _:
            assert_never(rule)


def whole(tensor: str, scope: Scope, *, where: str) -> shape.Span:
    """Return all axes of a tensor: an argument (`x`), or an element of a list (`xs[0]`)."""
    name, index = tensor_of(parsed(tensor, where=where), scope, where=where)
    return shape.Span(name, index=index)


def check_argument(name: str | None, wanted: str, scope: Scope, *, where: str) -> None:
    """Raise unless a name is None or that of an argument of the wanted type (list or not)."""
    allowed = [
        a.name
        for a in scope.schema.arguments
        if a.type.base.value == wanted or (wanted == "int" and a.type.base.is_integer)
    ]
    if name is not None and name not in allowed:
        raise UnknownNameError(
            where=where,
            got=repr(name),
            allowed=nearest_first(name, allowed),
            fix=f"name an argument of type {wanted}, or leave it out",
        )


def read_item(part: str, scope: Scope, *, where: str) -> shape.Item:
    """Read one item of an output's shape."""
    if not part.startswith("*"):
        return read_size(part, scope, where=where)
    node = parsed(part[1:], where=where)
    match node:
        case ast.Name(name):
            bound = scope.names.get(name)
            if isinstance(bound, shape.Span):
                return bound
            argument = scope.schema.argument(name)
            if argument is not None and argument.type.base.is_integer and argument.type.is_list:
                return shape.Sizes(name)
            spans = [known for known, value in scope.names.items() if isinstance(value, shape.Span)]
            lists = [
                a.name for a in scope.schema.arguments if a.type.base.is_integer and a.type.is_list
            ]
            raise UnknownNameError(
                where=where, got=repr(part), allowed=nearest_first(name, [*spans, *lists])
            )
        case ast.Attribute(ast.Name() | ast.Subscript() as tensor, "shape"):
            argument_name, index = tensor_of(tensor, scope, where=where)
            return shape.Span(argument_name, index=index)
        case ast.Subscript(
            ast.Attribute(ast.Name() | ast.Subscript() as tensor, "shape"),
            ast.Slice(start, stop, None),
        ):
            argument_name, index = tensor_of(tensor, scope, where=where)
            return shape.Span(
                argument_name,
                0 if start is None else integer(start, where=where),
                None if stop is None else integer(stop, where=where),
                index,
            )
    raise RuleError(
        where=where,
        got=repr(part),
        allowed=("*name", "*x.shape", "*x.shape[a:b]", "*int_list"),
        fix="spread a named part, a tensor's shape or an int list",
    )
