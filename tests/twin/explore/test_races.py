"""Which orders turn races around."""

from __future__ import annotations

from opwright.twin.explore.events import Event, Launch, Race, Step
from opwright.twin.explore.races import turn_races

WRITE, RESTORE = Step(2, 5, 0), Step(2, 6, 0)
READ, COPY = Step(3, 5, 0), Step(4, 1, 0)


def launch(step: Step, name: str, *places: str) -> Launch:
    return Launch(step=step, name=name, places=places)


def test_each_race_is_turned_around_alone_then_with_another_one() -> None:
    events: list[Event] = [
        launch(RESTORE, "aclnnAdds"),
        launch(READ, "aclnnMuls"),
        launch(COPY, "aclnnExp"),
        Race(earlier=RESTORE, later=READ),
        Race(earlier=READ, later=COPY),
    ]
    orders = list(turn_races(events))
    first, second = "hold 2 6 0 until run 3 5 0", "hold 3 5 0 until run 4 1 0"
    assert [order.holds for order in orders] == [(first,), (second,), (first, second)]
    assert orders[0].name == "the order with aclnnMuls on stream 3 before aclnnAdds on stream 2"
    assert orders[2].name.endswith(" and aclnnExp on stream 4 before aclnnMuls on stream 3")


def test_races_of_one_loop_come_behind_the_first_of_each_place() -> None:
    def iteration(number: int) -> list[Event]:
        write, read = Step(2, number, 0), Step(3, number, 0)
        return [
            launch(write, "aclnnAdds", "a.py:1 in f"),
            launch(read, "aclnnMuls", "a.py:2 in f"),
            Race(earlier=write, later=read),
        ]

    other = Race(earlier=RESTORE, later=COPY)
    events = [*iteration(1), *iteration(2), launch(COPY, "aclnnExp", "a.py:3 in f"), other]
    held = [order.holds[0].split()[1:3] for order in turn_races(events) if len(order.holds) == 1]
    assert held == [["2", "1"], ["2", "6"], ["2", "2"]]


def test_a_step_is_held_once_in_an_order() -> None:
    events = [Race(earlier=WRITE, later=READ), Race(earlier=WRITE, later=COPY)]
    assert [len(order.holds) for order in turn_races(events)] == [1, 1]


def test_a_race_that_is_found_again_is_turned_around_once() -> None:
    events = [Race(earlier=WRITE, later=READ), Race(earlier=WRITE, later=READ)]
    assert len(list(turn_races(events))) == 1
