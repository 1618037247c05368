"""The facts of an operator -> the plan that the native dispatcher of the live tier runs.

Plain tuples and dictionaries, with arguments by their index in the schema: native/live reads them
once, when the operator is registered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typing_extensions import assert_never

from opwright.kit.declare.checks import (
    MemberCheck,
    RankCheck,
    SizeCheck,
    SpanCheck,
    ValueCheck,
    arguments_of_check,
)
from opwright.kit.declare.rules import (
    Cpp,
    DtypeArgument,
    DtypeSet,
    Promoted,
    SameDtype,
    ShapeFunction,
)
from opwright.kit.declare.shape import (
    Argument,
    Binary,
    Broadcast,
    Const,
    Dim,
    Element,
    Length,
    Rank,
    Reduced,
    Sizes,
    Span,
)
from opwright.kit.declare.words import dtype_texts, texts_of_check
from opwright.kit.derive.facts import (
    DtypeOfTensor,
    FromArgument,
    FromConstant,
    FromGenerator,
    FromOutput,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.kit.declare.checks import Check
    from opwright.kit.declare.rules import DtypeRule
    from opwright.kit.declare.shape import Item, Shape
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


def native_check(check: Check, places: dict[str, int]) -> tuple[tuple[Any, ...], list[int]]:
    """Return a check with the arguments that it is about."""
    texts = texts_of_check(check)
    used = sorted(places[name] for name in arguments_of_check(check))
    match check:
        case RankCheck(tensor=tensor, rank=rank, at_least=at_least):
            return ("rank", places[tensor], rank, at_least, texts), used
        case SizeCheck(tensor=tensor, axis=axis, size=size):
            return ("size", places[tensor], axis, native_item(size, places), texts), used
        case SpanCheck(span=span, other=other):
            one, another = native_shape((span,), places), native_shape((other,), places)
            return ("span", one, another, texts), used
        case ValueCheck(left=left, comparison=comparison, right=right):
            sizes = native_item(left, places), native_item(right, places)
            return ("value", sizes[0], comparison, sizes[1], texts), used
        case MemberCheck(argument=argument, values=values):
            return ("member", places[argument], list(values), texts), used
        case _:
            assert_never(check)


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


def native_dtype(rule: DtypeRule, places: dict[str, int]) -> tuple[Any, ...]:
    """Return a dtype rule."""
    match rule:
        case DtypeSet(names):
            return ("fixed", names[0])
        case SameDtype(tensor):
            return ("like", places[tensor])
        case Promoted(tensors):
            return ("promote", [places[name] for name in tensors])
        case DtypeArgument(name, otherwise):
            return ("argument", places[name], native_dtype(otherwise, places))
        case Cpp():
            raise AssertionError(rule)  # the caller has asked is_native
        case _:
            assert_never(rule)


def native_shape(shape: Shape, places: dict[str, int]) -> list[tuple[Any, ...]]:
    """Return a shape."""
    return [native_item(item, places) for item in shape]


def native_item(item: Item, places: dict[str, int]) -> tuple[Any, ...]:
    """Return one item of a shape."""
    match item:
        case Const(value):
            return ("const", value)
        case Dim(axis=axis):
            return ("dim", native_tensor(item, places), axis)
        case Rank():
            return ("rank", native_tensor(item, places))
        case Argument(name):
            return ("arg", places[name])
        case Length(name):
            return ("len", places[name])
        case Element(name, index):
            return ("elem", places[name], index)
        case Binary(operation, left, right):
            return (operation, native_item(left, places), native_item(right, places))
        case Span(start=start, stop=stop):
            return ("span", native_tensor(item, places), start, stop)
        case Sizes(name):
            return ("sizes", places[name])
        case Broadcast(shapes):
            return ("broadcast", [native_shape(each, places) for each in shapes])
        case Reduced(dims=dims, keepdim=keepdim):
            return (
                "reduced",
                native_tensor(item, places),
                None if dims is None else places[dims],
                None if keepdim is None else places[keepdim],
            )
        case _:
            assert_never(item)


def native_tensor(
    part: Dim | Rank | Span | Reduced, places: dict[str, int]
) -> int | tuple[int, int]:
    """Return the tensor that something is of: an argument, or an argument and an index."""
    place = places[part.tensor]
    return place if part.index is None else (place, part.index)
