"""The usual sizes, ranks, lengths and dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.kit.declare.defaults import default_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from opwright.kit.declare.schema import Argument

__all__ = [
    "BASES",
    "BROADCAST",
    "FLOATS",
    "LARGEST",
    "LENGTHS",
    "MASKS",
    "RANKS",
    "RARE_SIZES",
    "SIZES",
    "WHOLE",
    "WIDENED",
    "WIDEST",
    "WIDE_SIZES",
    "by_size",
    "default_length",
    "is_integer",
]

SIZES = (1, 0, 2, 3, 4, 5, 6, 7, 8, 12, 16, 17, 32, 33)
# Where no usual size will do: a rule may ask for a multiple of 64, or for more than 100.
RARE_SIZES = (*range(9, 65), *range(72, 513, 8), 768, 1024, 2048, 4096)
LARGEST = 8192  # elements of a tensor that has all named axes, so that calls are quick
# Where kernels begin to work in blocks: a last axis around a vector's length, and more elements
# than one block has. For a few samples alone, which have up to WIDEST elements.
WIDE_SIZES = (63, 64, 65, 128, 4097)
WIDEST = 65536
RANKS = (0, 1, 2, 3, 4)
# Sizes that an axis has as long as nothing varies: different ones, so that mixing up axes shows.
BASES = (2, 3, 4, 5, 6, 7)
LENGTHS = (0, 1, 2, 3)
# Shapes that broadcasting makes to a whole one, and for tensors with fewer axes than that some with
# as many: a row may be a column as well.
BROADCAST: dict[str, Callable[[tuple[int, ...]], tuple[int, ...]]] = {
    "first is 1": lambda shape: (1, *shape[1:]),
    "last is 1": lambda shape: (*shape[:-1], 1),
    "without the first": lambda shape: shape[1:],
    "0-d": lambda _: (),
}
WIDENED: dict[str, Callable[[tuple[int, ...]], tuple[int, ...]]] = {
    "all, last is 1": lambda shape: (*shape[:-1], 1),
    "all": lambda shape: shape,
}
FLOATS = ("float32", "float16", "bfloat16")
MASKS = ("bool", "uint8")
WHOLE = ("int64", "int32")


def is_integer(dtype: str) -> bool:
    """Return whether a dtype holds whole numbers."""
    return "int" in dtype


def by_size(sizes: Iterable[int]) -> list[int]:
    """Return sizes from the simplest on: 1, since a tensor without elements shows little."""
    return sorted(sizes, key=lambda size: (size != 1, size))


def default_length(argument: Argument) -> int | None:
    """Return the number of elements of a list that is a default."""
    default = default_value(argument)
    return len(default) if isinstance(default, list) else None
