"""A shape function -> a shape as data, by calling it with stand-ins that record what it computes.

A function that branches on sizes, or uses what has no counterpart in the data, cannot be lowered.
It then stays a Python function: the live tier and the wheel's Python part can use it, C++ cannot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from opwright.kit.expressions import shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from opwright.kit.declare.rules import ShapeFunction
    from opwright.kit.expressions.scope import Scope
    from opwright.kit.expressions.shape import Operation, Shape, Size

__all__ = ["lower"]


class NotLowerable(TypeError):  # noqa: N818 - no error: it ends a trial
    """The function does something that shapes as data cannot say.

    `[*x.shape]` asks for the length first, and goes on without one where that raises TypeError.
    """


class Traced:
    """A size that records what is done with it."""

    def __init__(self, size: Size) -> None:
        self.size = size

    def binary(self, operation: Operation, other: object, *, swapped: bool = False) -> Traced:
        """Record an operation."""
        right = as_size(other)
        pair = (right, self.size) if swapped else (self.size, right)
        return Traced(shape.Binary(operation, *pair))

    def __add__(self, other: object) -> Traced:
        return self.binary("+", other)

    def __radd__(self, other: object) -> Traced:
        return self.binary("+", other, swapped=True)

    def __sub__(self, other: object) -> Traced:
        return self.binary("-", other)

    def __rsub__(self, other: object) -> Traced:
        return self.binary("-", other, swapped=True)

    def __mul__(self, other: object) -> Traced:
        return self.binary("*", other)

    def __rmul__(self, other: object) -> Traced:
        return self.binary("*", other, swapped=True)

    def __floordiv__(self, other: object) -> Traced:
        return self.binary("//", other)

    def __rfloordiv__(self, other: object) -> Traced:
        return self.binary("//", other, swapped=True)

    def __mod__(self, other: object) -> Traced:
        return self.binary("%", other)

    def __rmod__(self, other: object) -> Traced:
        return self.binary("%", other, swapped=True)

    def __neg__(self) -> Traced:
        return Traced(shape.Binary("-", shape.Const(0), self.size))

    def refuse(self, *_: object) -> bool:
        """Refuse what would depend on the value."""
        raise NotLowerable

    __bool__ = __lt__ = __le__ = __gt__ = __ge__ = refuse
    __eq__ = refuse
    __ne__ = refuse
    __hash__ = None  # type: ignore[assignment]  # a traced size cannot be a key


class TracedShape:
    """A tensor's shape; its rank is known only if the tensor has a pattern without `*`."""

    def __init__(self, tensor: str, rank: int | None, index: int | None = None) -> None:
        self.tensor = tensor
        self.rank = rank
        self.index = index

    def __getitem__(self, index: int | slice) -> Traced | TracedSpan:
        if isinstance(index, slice):
            if index.step not in {None, 1}:
                raise NotLowerable
            span = shape.Span(self.tensor, index.start or 0, index.stop, self.index)
            return TracedSpan((span,))
        return Traced(shape.Dim(self.tensor, index, self.index))

    def __len__(self) -> int:
        if self.rank is None:
            raise NotLowerable
        return self.rank

    def __iter__(self) -> Iterator[Traced | TracedSpan]:
        if self.rank is None:
            return iter(self.whole())
        return (Traced(shape.Dim(self.tensor, axis, self.index)) for axis in range(self.rank))

    def whole(self) -> TracedSpan:
        """Return all axes."""
        return TracedSpan((shape.Span(self.tensor, index=self.index),))

    def __add__(self, other: object) -> TracedSpan:
        return self.whole() + other

    def __radd__(self, other: object) -> TracedSpan:
        return TracedSpan(items(other)) + self.whole()


class TracedSpan:
    """Part of a shape, to which other parts can be added."""

    def __init__(self, parts: Shape) -> None:
        self.parts = parts

    def __add__(self, other: object) -> TracedSpan:
        return TracedSpan((*self.parts, *items(other)))

    def __radd__(self, other: object) -> TracedSpan:
        return TracedSpan((*items(other), *self.parts))

    def __iter__(self) -> Iterator[TracedSpan]:
        yield self  # once, for all its axes: [*x.shape[:-1], n]


class TracedTensor:
    """A tensor of which only the shape can be asked."""

    def __init__(self, name: str, rank: int | None, index: int | None = None) -> None:
        self.shape = TracedShape(name, rank, index)

    @property
    def ndim(self) -> int | Traced:
        """Number of axes."""
        rank = self.shape.rank
        if rank is not None:
            return rank
        return Traced(shape.Rank(self.shape.tensor, self.shape.index))

    def dim(self) -> int | Traced:
        """Return the number of axes."""
        return self.ndim

    def size(self, axis: int | None = None) -> object:
        """Return one size, or all."""
        return self.shape if axis is None else self.shape[axis]


class TracedTensors:
    """A list of tensors of which an element can be asked; how many there are is not known."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getitem__(self, index: int) -> TracedTensor:
        if not isinstance(index, int):
            raise NotLowerable
        return TracedTensor(self.name, None, index)

    def __iter__(self) -> Iterator[TracedTensor]:
        raise NotLowerable

    def __len__(self) -> int:
        raise NotLowerable


def as_size(value: object) -> Size:
    """Return an operand as a size."""
    if isinstance(value, Traced):
        return value.size
    if isinstance(value, int) and not isinstance(value, bool):
        return shape.Const(value)
    raise NotLowerable


def items(value: object) -> Shape:
    """Return a result, or part of one, as items."""
    if isinstance(value, TracedSpan):
        return value.parts
    if isinstance(value, TracedShape):
        return value.whole().parts
    if isinstance(value, tuple | list):
        parts = cast("Sequence[object]", value)
        return tuple(item for part in parts for item in one_item(part))
    raise NotLowerable


def one_item(value: object) -> Shape:
    """Return one element of a result: a size, or the axes of a spread part."""
    return value.parts if isinstance(value, TracedSpan) else (as_size(value),)


def lower(rule: ShapeFunction, scope: Scope) -> Shape | None:
    """Return what the function computes; None if that cannot be said as data."""
    arguments: dict[str, object] = {}
    for argument in scope.arguments.values():
        kind = argument.type
        if kind.is_tensor and not kind.optional:
            arguments[argument.name] = TracedTensor(argument.name, scope.ranks.get(argument.name))
        elif kind.has_tensors and kind.is_list and not (kind.optional or kind.optional_elements):
            arguments[argument.name] = TracedTensors(argument.name)
        elif kind.base.is_integer and not kind.is_list and not kind.optional:
            arguments[argument.name] = Traced(shape.Argument(argument.name))
        else:
            arguments[argument.name] = None
    try:
        return items(rule.function(**arguments))
    except (TypeError, AttributeError):
        # Other arguments are None: a function that uses one ends with one of these.
        return None
