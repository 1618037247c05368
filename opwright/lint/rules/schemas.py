"""Rules on schemas alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from opwright.lint.definitions import Language
from opwright.lint.finding import Problem
from opwright.lint.libraries import COMPOSITE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.lint.definitions import Definition
    from opwright.lint.libraries import Project
    from opwright.lint.schema import ForeignArgument, ForeignSchema

__all__ = [
    "bare_write",
    "default_type",
    "derivative_schema",
    "find_all_written",
    "find_shared_aliases",
    "find_unknown_aliases",
    "find_unreadable_schemas",
    "void_pure",
]

NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
QUOTED = re.compile(r"""(?:"[^"]*"|'[^']*')""")
INTEGERS = frozenset({"int", "SymInt"})
# A tensor among so many others that it is probably no intention to read none of them.
MOST_OUTPUTS = 3


def schemas(project: Project) -> Iterator[tuple[str, Definition, ForeignSchema]]:
    """Yield written schemas that are readable, with their operators' names."""
    for _, operator in project.operators():
        for each in operator.definitions:
            if each.schema is not None:
                yield operator.qualified, each, each.schema


def find_unreadable_schemas(project: Project) -> Iterator[Problem]:
    """Yield texts that torch refuses."""
    for _, operator in project.operators():
        for each in operator.definitions:
            if each.problem is not None:
                yield Problem(
                    place=each.place,
                    operator=operator.qualified,
                    message=f"the schema of {operator.qualified} is none: {each.problem}",
                )


def bare_write(project: Project) -> Iterator[Problem]:
    """Yield schemas with Tensor! without the letter of an alias set."""
    for name, definition, schema in schemas(project):
        found = [
            str(each.name) for each in schema.arguments if each.alias == "" and each.is_written
        ]
        if found and not definition.is_inferred:
            yield Problem(
                place=definition.place,
                operator=name,
                message=f"{name} writes Tensor! without a letter: {', '.join(found)}",
            )


def find_shared_aliases(project: Project) -> Iterator[Problem]:
    """Yield schemas with one alias set on several arguments of which one is written."""
    for name, definition, schema in schemas(project):
        sets: dict[str, list[ForeignArgument]] = {}
        for each in schema.arguments:
            if each.alias:
                sets.setdefault(each.alias, []).append(each)
        for letter, group in sets.items():
            if len(group) > 1 and any(each.is_written for each in group):
                names = ", ".join(str(each.name) for each in group)
                yield Problem(
                    place=definition.place,
                    operator=name,
                    message=f"{name} has one alias set ({letter}) for {names}",
                )


def find_unknown_aliases(project: Project) -> Iterator[Problem]:
    """Yield schemas with a result in an alias set that no argument has."""
    for name, definition, schema in schemas(project):
        known = {each.alias for each in schema.arguments if each.alias}
        for each in schema.results:
            if each.alias and each.alias != "*" and each.alias not in known:
                yield Problem(
                    place=definition.place,
                    operator=name,
                    message=f"{name} returns a tensor of alias set ({each.alias}), "
                    "which no argument has",
                )


def default_type(project: Project) -> Iterator[Problem]:
    """Yield arguments whose default does not fit their type."""
    for name, definition, schema in schemas(project):
        if definition.is_inferred:
            continue
        wrong = [each for each in schema.arguments if not is_fitting(each)]
        if wrong:
            shown = ", ".join(f"{each.base} {each.name}={each.default}" for each in wrong)
            yield Problem(
                place=definition.place,
                operator=name,
                message=f"{name} has defaults that do not fit their types: {shown}",
            )


def is_fitting(argument: ForeignArgument) -> bool:
    """Return whether a default fits its argument's type; unknown types fit all."""
    default = argument.default
    if default is None:
        return True
    if default == "None":
        return argument.is_optional or argument.base in {"NoneType", "Any", "t"}
    if argument.is_list:
        return default.startswith("[") or (bool(NUMBER.fullmatch(default)) or default in BOOLEANS)
    if argument.base in INTEGERS:
        plain = NUMBER.fullmatch(default) is not None
        if plain and any(sign in default for sign in ".eE"):
            return False
        return plain or (default not in BOOLEANS and not QUOTED.fullmatch(default))
    if argument.base == "float":
        return default not in BOOLEANS and not QUOTED.fullmatch(default)
    if argument.base == "bool":
        return default in BOOLEANS or default in {"0", "1"}
    if argument.base == "str":
        return QUOTED.fullmatch(default) is not None
    return True


BOOLEANS = frozenset({"True", "False", "true", "false"})


def derivative_schema(project: Project) -> Iterator[Problem]:
    """Yield entries of derivatives.yaml that do not fit the operator's schema."""
    known = {
        operator.name: operator.definitions
        for library, operator in project.operators()
        if library.namespace == "npu"
    }
    for each in project.files:
        for derivative in each.derivatives:
            definitions = [one for one in known.get(derivative.name, ()) if one.schema is not None]
            if not definitions:
                continue
            first = definitions[0]
            wanted = shape_of(derivative.schema)
            if all(one.schema is None or shape_of(one.schema) != wanted for one in definitions):
                message = "repeats another schema than that of the operator"
            elif unknown := find_unknown_inputs(derivative.schema, derivative.inputs):
                message = f"has formulas for {', '.join(unknown)}, which are no arguments"
            else:
                continue
            yield Problem(
                place=derivative.place,
                operator=f"npu::{derivative.name}",
                message=f"the derivative of npu::{derivative.name} {message}",
                related=((first.place, "the schema"),),
            )


def shape_of(schema: ForeignSchema) -> list[tuple[str | None, str, bool, bool]]:
    """Return what makes two schemas take the same arguments."""
    return [(each.name, each.base, each.is_list, each.is_optional) for each in schema.arguments]


def find_unknown_inputs(schema: ForeignSchema, inputs: tuple[str, ...]) -> list[str]:
    """Return the names of formulas that belong to no argument and no result."""
    names = {each.name for each in (*schema.arguments, *schema.results)}
    return [each for each in inputs if each not in names and not each.startswith("result")]


def void_pure(project: Project) -> Iterator[Problem]:
    """Yield operators that take tensors, return nothing, and declare no write."""
    for _, operator in project.operators():
        definition = operator.definition
        schema = None if definition is None else definition.schema
        if definition is None or schema is None or schema.results or schema.written:
            continue
        if operator.qualified in project.effectful:
            continue
        if not schema.tensors or any(each.key == COMPOSITE for each in operator.implementations):
            continue
        if definition.is_inferred and definition.language is Language.CPP:
            continue
        names = ", ".join(str(each.name) for each in schema.tensors)
        yield Problem(
            place=definition.place,
            operator=operator.qualified,
            message=f"{operator.qualified} returns nothing and declares no write to {names}",
        )


def find_all_written(project: Project) -> Iterator[Problem]:
    """Yield operators that declare every one of their tensors as written."""
    for name, definition, schema in schemas(project):
        if definition.is_inferred or len(schema.tensors) < MOST_OUTPUTS:
            continue
        if all(each.is_written for each in schema.tensors):
            names = ", ".join(str(each.name) for each in schema.tensors)
            yield Problem(
                place=definition.place,
                operator=name,
                message=f"{name} declares all of its tensors as written: {names}",
            )
