"""Expressions and rules -> tuples for native/live; arguments go by their index in the schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typing_extensions import assert_never

from opwright.kit.declare.rules import Cpp, DtypeArgument, DtypeSet, Promoted, SameDtype
from opwright.kit.expressions.conditions import (
    MemberCheck,
    RankCheck,
    SizeCheck,
    SpanCheck,
    ValueCheck,
    arguments_of_check,
)
from opwright.kit.expressions.messages import texts_of_check
from opwright.kit.expressions.shape import (
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

if TYPE_CHECKING:
    from opwright.kit.declare.rules import DtypeRule
    from opwright.kit.expressions.conditions import Check
    from opwright.kit.expressions.shape import Item, Shape

__all__ = ["native_check", "native_dtype", "native_shape"]


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


def native_dtype(rule: DtypeRule, places: dict[str, int]) -> tuple[Any, ...]:
    """Return a dtype rule."""
    match rule:
        case DtypeSet(names):
            return ("fixed", names[0])
        case SameDtype(tensor):
            return ("like", places[tensor])
        case Promoted(tensors):
            return ("promote", [places[name] for name in tensors])
        case DtypeArgument(name, otherwise) if otherwise is not None:
            return ("argument", places[name], native_dtype(otherwise, places))
        case DtypeArgument(name):
            return ("argument", places[name])
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
    assert part.index != "i", "derive.plan: Python allocates lists of results"
    return place if part.index is None else (place, part.index)
