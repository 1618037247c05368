"""Rules on TorchAir converters against the schemas of their operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.lint.finding import Problem
from opwright.lint.signatures import compare_defaults, compare_names, match

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.lint.definitions import Converter, Definition, Place
    from opwright.lint.libraries import Operator, Project
    from opwright.lint.schema import ForeignSchema

__all__ = ["converter_arguments", "converter_defaults", "converter_extra", "converter_unused"]

# TorchAir's additions to the arguments of the operator.
ADDED = frozenset({"meta_outputs", "meta_output"})


def converters(
    project: Project,
) -> Iterator[tuple[Operator, Definition, ForeignSchema, Converter]]:
    """Yield converters whose operators' schemas the sources have."""
    for _, operator in project.operators():
        definition = operator.definition
        if definition is None or definition.schema is None:
            continue
        for each in operator.converters:
            if not each.function.only_raises:
                yield operator, definition, definition.schema, each


def converter_arguments(project: Project) -> Iterator[Problem]:
    """Yield converters that do not take what the graph gives them."""
    for operator, definition, schema, converter in converters(project):
        for wrong in compare_names(schema, converter.function, ADDED):
            yield Problem(
                place=converter.function.place,
                operator=operator.qualified,
                message=f"the converter of {operator.qualified} {wrong}",
                related=((definition.place, "the schema"),),
            )


def converter_defaults(project: Project) -> Iterator[Problem]:
    """Yield converters whose defaults differ from the schema's."""
    for operator, definition, schema, converter in converters(project):
        for wrong in compare_defaults(schema, converter.function, ADDED):
            yield Problem(
                place=converter.function.place,
                operator=operator.qualified,
                message=f"the converter of {operator.qualified} {wrong}",
                related=((definition.place, "the schema"),),
            )


def converter_extra(project: Project) -> Iterator[Problem]:
    """Yield converters with parameters that no argument of any of their operators is for."""
    takers: dict[Place, set[str]] = {}
    for _, _, schema, converter in converters(project):
        pairs, _, _ = match(schema, converter.function, ADDED)
        taken = takers.setdefault(converter.function.place, set())
        taken |= {each.name for _, each in pairs}
    for operator, definition, schema, converter in converters(project):
        function = converter.function
        _, _, extra = match(schema, function, ADDED)
        names = [
            each.name
            for each in extra
            if each.name not in takers[function.place] and each.default is not None
        ]
        if names:
            yield Problem(
                place=function.place,
                operator=operator.qualified,
                message=f"the converter of {operator.qualified} takes {', '.join(names)}, "
                "which the schema does not have",
                related=((definition.place, "the schema"),),
            )


def converter_unused(project: Project) -> Iterator[Problem]:
    """Yield converters that take arguments and drop them."""
    for operator, definition, schema, converter in converters(project):
        function = converter.function
        pairs, _, _ = match(schema, function, ADDED)
        unused = [each.name for _, each in pairs if each.name not in function.names]
        if unused:
            yield Problem(
                place=function.place,
                operator=operator.qualified,
                message=f"the converter of {operator.qualified} drops {', '.join(unused)}",
                related=((definition.place, "the schema"),),
            )
