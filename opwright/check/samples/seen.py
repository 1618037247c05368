"""Tensors as rules see them while a sample is solved: each axis is solved when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opwright.check.samples.problem import Axes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.check.samples.solve import Solving

__all__ = ["Shaped", "Unknown"]


class Unknown(Exception):  # noqa: N818 - no error: the value is not chosen yet
    """A rule needs what is not chosen yet."""


class Shaped:
    """A tensor as rules see it."""

    def __init__(self, solving: Solving, name: str) -> None:
        self.shape: Any = LazyShape(solving, name)


class LazyShape:
    """The shape of a tensor, each axis of which is solved when it is asked for."""

    def __init__(self, solving: Solving, name: str) -> None:
        self.solving = solving
        self.name = name

    def whole(self) -> tuple[int, ...]:
        """Return all sizes."""
        return self.solving.shape(self.name)

    def __getitem__(self, index: int | slice) -> Any:  # noqa: ANN401 - a size or several
        pattern = self.solving.problem.patterns[self.name][0]
        spans = [place for place, part in enumerate(pattern) if isinstance(part, Axes)]
        # The size of a named axis is not that of a tensor that is made narrower for broadcasting.
        if isinstance(index, int) and self.name not in self.solving.problem.broadcast:
            place = index if index >= 0 else index + len(pattern)
            before = not spans or place < spans[0]
            if 0 <= place < len(pattern) and (
                before if index >= 0 else not spans or place > spans[0]
            ):
                return self.solving.size(pattern[place])
        return self.whole()[index]

    def __len__(self) -> int:
        return len(self.whole())

    def __iter__(self) -> Iterator[int]:
        return iter(self.whole())
