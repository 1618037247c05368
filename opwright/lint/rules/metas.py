"""Rules on Metas: sizes that are frozen, and arguments that do not arrive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.lint.definitions import Language
from opwright.lint.effects import find_freezing, inner_functions
from opwright.lint.finding import Problem
from opwright.lint.signatures import compare_defaults, compare_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.lint.definitions import Definition, Function, Implementation, Site
    from opwright.lint.libraries import Operator, Project
    from opwright.lint.schema import ForeignSchema

__all__ = ["find_frozen_sizes", "find_hard_coded_sizes", "kernel_arguments", "kernel_defaults"]

MOST_SHOWN = 4


def metas(
    project: Project,
) -> Iterator[tuple[Operator, Definition | None, Implementation, Function]]:
    """Yield the functions of Metas."""
    for library in project.libraries:
        for operator in library.operators.values():
            definition = operator.definition
            schema = None if definition is None else definition.schema
            for each in operator.metas:
                count = None if schema is None else len(schema.arguments)
                for function in project.resolve(each, count):
                    yield operator, definition, each, function


def find_frozen_sizes(project: Project) -> Iterator[Problem]:
    """Yield Metas that read sizes as numbers, one problem per Meta."""
    done = set()
    for operator, definition, _, function in metas(project):
        schema = None if definition is None else definition.schema
        sites: list[Site] = []
        for inner, at in find_freezing(project, function):
            site = inner.frozen[at]
            if (
                schema is not None
                and inner is function
                and not names_tensor(site, function, schema)
            ):
                continue
            sites.append(site)
        if not sites or function.place in done:
            continue
        done.add(function.place)
        first = sites[0]
        shown = ", ".join(dict.fromkeys(each.text for each in sites[:MOST_SHOWN]))
        more = f" and {len(sites) - MOST_SHOWN} more" if len(sites) > MOST_SHOWN else ""
        yield Problem(
            place=first.place,
            operator=operator.qualified,
            message=f"the Meta of {operator.qualified} reads sizes as numbers: {shown}{more}",
            related=tuple((each.place, each.text) for each in sites[1:]),
        )


def names_tensor(site: Site, function: Function, schema: ForeignSchema) -> bool:
    """Return whether a site is about an argument that the schema says is a tensor."""
    if function.language is not Language.PYTHON or not site.about:
        return True
    positions = {each.name: at for at, each in enumerate(function.parameters)}
    at = positions.get(site.about)
    return at is None or at >= len(schema.arguments) or schema.arguments[at].is_tensor


def find_hard_coded_sizes(project: Project) -> Iterator[Problem]:
    """Yield Metas with a local constant named like an argument of the operator."""
    done = set()
    for operator, definition, _, function in metas(project):
        if definition is None or definition.schema is None:
            continue
        arguments = {str(each.name) for each in definition.schema.arguments}
        for inner in list_reached(project, function):
            own = {each.name for each in inner.parameters}
            for site in inner.constants:
                if site.about in arguments - own and site.place not in done:
                    done.add(site.place)
                    yield Problem(
                        place=site.place,
                        operator=operator.qualified,
                        message=f"the Meta of {operator.qualified} has {site.about} = {site.text} "
                        f"instead of its argument {site.about}",
                    )


def list_reached(project: Project, function: Function) -> list[Function]:
    """Return a function and those that it calls, directly."""
    found = [function]
    for name in sorted(function.calls):
        found += inner_functions(project, function, name)
    return found


def kernel_arguments(project: Project) -> Iterator[Problem]:
    """Yield Python kernels and Metas that do not take what the dispatcher gives them."""
    for operator, definition, implementation, function in python_kernels(project):
        assert definition.schema is not None
        for wrong in compare_names(definition.schema, function):
            yield Problem(
                place=function.place,
                operator=operator.qualified,
                message=f"the {word(implementation)} of {operator.qualified} {wrong}",
                related=((definition.place, "the schema"),),
            )


def kernel_defaults(project: Project) -> Iterator[Problem]:
    """Yield Python kernels and Metas whose defaults differ from the schema's."""
    for operator, definition, implementation, function in python_kernels(project):
        assert definition.schema is not None
        for wrong in compare_defaults(definition.schema, function):
            yield Problem(
                place=function.place,
                operator=operator.qualified,
                message=f"the {word(implementation)} of {operator.qualified} {wrong}",
                related=((definition.place, "the schema"),),
            )


def word(implementation: Implementation) -> str:
    """Return what an implementation is called."""
    return "Meta" if implementation.key == "Meta" else f"{implementation.key or 'device'} kernel"


def python_kernels(
    project: Project,
) -> Iterator[tuple[Operator, Definition, Implementation, Function]]:
    """Yield the Python functions that the dispatcher calls with the arguments of a schema."""
    done = set()
    for _, operator in project.operators():
        definition = operator.definition
        if definition is None or definition.schema is None or definition.is_inferred:
            continue
        for each in operator.implementations:
            function = each.kernel.function
            if function is None or each.language is not Language.PYTHON:
                continue
            key = (operator.qualified, function.place)
            if key not in done:
                done.add(key)
                yield operator, definition, each, function
