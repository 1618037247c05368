"""From an order that fails to the fewest steps that have to be held back.

An order is described by its differences from the order of the launches, in which each task runs as
soon as it is launched: each step that ran later has one line that says what it was held back for.
So a difference that is left out lets the step run earlier and leaves the others as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.twin.explore.events import Launch, Ran, Waited

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from opwright.twin.explore.events import Event

__all__ = ["holds_of", "minimize"]


def holds_of(events: Sequence[Event]) -> tuple[str, ...]:
    """Return the lines that make the order of a run from that of the launches.

    Each step is held back for what happened right before it, unless that is its own launch or the
    step before it in its stream.
    """
    holds = []
    before: Launch | Ran | Waited | None = None
    waits = 0
    for event in events:
        if isinstance(event, Waited):
            waits += 1
        if isinstance(event, Ran) and before is not None and not follows_by_itself(event, before):
            stream, task, part = event.step
            holds.append(f"hold {stream} {task} {part} until {write_until(before, waits)}")
        if isinstance(event, Launch | Ran | Waited):
            before = event
    return tuple(holds)


def follows_by_itself(ran: Ran, before: Launch | Ran | Waited) -> bool:
    """Whether a step needs no hold to come right behind an event."""
    if isinstance(before, Launch):
        return before.step == ran.step
    return isinstance(before, Ran) and before.step.stream == ran.step.stream


def write_until(before: Launch | Ran | Waited, waits: int) -> str:
    """Return the end of a line: the event that a step is held back for."""
    match before:
        case Launch():
            return f"launch {before.step.stream} {before.step.task}"
        case Ran():
            return "run {} {} {}".format(*before.step)
        case Waited():
            return f"wait {waits}"


def minimize(
    holds: tuple[str, ...], fails: Callable[[tuple[str, ...]], bool], most_tests: int
) -> tuple[str, ...]:
    """Return holds of which none can be left out, by delta debugging (Zeller and Hildebrandt 2002).

    Parameters
    ----------
    fails
        Runs the program with some of the holds.
    most_tests
        After so many, what has been reached is returned.
    """
    tests = 0

    def find_failing(candidates: Sequence[tuple[str, ...]]) -> tuple[str, ...] | None:
        nonlocal tests
        for candidate in candidates[: most_tests - tests]:
            tests += 1
            if fails(candidate):
                return candidate
        return None

    if find_failing([()]) is not None:
        return ()
    pieces = 2
    while len(holds) > 1 and tests < most_tests:
        size = -(-len(holds) // pieces)
        cuts = range(0, len(holds), size)
        if (part := find_failing([holds[at : at + size] for at in cuts])) is not None:
            holds, pieces = part, 2
        elif (rest := find_failing([holds[:at] + holds[at + size :] for at in cuts])) is not None:
            holds, pieces = rest, max(pieces - 1, 2)
        elif size == 1:
            break
        else:
            pieces = min(len(holds), pieces * 2)
    return holds
