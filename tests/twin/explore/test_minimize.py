"""The least that makes an order fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.twin.explore.events import Launch, Ran, Step, Waited
from opwright.twin.explore.minimize import holds_of, minimize

if TYPE_CHECKING:
    from opwright.twin.explore.events import Event


def launch(stream: int, task: int) -> Launch:
    return Launch(step=Step(stream, task, 0), name="aclnnAdd", places=())


def ran(stream: int, task: int, part: int = 0) -> Ran:
    return Ran(step=Step(stream, task, part))


def test_the_order_of_the_launches_holds_nothing_back() -> None:
    events: list[Event] = [launch(0, 1), ran(0, 1), launch(1, 1), ran(1, 1), ran(1, 1, 1)]
    assert holds_of(events) == ()


def test_each_step_that_runs_later_is_held_back_for_what_was_before_it() -> None:
    events: list[Event] = [
        *(launch(0, 1), launch(1, 1), launch(0, 2)),
        Waited(what="stream 1", places=()),
        *(ran(1, 1), ran(0, 1), ran(0, 2)),
        *(launch(2, 1), launch(1, 2), ran(2, 1)),
    ]
    assert holds_of(events) == (
        "hold 1 1 0 until wait 1",
        "hold 0 1 0 until run 1 1 0",
        "hold 2 1 0 until launch 1 2",
    )


def test_what_is_not_needed_is_left_out() -> None:
    holds = tuple(f"hold {number}" for number in range(30))
    tests = []

    def fails(kept: tuple[str, ...]) -> bool:
        tests.append(kept)
        return {"hold 3", "hold 21"} <= set(kept)

    assert minimize(holds, fails, most_tests=1000) == ("hold 3", "hold 21")
    assert len(tests) < 80
    assert minimize(holds, lambda _: True, most_tests=1000) == ()
    assert minimize(holds, lambda kept: kept == holds, most_tests=1000) == holds


def test_no_more_tests_are_made_than_allowed() -> None:
    holds = tuple(f"hold {number}" for number in range(30))
    tests = []

    def fails(kept: tuple[str, ...]) -> bool:
        tests.append(kept)
        return "hold 3" in kept and "hold 21" in kept

    kept = minimize(holds, fails, most_tests=7)
    assert len(tests) == 7
    assert {"hold 3", "hold 21"} <= set(kept)
