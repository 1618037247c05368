"""The progress of a build: a line per finished step, and on a terminal the running one."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.text import Text

from opwright.command_line.waiting import show_waiting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

__all__ = ["Progress", "Step"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A finished step.

    Parameters
    ----------
    name
        What was done: declare, generate, compile, link, verify, wheel.
    what
        To what.
    seconds
        How long it took.
    from_cache
        Whether it was done before, so that nothing was left to do.
    """

    name: str
    what: str
    seconds: float
    from_cache: bool = False

    def __str__(self) -> str:
        time_taken = "cached" if self.from_cache else f"{self.seconds:.2f} s"
        return f"{self.name:9} {self.what:50} {time_taken:>8}"


@dataclass(slots=True)
class Progress:
    """Shows steps, and keeps them.

    Parameters
    ----------
    console
        Where to; nowhere if there is none.
    """

    console: Console | None = None
    steps: list[Step] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @contextmanager
    def step(self, name: str, what: str) -> Iterator[Detail]:
        """Run a block as a step; one that raises is not shown as finished."""
        detail = Detail(what)
        started = time.monotonic()
        with self.running(f"{name} {what}"):
            yield detail
        self.add(
            Step(
                name=name,
                what=detail.text,
                seconds=time.monotonic() - started,
                from_cache=detail.from_cache,
            )
        )

    @contextmanager
    def running(self, text: str) -> Iterator[None]:
        """Show what runs, on a terminal: that of the steps, or else standard error."""
        shown = self.console is not None and self.console.is_terminal
        with self.console.status(Text(text)) if self.console and shown else show_waiting(text):
            yield

    def note(self, text: str) -> None:
        """Show something that is no step."""
        self.notes.append(text)
        if self.console is not None:
            self.console.print(Text(f"{'note':9} {text}"), soft_wrap=True)

    def add(self, step: Step) -> None:
        """Show a finished step. Threads may call this."""
        self.steps.append(step)
        if self.console is not None:
            # Text: what is in brackets is no markup. soft_wrap: lines that programs can read.
            self.console.print(Text(str(step)), soft_wrap=True)


@dataclass(slots=True)
class Detail:
    """The text of a step when it is finished."""

    text: str
    from_cache: bool = False
