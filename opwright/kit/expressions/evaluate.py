"""Shapes as data -> sizes, for given arguments. Sizes may be symbolic.

Arguments are given by name: anything with `shape` for a tensor, numbers and sequences of numbers
for the rest. Nothing here compares sizes but broadcasting, which symbolic sizes have their own for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from typing_extensions import assert_never

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
    from collections.abc import Callable, Mapping, Sequence

    from opwright.kit.expressions.shape import Item, Operation, Shape, Size

__all__ = ["Symbolic", "evaluate", "evaluate_size"]


class Symbolic(Protocol):
    """Parts of torch that handle symbolic sizes without deciding their values."""

    def sym_min(self, a: Any, b: Any, /) -> Any:  # noqa: ANN401 - an int or a SymInt
        """Return the smaller one."""

    def sym_max(self, a: Any, b: Any, /) -> Any:  # noqa: ANN401 - an int or a SymInt
        """Return the larger one."""

    def broadcast(self, shapes: Sequence[tuple[Any, ...]], /) -> tuple[Any, ...]:
        """Return what shapes become together; ValueError if they do not fit."""


OPERATIONS: dict[Operation, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "ceildiv": lambda a, b: (a + b - 1) // b,
    "%": lambda a, b: a % b,
    "min": min,
    "max": max,
}


def evaluate(
    shape: Shape, arguments: Mapping[str, Any], torch: Symbolic | None = None
) -> tuple[Any, ...]:
    """Return the sizes.

    Parameters
    ----------
    torch
        Given if sizes may be symbolic.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> x = SimpleNamespace(shape=(2, 3, 5))
    >>> evaluate((Span("x", 0, -1), Binary("ceildiv", Dim("x", -1), Const(2))), {"x": x})
    (2, 3, 3)
    """
    return tuple(size for item in shape for size in evaluate_item(item, arguments, torch))


def evaluate_item(
    item: Item, arguments: Mapping[str, Any], torch: Symbolic | None
) -> Sequence[Any]:
    """Return the sizes of one item."""
    match item:
        case Span(start=start, stop=stop):
            return tuple(shape_of(item, arguments))[start:stop]
        case Sizes(name):
            return as_list(arguments[name])
        case Broadcast(shapes):
            parts = [evaluate(each, arguments, torch) for each in shapes]
            return broadcast(parts) if torch is None else torch.broadcast(parts)
        case Reduced():
            return reduce(item, arguments)
        case _:
            return (evaluate_size(item, arguments, torch),)


def evaluate_size(size: Size, arguments: Mapping[str, Any], torch: Symbolic | None = None) -> Any:  # noqa: ANN401 - an int or a SymInt
    """Return one size.

    Raises
    ------
    ValueError
        It divides by 0.
    IndexError
        It names an element of a list that is too short.
    """
    match size:
        case Const(value):
            return value
        case Dim(axis=axis):
            return shape_of(size, arguments)[axis]
        case Rank():
            return len(shape_of(size, arguments))
        case Argument(name):
            return arguments[name]
        case Length(name):
            return len(arguments[name])
        case Element(name, index):
            assert index != "i", "places.put_at comes before"
            return take_element(as_list(arguments[name]), index, name, "element")
        case Binary(operation, left, right):
            values = (
                evaluate_size(left, arguments, torch),
                evaluate_size(right, arguments, torch),
            )
            if torch is not None and operation in {"min", "max"}:
                return getattr(torch, f"sym_{operation}")(*values)
            try:
                return OPERATIONS[operation](*values)
            except ZeroDivisionError:
                # As the kernels in C++ say it.
                message = f"the rule for an output's size divides {values[0]} by 0"
                raise ValueError(message) from None
        case _:
            assert_never(size)


def shape_of(part: Dim | Rank | Span | Reduced, arguments: Mapping[str, Any]) -> Sequence[Any]:
    """Return the shape of the tensor that something is of; not copied, as it may know a part only.

    Raises
    ------
    IndexError
        It is of an element that the list does not have.
    """
    value = arguments[part.tensor]
    if part.index is not None:
        assert part.index != "i", "places.put_at comes before"
        value = take_element(value, part.index, part.tensor, "tensor")
    shape: Sequence[Any] = value.shape
    return shape


def take_element(values: Sequence[Any], index: int, argument: str, noun: str) -> Any:  # noqa: ANN401 - of any list
    """Return one element of an argument that is a list.

    Raises
    ------
    IndexError
        The list is too short.
    """
    count = len(values)
    if not -count <= index < count:
        # The text of the kernels in C++ (emit/cpp/text/tensors.h).
        message = (
            f"argument '{argument}' has {count} {noun}(s), so there is none with index {index}"
        )
        raise IndexError(message)
    return values[index]


def as_list(value: Any) -> Sequence[Any]:  # noqa: ANN401 - ints or SymInts
    """Return an int list, for which PyTorch also takes a single int (`int[2]`)."""
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def broadcast(shapes: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return what shapes become together.

    Raises
    ------
    ValueError
        They do not fit together.
    """
    rank = max(map(len, shapes))
    sizes: list[Any] = []
    for axis in range(-rank, 0):
        wide: Any = 1
        for shape in shapes:
            if -axis > len(shape) or shape[axis] == 1:
                continue
            if wide != 1 and wide != shape[axis]:
                message = f"shapes {', '.join(map(str, shapes))} cannot be broadcast together"
                raise ValueError(message)
            wide = shape[axis]
        sizes.append(wide)
    return tuple(sizes)


def wrap(axis: int, rank: int) -> int:
    """Return an axis counted from the first; a tensor without axes has 0 and -1, as in PyTorch.

    Raises
    ------
    IndexError
        There is no such axis.
    """
    wide = max(rank, 1)
    if not -wide <= axis < wide:
        message = f"axis {axis} of a tensor with {rank} axes"
        raise IndexError(message)
    return axis % wide


def reduce(item: Reduced, arguments: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return a shape after a reduction.

    Raises
    ------
    IndexError
        The tensor has no such axis.
    """
    shape = tuple(shape_of(item, arguments))
    given = arguments[item.dims] if item.dims else None
    dims = () if given is None else as_list(given)
    axes = {wrap(axis, len(shape)) for axis in dims} if dims else set(range(len(shape)))
    keep = bool(item.keepdim and arguments[item.keepdim])
    kept = (
        1 if axis in axes else size for axis, size in enumerate(shape) if keep or axis not in axes
    )
    return tuple(kept)
