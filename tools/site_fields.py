"""Griffe, which reads docstrings for the site, sees the fields of a TypedDict as parameters.

A function with `**fields: Unpack[OperatorFields]` documents each field; so the site knows its type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from griffe import (
    Class,
    ExprSubscript,
    Extension,
    Function,
    Module,
    Parameter,
    ParameterKind,
    Parameters,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


class Fields(Extension):
    """Replaces `**fields` by a keyword-only parameter for each field."""

    def on_package(self, *, pkg: Module, **kwargs: Any) -> None:  # noqa: ANN401 - Griffe's
        """Visit the functions of a package."""
        del kwargs
        for function in functions(pkg):
            unpack(function)


def functions(found: Module | Class) -> Iterator[Function]:
    """Yield all functions of a module, but not those that it imports."""
    for member in found.members.values():
        if isinstance(member, Function):
            yield member
        elif isinstance(member, Module | Class):
            yield from functions(member)


def unpack(function: Function) -> None:
    """Replace a function's `**fields` where its type is Unpack of a TypedDict."""
    known = [*function.parameters]
    if not known or known[-1].kind is not ParameterKind.var_keyword:
        return
    annotation = known[-1].annotation
    if isinstance(annotation, ExprSubscript) and annotation.canonical_path == "typing.Unpack":
        assert not isinstance(annotation.slice, str)
        fields: Class = function.modules_collection[annotation.slice.canonical_path]
        function.parameters = Parameters(*known[:-1], *map(parameter, fields.attributes.values()))


def parameter(field: Any) -> Parameter:  # noqa: ANN401 - Griffe's attribute
    """Return the parameter that a field is."""
    kind = ParameterKind.keyword_only
    return Parameter(field.name, annotation=field.annotation, kind=kind, default="...")
