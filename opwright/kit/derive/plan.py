"""The facts of an operator -> the plan that the native dispatcher of the live tier runs.

Plain tuples and dictionaries, with arguments by their index in the schema: native/live reads them
once, when the operator is registered.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from typing_extensions import assert_never

from opwright.kit.declare.rules import (
    Cpp,
    DtypeSet,
    SameDtype,
    ShapeFunction,
)
from opwright.kit.declare.schema import Alias, Argument, Schema
from opwright.kit.derive.facts import (
    DtypeOfTensor,
    FromArgument,
    FromConstant,
    FromGenerator,
    FromOutput,
)
from opwright.kit.expressions.messages import dtype_texts
from opwright.kit.expressions.print_native import native_check, native_dtype, native_shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opwright.kit.derive.facts import OperatorFacts, Output, Source

__all__ = ["is_native", "native_facts", "native_plan"]


def is_native(facts: OperatorFacts) -> bool:
    """Return whether the native dispatcher alone can run the operator.

    It cannot where a rule is a Python function that is no data, or C++.
    """
    return facts.call is not None and not any(
        isinstance(rule, ShapeFunction | Cpp)
        for output in facts.outputs
        for rule in (output.shape, output.dtype)
    )


def native_facts(facts: OperatorFacts) -> OperatorFacts:
    """Return what the native dispatcher runs: the operator itself, or one that only writes.

    That one has no results: the caller allocates them, and passes them as arguments. It stands for
    an operator with a rule that is no data, or with a result that is a list or may be None.
    """
    assert facts.call is not None
    returns_tensors = not any(o.type.is_list or o.type.optional for o in facts.returned)
    if is_native(facts) and returns_tensors:
        return facts
    taken = {argument.name for argument in facts.schema.arguments}
    names = {o.name: make_unique(f"result_{o.name}", taken) for o in facts.outputs if o.is_new}
    written = [
        Argument(
            name=names[output.name],
            type=output.type,
            alias=Alias(name=f"result{index}", is_write=True),
            keyword_only=True,
        )
        for index, output in enumerate(facts.outputs)
        if output.is_new
    ]
    schema = Schema(
        name=f"_write_{facts.schema.name}",
        overload=facts.schema.overload,
        arguments=(*facts.schema.arguments, *written),
        results=(),
    )
    parameters = tuple(
        dataclasses.replace(parameter, source=rename_source(parameter.source, names))
        for parameter in facts.call.parameters
    )
    return dataclasses.replace(
        facts,
        schema=schema,
        outputs=(),
        checks=(),
        dtypes={},
        call=dataclasses.replace(facts.call, parameters=parameters),
        clones=(),
    )


def make_unique(name: str, taken: set[str]) -> str:
    """Return a name that no argument has."""
    return name if name not in taken else make_unique(f"{name}_", taken)


def rename_source(source: Source, names: Mapping[str, str]) -> Source:
    """Return the source of a parameter where outputs are arguments."""
    match source:
        case FromOutput(name):
            return FromArgument(names[name])
        case DtypeOfTensor(name) if name in names:
            return DtypeOfTensor(names[name])
        case _:
            return source


def native_plan(facts: OperatorFacts) -> dict[str, Any]:
    """Return the plan."""
    assert facts.call is not None
    places = {argument.name: index for index, argument in enumerate(facts.schema.arguments)}
    new = [output for output in facts.outputs if output.is_new]
    numbers = {output.name: index for index, output in enumerate(new)}
    return {
        "function": facts.call.function,
        "outputs": [native_output(output, places) for output in new],
        "parameters": [
            (parameter.ctype.value, native_source(parameter.source, places, numbers))
            for parameter in facts.call.parameters
        ],
        "returns": [
            ("output", numbers[output.name])
            if output.is_new
            else ("argument", places[output.argument or ""])
            for output in facts.returned
        ],
        "checks": [*dtype_checks(facts, places), *(native_check(c, places) for c in facts.checks)],
        "clone": [places[name] for name in facts.clones],
        "contiguous": [
            places[name]
            for name, layout in facts.operator.layouts.items()
            if layout == "contiguous"
        ],
    }


def dtype_checks(
    facts: OperatorFacts, places: dict[str, int]
) -> Iterator[tuple[tuple[Any, ...], list[int]]]:
    """Return the checks of dtypes."""
    for name, rule in facts.dtypes.items():
        argument = facts.schema.argument(name)
        if argument is None or not argument.type.has_tensors or rule == SameDtype(name):
            continue
        place, texts = places[name], dtype_texts(name)
        if isinstance(rule, DtypeSet):
            yield ("dtype", place, list(rule.names), texts), [place]
        else:
            yield ("dtype_like", place, native_dtype(rule, places), texts), [place]


def native_output(output: Output, places: dict[str, int]) -> dict[str, Any]:
    """Return how a new output is allocated."""
    assert output.dtype is not None
    assert isinstance(output.shape, tuple)
    return {
        "shape": native_shape(output.shape, places),
        "dtype": native_dtype(output.dtype, places),
    }


def native_source(
    source: Source, places: dict[str, int], numbers: dict[str, int]
) -> tuple[Any, ...]:
    """Return where a parameter's value comes from."""
    match source:
        case FromArgument(name, None):
            return ("argument", places[name])
        case FromArgument(name, otherwise):
            return ("argument_or", places[name], otherwise)
        case FromOutput(name):
            return ("output", numbers[name])
        case DtypeOfTensor(name):
            # As aclDataType, a tensor stands for its dtype.
            return ("output", numbers[name]) if name in numbers else ("argument", places[name])
        case FromGenerator(name, part):
            return (part, places[name])
        case FromConstant(value):
            return ("constant", value)
        case _:
            assert_never(source)
