"""The shape of an output as data: sizes computed from the shapes and integers of the arguments.

A shape is a tuple of items; an item is one size, or stands for several. Nothing here knows torch:
`opwright.kit.derive` evaluates shapes, emits them as C++, and hands them to the native dispatcher.
What is of a tensor has the name of an argument, and an index where that is a list of tensors. In
the shapes of a list of results, "i" is the place in that list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = [
    "Argument",
    "Binary",
    "Broadcast",
    "Const",
    "Dim",
    "Element",
    "Index",
    "Item",
    "Length",
    "Operation",
    "Rank",
    "Reduced",
    "Shape",
    "Size",
    "Sizes",
    "Span",
    "tensor_text",
]

Index: TypeAlias = int | Literal["i"]

# // rounds down, ceildiv rounds up; all sizes are >= 0.
Operation: TypeAlias = Literal["+", "-", "*", "//", "ceildiv", "%", "min", "max"]


@dataclass(frozen=True, slots=True)
class Const:
    """A number; only a comparison has one that is not whole."""

    value: int | float


@dataclass(frozen=True, slots=True)
class Dim:
    """The size of a tensor's axis; a negative axis counts from the end."""

    tensor: str
    axis: int
    index: Index | None = None


@dataclass(frozen=True, slots=True)
class Rank:
    """The number of a tensor's axes."""

    tensor: str
    index: Index | None = None


@dataclass(frozen=True, slots=True)
class Argument:
    """The value of an int or SymInt argument; in a comparison, of a float argument too."""

    name: str


@dataclass(frozen=True, slots=True)
class Length:
    """The number of elements of a list argument."""

    name: str


@dataclass(frozen=True, slots=True)
class Element:
    """One element of an int-list argument."""

    name: str
    index: Index


@dataclass(frozen=True, slots=True)
class Binary:
    """An operation on two sizes."""

    operation: Operation
    left: Size
    right: Size


Size: TypeAlias = Const | Dim | Rank | Argument | Length | Element | Binary


@dataclass(frozen=True, slots=True)
class Span:
    """Several axes of a tensor, by the rules of Python's slices; None is the end."""

    tensor: str
    start: int = 0
    stop: int | None = None
    index: Index | None = None


@dataclass(frozen=True, slots=True)
class Sizes:
    """All elements of an int-list argument."""

    name: str


@dataclass(frozen=True, slots=True)
class Broadcast:
    """The shape that shapes have together by PyTorch's broadcasting."""

    shapes: tuple[tuple[Item, ...], ...]


@dataclass(frozen=True, slots=True)
class Reduced:
    """A tensor's shape after a reduction.

    Parameters
    ----------
    dims
        The int or int-list argument with the reduced axes; where it is None or empty at the call,
        and if there is no such argument, all axes are reduced.
    keepdim
        The bool argument that says whether reduced axes stay with size 1; they go if there is none.
    """

    tensor: str
    dims: str | None = None
    keepdim: str | None = None
    index: Index | None = None


def tensor_text(part: Dim | Rank | Span | Reduced) -> str:
    """Return the tensor that something is of, as Python and an author write it.

    >>> tensor_text(Span("x")), tensor_text(Rank("xs", 1))
    ('x', 'xs[1]')
    """
    return part.tensor if part.index is None else f"{part.tensor}[{part.index}]"


Item: TypeAlias = Size | Span | Sizes | Broadcast | Reduced
Shape: TypeAlias = tuple[Item, ...]
