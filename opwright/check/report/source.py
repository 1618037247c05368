"""Places in a user's sources: the line itself, and a path as the user would write it."""

from __future__ import annotations

import linecache
import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["SourceLine", "escape_controls", "find_raise", "source_line"]

FRAME = re.compile(r'^ *File "(.+)", line (\d+), in ', re.MULTILINE)
# Folders whose frames say nothing of the user's code.
LIBRARIES = ("site-packages", "dist-packages", "lib/python3", "<frozen", "<string>", "<stdin>")
PACKAGE = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A place, and the line that stands there; the line is empty where it cannot be read.

    Parameters
    ----------
    place
        file:line, relative to the working directory if it is in it, and what may follow.
    number
        Counted from one; 0 for a whole file.
    """

    place: str
    number: int
    text: str


def source_line(place: str) -> SourceLine:
    """Return the line of a place such as `operators.py:12` or `kernel.cpp:7, function f`."""
    where, comma, more = place.partition(", ")
    file, colon, digits = where.rpartition(":")
    if not colon or not digits.isdecimal():
        return SourceLine(escape_controls(shorten(where) + comma + more), 0, "")
    number = int(digits)
    linecache.checkcache(file)
    text = linecache.getline(file, number).rstrip()
    shown = f"{shorten(file)}:{number}{comma}{more}"
    return SourceLine(escape_controls(shown), number, escape_controls(text.expandtabs(4)))


def find_raise(trace: str) -> str | None:
    """Return the place in the user's code from which an exception of a traceback came."""
    places = [
        f"{file}:{line}"
        for file, line in FRAME.findall(trace)
        if not Path(file).is_relative_to(PACKAGE) and not any(each in file for each in LIBRARIES)
    ]
    return places[-1] if places else None


def shorten(file: str) -> str:
    """Return a path relative to the working directory if it is in it."""
    path = Path(file)
    folder = Path.cwd()
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else file


def escape_controls(text: str) -> str:
    r"""Return a text that does nothing to a terminal: control characters as escapes.

    >>> escape_controls("red: \x1b[31m")
    'red: \\x1b[31m'
    """
    return "".join(
        each if each.isprintable() or each in "\n\t" else ascii(each)[1:-1] for each in text
    )
