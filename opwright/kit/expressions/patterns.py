"""The patterns of tensor arguments -> the names that they bind, and the checks that these imply.

A pattern says what axes a tensor argument has: `"*batch, N, D"`. The first tensor that has a name
binds it; where the name comes again, the sizes must be equal.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from opwright.kit.declare.errors import RuleError
from opwright.kit.declare.schema_text import split
from opwright.kit.expressions import shape
from opwright.kit.expressions.conditions import RankCheck, SizeCheck, SpanCheck
from opwright.kit.expressions.read import read_size, size_names
from opwright.kit.expressions.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from opwright.kit.declare.rules import Dims
    from opwright.kit.declare.schema import Schema
    from opwright.kit.expressions.conditions import Check

__all__ = ["bind"]


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
    scope = Scope(arguments={a.name: a for a in schema.arguments}, names=names, ranks=ranks)
    checks: list[Check] = []
    # Tensors that may be absent come last: what they alone bind cannot be used by an output.
    ordered = sorted(
        (a for a in schema.arguments if a.name in patterns), key=lambda a: a.type.optional
    )
    for argument in ordered:
        text = patterns[argument.name].text
        place = f"{where}, shape of {argument.name!r}"
        parts = split(text)
        stars = [index for index, part in enumerate(parts) if part.startswith("*")]
        if len(stars) > 1:
            raise RuleError(where=place, got=repr(text), fix="write one '*name' at most")
        ranks[argument.name] = None if stars else len(parts)
        checks.append(
            RankCheck(
                tensor=argument.name,
                rank=len(parts) - len(stars),
                at_least=bool(stars),
                pattern=text,
            )
        )
        own = dict(names) if argument.type.optional else names
        for index, part in enumerate(parts):
            if part.startswith("*"):
                span = shape.Span(argument.name, index, index + 1 - len(parts) or None)
                checks += bind_span(own, part[1:].strip(), span, text, where=place)
            else:
                is_behind = bool(stars) and index > stars[0]
                dim = shape.Dim(argument.name, index - len(parts) if is_behind else index)
                within = dataclasses.replace(scope, names=own)
                checks += bind_size(within, own, part, dim, text, where=place)
    return scope, tuple(checks)


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
    sizes = size_names(scope)
    if part.isidentifier() and part not in sizes:
        if part in scope.arguments:
            raise RuleError(
                where=where,
                got=f"{part!r}, which is an argument but no int",
                allowed=sizes,
                fix="name the axis differently",
            )
        names[part] = dim
        return ()
    expected = read_size(part, scope, where=where)
    return (SizeCheck(tensor=dim.tensor, axis=dim.axis, size=expected, pattern=pattern),)
