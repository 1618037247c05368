"""The facts of an operator -> the plan that the native dispatcher of the live tier runs.

Plain tuples and dictionaries, with arguments by their index in the schema: native/live reads them
once, when the operator is registered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typing_extensions import assert_never

from opwright.kit.declare.rules import (
    Cpp,
    DtypeSet,
    SameDtype,
    ShapeFunction,
)
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
    from collections.abc import Iterator

    from opwright.kit.derive.facts import OperatorFacts, Output, Source

__all__ = ["is_native", "native_plan"]


def is_native(facts: OperatorFacts) -> bool:
    """Return whether the native dispatcher alone can run the operator.

    It cannot where a rule is a Python function that is no data, or C++.
    """
    return facts.call is not None and not any(
        isinstance(rule, ShapeFunction | Cpp)
        for output in facts.outputs
        for rule in (output.shape, output.dtype)
    )


def native_plan(facts: OperatorFacts) -> dict[str, Any]:
    """Return the plan."""
    assert facts.call is not None
    places = {argument.name: index for index, argument in enumerate(facts.schema.arguments)}
    new = [output for output in facts.outputs if output.is_new]
    numbers = {output.name: index for index, output in enumerate(new)}
    returned = sorted(
        (output for output in facts.outputs if output.result is not None),
        key=lambda output: output.result or 0,
    )
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
            for output in returned
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
