"""Rules on what kernels write and return, against what the schema declares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.lint.definitions import Language, UseKind
from opwright.lint.effects import Verdict, effect_on
from opwright.lint.finding import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.lint.definitions import Definition, Function, Implementation, Parameter
    from opwright.lint.libraries import Operator, Project
    from opwright.lint.schema import ForeignArgument, ForeignSchema

__all__ = [
    "double_for_float",
    "find_over_declared",
    "find_returned_arguments",
    "find_returned_results",
    "find_undeclared_writes",
    "mutable_reference",
]


def kernels(
    project: Project,
) -> Iterator[tuple[Operator, Definition, ForeignSchema, Implementation, Function]]:
    """Yield kernels whose functions the sources have."""
    for _, operator in project.operators():
        definition = operator.definition
        if definition is None or definition.schema is None:
            continue
        schema = definition.schema
        for each in operator.kernels:
            for function in project.resolve(each, len(schema.arguments)):
                yield operator, definition, schema, each, function


def pairs(schema: ForeignSchema, function: Function) -> Iterator[tuple[ForeignArgument, Parameter]]:
    """Yield the tensors of a schema with the parameters that they are given to."""
    if function.language is Language.PYTHON:
        named = {each.name: each for each in function.parameters if each.keyword_only}
        positional = [each for each in function.parameters if not each.keyword_only]
        plain = [each for each in schema.arguments if not each.keyword_only]
        found = [*zip(plain, positional, strict=False)]
        for each in schema.arguments:
            if each.keyword_only and each.name:
                given = named.get(each.name) or next(
                    (one for one in positional if one.name == each.name), None
                )
                if given is not None:
                    found.append((each, given))
    else:
        found = [*zip(schema.arguments, function.parameters, strict=False)]
    for argument, parameter in found:
        if argument.is_tensor and parameter.name:
            yield argument, parameter


def yield_undeclared(project: Project) -> Iterator[tuple[Operator, str, Problem]]:
    """Yield writes to arguments that the schema declares as read only."""
    seen = set()
    for operator, definition, schema, _, function in kernels(project):
        for argument, parameter in pairs(schema, function):
            if argument.is_written or (operator.qualified, argument.name) in seen:
                continue
            effect = effect_on(project, function, parameter.name)
            if effect.verdict is not Verdict.WRITTEN or effect.place is None:
                continue
            seen.add((operator.qualified, argument.name))
            yield (
                operator,
                str(argument.name),
                Problem(
                    place=effect.place,
                    operator=operator.qualified,
                    message=f"{operator.qualified} writes {argument.name} ({effect.text}), "
                    "but its schema does not declare that",
                    related=(
                        (definition.place, "the schema"),
                        *(
                            ((effect.origin, "the write"),)
                            if effect.origin is not None and effect.origin != effect.place
                            else ()
                        ),
                    ),
                ),
            )


def find_undeclared_writes(project: Project) -> Iterator[Problem]:
    """Yield writes to arguments that the schema declares as read only."""
    for _, _, problem in yield_undeclared(project):
        yield problem


def mutable_reference(project: Project) -> Iterator[Problem]:
    """Yield kernels that take, among const Tensor&, arguments by Tensor& that are not declared."""
    certain = {(operator.qualified, name) for operator, name, _ in yield_undeclared(project)}
    seen = set()
    for operator, definition, schema, _, function in kernels(project):
        given = [*pairs(schema, function)]
        if not any(each.is_constant and each.is_reference for _, each in given):
            continue
        found = [
            str(argument.name)
            for argument, parameter in given
            if is_mutable(parameter)
            and argument.alias is None
            and (operator.qualified, str(argument.name)) not in certain
            and effect_on(project, function, parameter.name).verdict is not Verdict.READ
        ]
        if not found or operator.qualified in seen:
            continue
        seen.add(operator.qualified)
        yield Problem(
            place=definition.place,
            operator=operator.qualified,
            message=f"the kernel of {operator.qualified} takes {', '.join(found)} by Tensor&, "
            "others by const Tensor&; the schema declares no write",
            related=((function.place, "the kernel"),),
        )


def is_mutable(parameter: Parameter) -> bool:
    """Return whether a parameter is a Tensor&."""
    return (
        parameter.is_reference
        and not parameter.is_constant
        and parameter.type.replace(" ", "").removesuffix("&").endswith("Tensor")
    )


def find_over_declared(project: Project) -> Iterator[Problem]:
    """Yield arguments declared as written that every kernel only reads."""
    verdicts: dict[tuple[str, str], list[Verdict]] = {}
    places: dict[tuple[str, str], tuple[Definition, Function]] = {}
    implemented: dict[str, int] = {}
    for operator, definition, schema, _, function in kernels(project):
        implemented[operator.qualified] = len(operator.kernels)
        for argument, parameter in pairs(schema, function):
            # The only write of an operator without results is what keeps it in its place.
            is_token = not schema.results and len(schema.written) == 1
            if argument.is_written and not is_token:
                key = (operator.qualified, str(argument.name))
                effect = effect_on(project, function, parameter.name)
                verdicts.setdefault(key, []).append(effect.verdict)
                places[key] = (definition, function)
    for key, found in verdicts.items():
        operator_name, argument_name = key
        complete = len(found) >= implemented[operator_name]
        if complete and all(each is Verdict.READ for each in found):
            definition, function = places[key]
            yield Problem(
                place=definition.place,
                operator=operator_name,
                message=f"{operator_name} declares {argument_name} as written, "
                "but its kernel only reads it",
                related=((function.place, "the kernel"),),
            )


def find_returned_arguments(project: Project) -> Iterator[Problem]:
    """Yield kernels that return arguments without an alias annotation, one problem per kernel."""
    named = {each.operator for each in find_returned_results(project)}
    seen = set()
    for operator, definition, schema, _, function in kernels(project):
        if any(each.alias is not None for each in schema.results):
            continue
        if not any(each.is_tensor for each in schema.results) or operator.qualified in named:
            continue
        given = {
            parameter.name: str(argument.name) for argument, parameter in pairs(schema, function)
        }
        uses = [
            each
            for each in function.uses
            if each.parameter in given and each.kind is UseKind.RETURN
        ]
        if not uses or (operator.qualified, function.place) in seen:
            continue
        seen.add((operator.qualified, function.place))
        names = ", ".join(dict.fromkeys(given[each.parameter] for each in uses))
        yield Problem(
            place=uses[0].place,
            operator=operator.qualified,
            message=f"{operator.qualified} returns its argument {names}; "
            "the schema declares a new tensor",
            related=((definition.place, "the schema"),),
        )


def find_returned_results(project: Project) -> Iterator[Problem]:
    """Yield schemas whose results have the names of arguments that they declare as written."""
    for _, operator in project.operators():
        for definition in operator.definitions:
            schema = definition.schema
            if schema is None or definition.language is Language.YAML:
                continue
            names = {each.name for each in schema.written}
            found = [str(each.name) for each in schema.results if each.name in names]
            plain = [each for each in schema.results if each.name in names and each.alias is None]
            if found and plain:
                yield Problem(
                    place=definition.place,
                    operator=operator.qualified,
                    message=f"{operator.qualified} returns what it writes, "
                    f"{', '.join(found)}, without an alias annotation on the result",
                )


def double_for_float(project: Project) -> Iterator[Problem]:
    """Yield C++ doubles given to aclnn functions that take float."""
    for files in project.functions.values():
        for function in files:
            for each in function.passed:
                if each.type not in {"double", "const double"}:
                    continue
                prototype = project.aclnn_function(each.function, each.count, each.place)
                if prototype is None or prototype.parameters[each.position].type != "float":
                    continue
                name = prototype.parameters[each.position].name
                yield Problem(
                    place=each.place,
                    operator=function.name,
                    message=f"{each.text} is a double, but {each.function} takes float {name}: "
                    "the function reads garbage",
                )
