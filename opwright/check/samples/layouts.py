"""The layouts that a tensor of a shape can have."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from opwright.kit.declare.sample import TensorLayout

    Test = Callable[[tuple[int, ...]], bool]

__all__ = ["layouts_for"]

IMAGE = 4  # axes of a batch of images with channels


def has_several(shape: tuple[int, ...], count: int) -> bool:
    """Return whether so many axes have more than one element."""
    return sum(size > 1 for size in shape) >= count


# Whether a layout differs from the contiguous one, for a tensor with elements.
DIFFERS: Mapping[TensorLayout, Test] = {
    "transposed": lambda s: has_several(s[-2:], 2),
    "reversed": lambda s: len(s) > 2 and has_several(s, 2),  # noqa: PLR2004 - else it is transposed
    "channels_last": lambda s: len(s) >= IMAGE and s[1] > 1 and has_several(s[1:], 2),
    "offset": lambda _: True,
    "sliced": lambda s: len(s) > 1,
    "strided": lambda s: has_several(s, 1),
    "expanded": lambda s: has_several(s, 1),
}


def layouts_for(shape: tuple[int, ...], *, is_written: bool) -> tuple[TensorLayout, ...]:
    """Return the layouts; elements of a written tensor are no others' as well.

    >>> layouts_for((2, 3), is_written=True)
    ('contiguous', 'transposed', 'offset', 'sliced', 'strided')
    """
    others = [
        layout
        for layout, differs in DIFFERS.items()
        if 0 not in shape and differs(shape) and not (is_written and layout == "expanded")
    ]
    return ("contiguous", *others)
