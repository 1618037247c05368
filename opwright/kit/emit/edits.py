"""Replacements in the text of a source file, by the places that `ast` gives its nodes."""

from __future__ import annotations

from itertools import accumulate
from typing import TypeAlias

__all__ = ["EditedText"]

# A line, counted from one, and a column in bytes, from zero.
Location: TypeAlias = tuple[int, int]


class EditedText:
    """A text, and what is to be replaced in it."""

    def __init__(self, text: str) -> None:
        self.data = text.encode()
        self.lines = self.data.splitlines(keepends=True)
        self.offsets = [0, *accumulate(map(len, self.lines))]
        self.edits: set[tuple[int, int, bytes]] = set()

    def offset(self, place: Location) -> int:
        """Return where a place is in the text, in bytes."""
        line, column = place
        return self.offsets[line - 1] + column

    def replace(self, start: Location, stop: Location, text: str) -> None:
        """Replace a part of the text."""
        self.edits.add((self.offset(start), self.offset(stop), text.encode()))

    def part(self, start: Location, stop: Location) -> str:
        """Return a part of the text with the replacements that are whole in it."""
        pieces: list[bytes] = []
        position, end = self.offset(start), self.offset(stop)
        for first, last, text in sorted(self.edits, key=lambda edit: edit[0]):
            if position <= first and last <= end:
                pieces += [self.data[position:first], text]
                position = last
        return b"".join([*pieces, self.data[position:end]]).decode()
