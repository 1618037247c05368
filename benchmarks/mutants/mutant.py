"""A mutant: one place of a source is replaced."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

__all__ = ["Mutant", "line_starts", "unique"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A change of one place of a source.

    Parameters
    ----------
    kind
        The fault that it makes, in words: `operator`, `dropped call`.
    start, end
        The bytes of the source that are replaced.
    text
        The new bytes.
    """

    kind: str
    start: int
    end: int
    text: bytes

    def apply(self, source: bytes) -> bytes:
        """Return the source with the change."""
        return source[: self.start] + self.text + source[self.end :]

    def line(self, source: bytes) -> int:
        """Return the number of the first line that changes; the first of a file is 1."""
        return source.count(b"\n", 0, self.start) + 1

    def lines(self, source: bytes) -> tuple[str, str]:
        r"""Return the lines with the place, before and after, without indentation.

        >>> Mutant(kind="operator", start=6, end=7, text=b"-").lines(b"a\n  x + y\n")
        ('x + y', 'x - y')
        """
        first = source.rfind(b"\n", 0, self.start) + 1
        last = source.find(b"\n", self.end)
        last = len(source) if last < 0 else last
        before = source[first:last]
        after = source[first : self.start] + self.text + source[self.end : last]
        return one_line(before), one_line(after)

    def identity(self, file: str, source: bytes) -> str:
        """Return a name that stays when other lines of the file change."""
        before, after = self.lines(source)
        text = f"{file}\t{self.kind}\t{before}\t{after}"
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def one_line(source: bytes) -> str:
    """Return lines as one, with single blanks."""
    return " ".join(source.decode().split())


def line_starts(source: bytes) -> list[int]:
    """Return the offset of the first byte of each line."""
    starts = [0]
    while (found := source.find(b"\n", starts[-1])) >= 0:
        starts.append(found + 1)
    return starts


def unique(found: list[Mutant], source: bytes) -> list[Mutant]:
    """Return mutants in the order of the source, one for each text; those without a change not."""
    kept: dict[bytes, Mutant] = {}
    for each in sorted(found, key=lambda mutant: (mutant.start, mutant.end, mutant.text)):
        text = each.apply(source)
        if text != source:
            kept.setdefault(text, each)
    return list(kept.values())
