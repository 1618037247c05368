"""Orders in which tasks that nothing orders come the other way round. Pure.

A random order rarely has the one task between the two others that shows a fault. What --order finds
in the order of the launches says which tasks can matter to each other: each pair is turned around,
alone and then together with another pair.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import chain, combinations, zip_longest
from typing import TYPE_CHECKING

from opwright.twin.explore.events import Launch, Race
from opwright.twin.explore.outcome import Order

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from opwright.twin.explore.events import Event, Step

__all__ = ["turn_races"]


def turn_races(events: Sequence[Event]) -> Iterator[Order]:
    """Yield orders in which one or two races of a run come the other way round.

    Races of different places in the program come first, then those of the same ones.
    """
    launched = {each.step: each for each in events if isinstance(each, Launch)}
    races = spread([each for each in events if isinstance(each, Race)], launched)
    for turned in chain(combinations(races, 1), combinations(races, 2)):
        if len({race.earlier for race in turned}) == len(turned):  # a step has one hold
            yield Order(holds=tuple(map(write_hold, turned)), name=name_order(turned, launched))


def spread(races: Sequence[Race], launched: Mapping[Step, Launch]) -> list[Race]:
    """Return each race once: the first one of each pair of places, then the second ones, and so on.

    A loop races at the same places again and again.
    """

    def place_of(step: Step) -> object:
        launch = launched.get(step)
        return None if launch is None else (launch.name, launch.places)

    groups: defaultdict[tuple[object, object], list[Race]] = defaultdict(list)
    for race in dict.fromkeys(races):
        groups[place_of(race.earlier), place_of(race.later)].append(race)
    return [race for row in zip_longest(*groups.values()) for race in row if race is not None]


def write_hold(race: Race) -> str:
    """Return the line that turns a race around."""
    return "hold {} {} {} until run {} {} {}".format(*race.earlier, *race.later)


def name_order(turned: Sequence[Race], launched: Mapping[Step, Launch]) -> str:
    """Return an order as it is reported."""

    def name_of(step: Step) -> str:
        name = launched[step].name if step in launched else "a task"
        return f"{name} on stream {step.stream}"

    parts = [f"{name_of(race.later)} before {name_of(race.earlier)}" for race in turned]
    return f"the order with {' and '.join(parts)}"
