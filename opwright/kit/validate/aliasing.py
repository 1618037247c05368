"""Rules for alias annotations, as far as the schema alone shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.kit.validate.errors import (
    InPlaceNameError,
    MutatedResultError,
    OutVariantError,
    ResultNameError,
    SharedAliasError,
    ViewError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.errors import OpwrightError
    from opwright.kit.validate.subject import Subject

__all__ = ["RULES"]


def in_place_name(subject: Subject) -> Iterator[OpwrightError]:
    """Check that an operator whose name ends with _ writes an argument."""
    schema = subject.schema
    if schema.name.endswith("_") and not schema.name.endswith("__") and not schema.mutated:
        first = schema.arguments[0] if schema.arguments else None
        fix = None
        if first is not None and first.type.has_tensors:
            text = str(first.type).replace("Tensor", "Tensor(a!)", 1)
            fix = f"annotate what is written ({text} {first.name}), or drop the _ of the name"
        yield InPlaceNameError(where=subject.where(), got=repr(schema.name), fix=fix)


def views(subject: Subject) -> Iterator[OpwrightError]:
    """Check that alias sets are written, and only of tensors; other operators may make views."""
    for argument in subject.schema.arguments:
        where = subject.where(f"argument {argument.name!r}")
        is_view = argument.alias is not None and not argument.alias.is_write
        if is_view and subject.operator.call is not False:
            yield ViewError(where=where, got=str(argument))
        elif argument.is_written and not argument.type.has_tensors:
            fix = "leave the annotation out: only tensors are written"
            yield ViewError(where=where, got=str(argument), fix=fix)
    for index, result in enumerate(subject.schema.results):
        if result.alias is not None and not result.alias.is_write:
            source = subject.schema.aliased_argument(result)
            if source is not None and source.is_written:
                yield ViewError(
                    where=subject.where(f"result {index}"),
                    got=str(result),
                    allowed=[f"Tensor({result.alias.name}!)"],
                    fix=f"annotate it as the argument {source.name!r} is",
                )


def out_variant(subject: Subject) -> Iterator[OpwrightError]:
    """Check that an out= operator returns what it writes, or nothing."""
    schema = subject.schema
    if not schema.is_out_variant or not schema.results:
        return
    written = [argument.name for argument in schema.mutated]
    sources = [schema.aliased_argument(result) for result in schema.results]
    if [None if source is None else source.name for source in sources] != written:
        types = [f"{argument.type.base.value}{argument.alias}" for argument in schema.mutated]
        text = types[0] if len(types) == 1 else f"({', '.join(types)})"
        yield OutVariantError(
            where=subject.where("results"),
            got=", ".join(map(str, schema.results)),
            allowed=[f"-> {text}", "-> ()"],
        )


def check_shared(subject: Subject) -> Iterator[OpwrightError]:
    """Check that no two results are one argument."""
    sets = [result.alias.name for result in subject.schema.results if result.alias is not None]
    if len(set(sets)) < len(sets):
        got = ", ".join(map(str, subject.schema.results))
        yield SharedAliasError(where=subject.where("results"), got=got)


def result_names(subject: Subject) -> Iterator[OpwrightError]:
    """Check that a result with the name of an argument is that argument."""
    schema = subject.schema
    for result, name in zip(schema.results, schema.output_names(), strict=True):
        argument = schema.argument(name)
        if argument is None or result.alias is not None:
            continue
        where = subject.where(f"result {name!r}")
        if argument.is_written and result.name is not None:
            fix = f"write {result.type.base.value}{argument.alias} for the result, or rename it"
            yield MutatedResultError(where=where, got=str(result), fix=fix)
        else:
            yield ResultNameError(
                where=where, got=f"{str(result)!r} beside the argument {str(argument)!r}"
            )


RULES = (in_place_name, views, out_variant, check_shared, result_names)
