"""Where in the author's files something was declared."""

from __future__ import annotations

import sys
from dataclasses import dataclass

__all__ = ["Place", "caller"]


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A file and a line, counted from one; line 0 stands for the whole file."""

    file: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


def caller(depth: int = 1) -> Place:
    """Return the place that called the function that calls this one.

    Parameters
    ----------
    depth
        How many callers further out.
    """
    frame = sys._getframe(depth + 1)  # noqa: SLF001 - inspect.stack() reads source files, which costs milliseconds
    return Place(frame.f_code.co_filename, frame.f_lineno)
