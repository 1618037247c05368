"""Corner cases: one choice of a base set to each of its other values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opwright.check.samples.usual import SIZES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from opwright.check.samples.aspects import Aspect
    from opwright.check.samples.choice import Asked

__all__ = ["corners"]

MOST = 15  # of one aspect
VALUES = 6  # of one argument
LARGE = 17
GROWN = (LARGE, 12, 5)  # sizes of the last axes
VIEWS = {2: "transposed", 3: "reversed", 4: "channels_last"}  # by number of axes


def corners(trail: Sequence[Asked], vary: Collection[Aspect]) -> Iterator[dict[str, Any]]:
    """Yield what to set for each corner case."""
    for aspect, changes in CHANGES.items():
        if aspect in vary:
            asked = [each for each in trail if each.aspect == aspect]
            unique: list[dict[str, Any]] = []
            for change in changes(asked):
                if change and change not in unique:
                    unique.append(change)
            yield from unique[:MOST]
    if {"rank", "layout"} <= set(vary):
        yield from views_of_ranks(trail)


def dtypes(asked: Sequence[Asked]) -> Iterator[dict[str, Any]]:
    """Yield each dtype for all tensors that may have it, then for each tensor alone."""
    for dtype in dict.fromkeys(option for each in asked for option in each.options):
        change = {each.name: dtype for each in asked if dtype in each.options}
        if any(each.taken != dtype for each in asked if each.name in change):
            yield change
    for each in asked:
        for other in each.others:
            yield {each.name: other}


def sizes(asked: Sequence[Asked]) -> Iterator[dict[str, Any]]:
    """Yield 0 and 1 for each name, shapes to broadcast, and a large size for each name."""
    numbers = [each for each in asked if each.name.startswith("size ")]
    for wanted in (0, 1):
        for each in numbers:
            if wanted in each.others:
                yield {each.name: wanted}
    grown = dict(grow(numbers))
    for each in asked:
        if each.name.startswith("broadcast "):
            for other in each.others:
                yield {each.name: other} | grown
    for each in numbers:
        options = [o for o in each.options if o != each.taken]
        near = [o for o in options if o == LARGE]
        for option in near or [o for o in options if o > each.taken][-1:]:
            yield {each.name: option}
    for each in numbers:  # where rules begin to hold, and end
        for end in (min(each.options), max(each.options)):
            if end not in {*SIZES, each.base, each.taken}:
                yield {each.name: end}
    if len(numbers) > 1:
        yield {each.name: 1 for each in numbers if 1 in each.options}


def grow(numbers: Sequence[Asked]) -> Iterator[tuple[str, int]]:
    """Yield larger sizes for the last axes, no two of them equal.

    For broadcasting: of a dozen elements a clamp may hide that all but one are wrong.
    """
    for each, size in zip(reversed(numbers), GROWN, strict=False):
        if size in each.options:
            yield each.name, size


def ranks(asked: Sequence[Asked]) -> Iterator[dict[str, Any]]:
    """Yield each number of axes."""
    for each in asked:
        for other in each.others:
            yield {each.name: other}


def layouts(asked: Sequence[Asked]) -> Iterator[dict[str, Any]]:
    """Yield each layout for all tensors that can have it, then for each tensor alone."""
    known = dict.fromkeys(option for each in asked for option in each.options)
    for layout in known:
        change = {each.name: layout for each in asked if layout in each.options}
        if any(each.taken != layout for each in asked if each.name in change):
            yield change
    for layout in known:
        for each in asked:
            if layout in each.others:
                yield {each.name: layout}


def views_of_ranks(trail: Sequence[Asked]) -> Iterator[dict[str, Any]]:
    """Yield numbers of axes that the base does not have, with what only these can be."""
    names = list(dict.fromkeys(each.name for each in trail if each.aspect == "layout"))
    for rank in (each for each in trail if each.aspect == "rank"):
        for count, layout in VIEWS.items():
            if count in rank.others and names:
                yield {rank.name: count} | dict.fromkeys(names, layout)
                if len(names) > 1:  # others may have too few axes
                    yield {rank.name: count, names[0]: layout}


def presence(asked: Sequence[Asked]) -> Iterator[dict[str, Any]]:
    """Yield each argument given or not, then none and all."""
    for each in asked:
        yield {each.name: not each.taken}
    for wanted in (False, True):
        yield {each.name: wanted for each in asked}


def lengths(asked: Sequence[Asked]) -> Iterator[dict[str, Any]]:
    """Yield each length."""
    for each in asked:
        for other in each.others:
            yield {each.name: other}


def values(asked: Sequence[Asked]) -> Iterator[dict[str, Any]]:
    """Yield some values for each argument, and other values in the tensors."""
    yield {"seed": 1}
    for place in range(VALUES):
        for each in asked:
            others = each.others
            if each.name != "seed" and place < len(others):
                yield {each.name: others[place]}


CHANGES: dict[Aspect, Callable[[Sequence[Asked]], Iterator[dict[str, Any]]]] = {
    "dtype": dtypes,
    "size": sizes,
    "rank": ranks,
    "layout": layouts,
    "presence": presence,
    "length": lengths,
    "value": values,
}
