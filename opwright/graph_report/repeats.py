"""Sections of a sequence that repeat, such as the layers of a model.

A long graph is readable when each section is shown once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

__all__ = ["Section", "fold", "sections"]

LEAST = 3  # entries that a section has to save; fewer are easier to read as they are
LONGEST = 256  # entries of a section that is looked for; a model's layer has fewer launches


@dataclass(frozen=True, slots=True)
class Section:
    """Entries `start` to `start + length`, which occur `times` times one after the other."""

    start: int
    length: int
    times: int = 1


def sections(
    keys: Sequence[Hashable], *, least: int = LEAST, longest: int = LONGEST
) -> tuple[Section, ...]:
    """Split a sequence into sections that together cover it once and in order.

    From the left, the section with which the most entries are saved is taken, the shortest of
    those; what saves less than `least` entries becomes part of sections that occur once.
    """
    number_of = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    numbers = [number_of[key] for key in keys]
    found: list[Section] = []
    place = 0
    single = 0  # where the entries start that have not repeated
    while place < len(numbers):
        best = most_saving(numbers, place, longest)
        if (best.times - 1) * best.length < least:
            place += 1
            continue
        if single < place:
            found.append(Section(single, place - single))
        found.append(best)
        place = single = place + best.length * best.times
    if single < place:
        found.append(Section(single, place - single))
    return tuple(found)


def fold(keys: Sequence[Hashable], most: int) -> tuple[Section, ...]:
    """Return the sections of a sequence; up to `most` entries are one that occurs once."""
    if len(keys) > most:
        return sections(keys)
    return (Section(0, len(keys)),) if keys else ()


def most_saving(numbers: Sequence[int], start: int, longest: int) -> Section:
    """Return the section at this place with which the most entries are saved."""
    best = Section(start, 1)
    for length in range(1, min(longest, (len(numbers) - start) // 2) + 1):
        # A section of this length repeats as long as each entry equals the one a length before it.
        end = start + length
        while end < len(numbers) and numbers[end] == numbers[end - length]:
            end += 1
        times = (end - start) // length
        if (times - 1) * length > (best.times - 1) * best.length:
            best = Section(start, length, times)
    return best
