"""One run of a program in one order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opwright.twin.explore.events import Process

__all__ = ["DEADLOCK", "Order", "Outcome"]

# Exit status of a process whose host waits for what cannot happen (native/runtime/explore).
DEADLOCK = 86


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """An order: that of a seed, or that of the launches with some tasks held back.

    Parameters
    ----------
    holds
        Lines as native/runtime/explore/policy.h has them; used if there is no seed.
    name
        As it is reported; made from the seed if there is one.
    """

    seed: int | None = None
    holds: tuple[str, ...] = ()
    name: str = "the order of the launches"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The end of a run and its results.

    Parameters
    ----------
    status
        Exit status as a shell has it (128 and the number of a signal that ended it); None if it was
        ended because it took too long.
    output, errors
        Standard output and standard error.
    processes
        What each process has logged.
    seconds
        How long it took.
    """

    order: Order
    status: int | None
    output: str
    errors: str
    processes: tuple[Process, ...]
    seconds: float
