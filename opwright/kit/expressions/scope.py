"""Names that a rule may use: the operator's arguments, and the dimensions that they bind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from opwright.errors import nearest_first
from opwright.kit.declare.errors import RuleError, UnknownNameError
from opwright.kit.declare.schema import Base
from opwright.kit.expressions import shape

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.kit.declare.schema import Schema

__all__ = ["Scope", "list_name", "named", "tensor_name", "tensors_name"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Names that a rule may use.

    Parameters
    ----------
    schema
        The operator's schema.
    names
        Dimensions that are bound by tensors that are always there.
    ranks
        For each tensor with a pattern the number of its axes; None if it is open.
    """

    schema: Schema
    names: Mapping[str, shape.Size | shape.Span] = field(default_factory=dict)
    ranks: Mapping[str, int | None] = field(default_factory=dict)

    def known(self) -> tuple[str, ...]:
        """Return all names that a size may use."""
        numbers = (
            a.name
            for a in self.schema.arguments
            if (a.type.base.is_integer or a.type.base is Base.FLOAT) and not a.type.is_list
        )
        return tuple(sorted({*self.names, *numbers}))


def tensor_name(name: str, scope: Scope, *, where: str) -> str:
    """Return a name if it is that of a tensor argument that is always there."""
    tensors = [a.name for a in scope.schema.arguments if a.type.is_tensor and not a.type.optional]
    if name not in tensors:
        argument = scope.schema.argument(name)
        absent = argument is not None and argument.type.is_tensor
        raise UnknownNameError(
            where=where,
            got=f"{name!r}, which may be None" if absent else repr(name),
            allowed=nearest_first(name, tensors),
            fix="name a tensor argument that is always there",
        )
    return name


def tensors_name(name: str, scope: Scope, *, where: str) -> str:
    """Return a name if it is that of a list of tensors, none of which may be None."""
    lists = [
        a.name
        for a in scope.schema.arguments
        if a.type.has_tensors
        and a.type.is_list
        and not (a.type.optional or a.type.optional_elements)
    ]
    if name not in lists:
        raise UnknownNameError(
            where=where,
            got=f"an element of {name!r}",
            allowed=nearest_first(name, lists),
            fix="name a list of tensors that are always there (Tensor[])",
        )
    return name


def list_name(name: str, scope: Scope, *, where: str) -> str:
    """Return a name if it is that of a list argument."""
    lists = [a.name for a in scope.schema.arguments if a.type.is_list]
    argument = scope.schema.argument(name)
    if argument is None or not argument.type.is_list or argument.type.base is Base.STR:
        raise UnknownNameError(where=where, got=repr(name), allowed=nearest_first(name, lists))
    return name


def named(name: str, scope: Scope, *, where: str) -> shape.Size:
    """Return what a name stands for."""
    bound = scope.names.get(name)
    if isinstance(bound, shape.Span):
        raise RuleError(
            where=where, got=f"{name!r}, which stands for several axes", fix=f"write '*{name}'"
        )
    if bound is not None:
        return bound
    if name in scope.known():
        argument = scope.schema.argument(name)
        if argument is not None and argument.type.optional:
            raise UnknownNameError(
                where=where,
                got=f"{name!r}, which may be None",
                allowed=scope.known(),
                fix="give the argument a default that is a number, or write a shape function",
            )
        return shape.Argument(name)
    raise UnknownNameError(where=where, got=repr(name), allowed=nearest_first(name, scope.known()))
