"""The progress of a run: a line that changes on a terminal, lines otherwise."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from rich.console import Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.text import Text
from typing_extensions import Self

from opwright.check.processes.pool import Finished
from opwright.check.report.marks import BAD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console, RenderableType

    from opwright.check.outcome import Outcome
    from opwright.check.processes.lost import Cell
    from opwright.check.processes.pool import Started

__all__ = ["Progress"]

ORDER = ("passed", *BAD, "not applicable")
STYLES = {"passed": "green", "not applicable": "dim", "blocked": "magenta"}
SLOW = 10.0  # seconds after which a cell's time is shown
WIDTH = 40
PER_SECOND = 8


class Progress:
    """The progress of a run; `with` shows it.

    Parameters
    ----------
    console
        Where it is shown: a terminal has lines that change, a file one line per operator.
    cells
        How many there are of each operator.
    """

    def __init__(self, console: Console, cells: Mapping[str, int]) -> None:
        self.console = console
        self.left = dict(cells)
        self.total = sum(cells.values())
        self.outcomes: dict[str, list[Outcome]] = {name: [] for name in cells}
        self.counts: Counter[str] = Counter()
        self.running: dict[str, tuple[Cell, float]] = {}
        self.start = time.monotonic()
        self.live = Live(
            console=console,
            get_renderable=self.lines,
            refresh_per_second=PER_SECOND,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.console.is_terminal:
            self.live.stop()

    def note(self, event: Started | Finished) -> None:
        """Take an event of the pool."""
        name = event.cell.operator
        if not isinstance(event, Finished):
            self.running[name] = (event.cell, time.monotonic())
            return
        self.running.pop(name, None)
        self.counts[event.outcome.status] += 1
        self.outcomes[name].append(event.outcome)
        self.left[name] -= 1
        if not self.left[name]:
            self.console.print(self.operator_line(name), highlight=False, soft_wrap=True)

    def operator_line(self, name: str) -> Text:
        """Return what became of an operator."""
        outcomes = self.outcomes[name]
        count: Counter[str] = Counter(each.status for each in outcomes)
        worst = next((each for each in BAD if count[each]), "passed")
        rows = dict.fromkeys(each.row for each in outcomes if each.status in BAD)
        done = self.total - sum(self.left.values())
        return Text.assemble(
            f"{done:{len(str(self.total))}}/{self.total}  ",
            (name, "bold"),
            "  ",
            (self.counted(count), STYLES.get(worst, "red")),
            f"  {sum(each.seconds for each in outcomes):.1f} s",
            f"  ({', '.join(rows)})" if rows else "",
        )

    def lines(self) -> RenderableType:
        """Return what is shown while the run lasts."""
        now = time.monotonic()
        done = self.total - sum(self.left.values())
        head = Text(f"{done}/{self.total} cells, {now - self.start:.0f} s  ")
        bar = ProgressBar(total=self.total, completed=done, width=WIDTH)
        running = [
            Text.assemble(
                "  ",
                (cell.operator, "bold"),
                f"  {cell.row} [{cell.column}]",
                f"  {now - since:.0f} s" if now - since > SLOW else "",
            )
            for cell, since in self.running.values()
        ]
        return Group(Text.assemble(head, self.counted(self.counts)), bar, *running)

    def counted(self, count: Counter[str]) -> str:
        """Return counts as text."""
        return ", ".join(f"{count[each]} {each}" for each in ORDER if count[each])
