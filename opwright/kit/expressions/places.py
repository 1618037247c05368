"""The shapes of a list of results: that of all of them -> that of the one at a place."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from opwright.kit.expressions.shape import (
    Binary,
    Broadcast,
    Dim,
    Element,
    Rank,
    Reduced,
    Sizes,
    Span,
)

if TYPE_CHECKING:
    from opwright.kit.expressions.shape import Item, Shape, Size

__all__ = ["put_at"]


def put_at(shape: Shape, place: int) -> Shape:
    """Return a shape with a place of the list instead of "i".

    >>> put_at((Span("xs", index="i"), Element("sizes", "i")), 1)
    (Span(tensor='xs', start=0, stop=None, index=1), Element(name='sizes', index=1))
    """
    return tuple(put_item_at(item, place) for item in shape)


def put_item_at(item: Item, place: int) -> Item:
    """Return one item with a place."""
    match item:
        case Span() | Reduced():
            return dataclasses.replace(item, index=place) if item.index == "i" else item
        case Broadcast(shapes):
            return Broadcast(tuple(put_at(each, place) for each in shapes))
        case Sizes():
            return item
        case _:
            return put_size_at(item, place)


def put_size_at(size: Size, place: int) -> Size:
    """Return a size with a place."""
    match size:
        case Dim() | Rank() | Element():
            return dataclasses.replace(size, index=place) if size.index == "i" else size
        case Binary(operation, left, right):
            return Binary(operation, put_size_at(left, place), put_size_at(right, place))
        case _:
            return size
