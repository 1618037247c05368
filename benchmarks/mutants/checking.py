"""A target and its mutants -> which row of `opwright check` finds each.

The processes are those of the command: a server that has imported torch and torch_npu, and a fork
of it for each mutant. The first finding ends the examination; rows that found more before, and
quicker ones, come first.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.check.errors import ImportFailedError, LoadEndedError, NotRunError
from opwright.check.processes.client import Server
from opwright.check.processes.lost import Cell
from opwright.check.processes.pool import Finished, Limits, Pool, RefusedError
from opwright.twin.environment import twin_environment
from opwright.twin.settings import TwinSettings
from opwright.twin.toolkit import installed_toolkit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mutants.log import Verdict
    from mutants.targets import Target
    from opwright.check.outcome import Outcome
    from opwright.check.request import Request

__all__ = ["BaselineError", "Session"]

BUILD_PACKAGES = """
import sys
from pathlib import Path
from opwright.twin.user_kernels import build_packages
print(*build_packages([Path(each) for each in sys.argv[1:]]), sep="\\n")
"""
GIB = 1 << 30
LIMITS = Limits(seconds=120.0, memory=4 * GIB)  # as the command has them
FOUND = {"failed", "crashed", "hung", "out of memory"}
# Rows that measure time: a busy machine alone may change what they find.
UNSTEADY = {"cost"}


class BaselineError(Exception):
    """The original cannot be checked: nothing can be said about its mutants."""


@dataclass(frozen=True, slots=True)
class Key:
    """A row and column."""

    row: str
    column: str


@dataclass
class Session:
    """A server for one target, in a folder of its own; `close` ends it.

    Parameters
    ----------
    folder
        Has the target's files, of which one is replaced for each mutant.
    """

    target: Target
    folder: Path
    server: Server = field(init=False)
    cells: list[Cell] = field(default_factory=list)
    seconds: dict[Key, float] = field(default_factory=dict)
    finds: Counter[tuple[str, Key]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.target.prepare(self.folder)
        kernels = tuple(self.folder / each for each in self.target.kernels)
        settings = TwinSettings(memory=LIMITS.memory // 2, kernels=kernels, kernel_checks=True)
        variables = {
            **os.environ,
            "PYTHONDONTWRITEBYTECODE": "1",  # a mutant may have the time and length of another
            **{name: str(self.folder / value) for name, value in self.target.variables},
        }
        packages = [self.folder / each for each in self.target.packages]
        if kernels:
            packages += packages_of(kernels)
        environment = twin_environment(variables, installed_toolkit(), settings, packages)
        self.server = Server(environment, rows=[])

    def close(self) -> None:
        """End the processes."""
        self.server.close()

    def measure_original(self) -> None:
        """Run all rows on the original; those that pass are the ones that can find something.

        Raises
        ------
        BaselineError
            It cannot be loaded, or no row passes.
        """
        request = self.target.request(self.folder)
        try:
            cells = self.all_cells(request)
        except (ImportFailedError, LoadEndedError, NotRunError, RefusedError) as error:
            raise BaselineError(str(error)) from error
        passed: list[Cell] = []
        seconds: dict[Key, float] = {}
        for cell, outcome in self.outcomes(request, cells):
            if outcome.status == "passed" and cell.row not in UNSTEADY:
                passed.append(cell)
                key = Key(cell.row, cell.column)
                seconds[key] = seconds.get(key, 0.0) + outcome.seconds
            elif outcome.status in FOUND | {"error"}:
                kinds = [each.kind.name for each in outcome.findings] or [outcome.reason[-300:]]
                print(f"  left out: {cell.operator} {cell.row} {cell.column}: {', '.join(kinds)}")
        if not passed:
            message = "no row passes"
            raise BaselineError(message)
        self.cells, self.seconds = passed, seconds

    def all_cells(self, request: Request) -> list[Cell]:
        """Return the cells of the declared operators."""
        rows = self.server.ready().rows
        pool = Pool(self.server, request, LIMITS)
        operators = pool.load()["operators"]
        self.forget(pool)
        return [
            Cell(
                operator=each["name"],
                row=row.name,
                column=column,
                process=row.process,
                place=each["place"],
            )
            for each in operators
            if self.target.is_ours(each["name"])
            for row in rows
            for column in row.columns
            if column != "cpu" or not self.target.on_device
        ]

    def outcomes(self, request: Request, cells: list[Cell]) -> Iterator[tuple[Cell, Outcome]]:
        """Yield the outcomes of cells, in a worker of their own."""
        pool = Pool(self.server, request, LIMITS)
        try:
            pool.load()
            for event in pool.run([cells], 1):
                if isinstance(event, Finished):
                    yield event.cell, event.outcome
        finally:
            self.forget(pool)

    def forget(self, pool: Pool) -> None:
        """End the workers of a pool."""
        for worker in list(self.server.workers.values()):
            self.server.forget(worker)
        pool.first.workers.clear()

    def examine(self, kind: str, source: bytes, line: int) -> tuple[Verdict, str, float]:
        """Put a mutant in the original's place and return what becomes of it.

        Returns
        -------
        verdict, by, seconds
            `by` is the row, column and kind of the finding, or why it was refused.
        """
        start = time.monotonic()
        verdict, by = self.judge(kind, source, line)
        return verdict, by, time.monotonic() - start

    def judge(self, kind: str, source: bytes, line: int) -> tuple[Verdict, str]:
        """Return the verdict on a mutant, and by what."""
        failure = self.target.put(self.folder, source)
        if failure is not None:
            return "refused", failure
        request = self.target.request(self.folder)
        try:
            for cell, outcome in self.outcomes(request, self.ordered(kind, line)):
                if outcome.status in FOUND:
                    self.finds[kind, Key(cell.row, cell.column)] += 1
                    names = [each.kind.name for each in outcome.findings] or [outcome.status]
                    return "found", f"{cell.row}/{cell.column}: {names[0]}"
                if outcome.status == "error":
                    print(f"  error in {cell.row}/{cell.column}: {outcome.reason[-300:]}")
        except (ImportFailedError, LoadEndedError, NotRunError, RefusedError) as error:
            return "refused", " ".join(str(error).split())[:200]
        return "survived", ""

    def ordered(self, kind: str, line: int) -> list[Cell]:
        """Return the cells of the operator at a line, those that are likely to find it first."""
        names = self.target.operators_at(line, {each.operator: each.place for each in self.cells})

        def weight(cell: Cell) -> tuple[bool, float]:
            key = Key(cell.row, cell.column)
            found = self.finds[kind, key] + 0.1 * sum_of(self.finds, key) + 0.01
            return cell.process != "plain", self.seconds[key] / found

        return sorted((each for each in self.cells if each.operator in names), key=weight)


def packages_of(kernels: Iterable[Path]) -> list[Path]:
    """Return the operator packages for kernel files, built in a process of its own.

    Those files register what they declare, each time in another folder.
    """
    done = subprocess.run(
        [sys.executable, "-c", BUILD_PACKAGES, *kernels],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [Path(line) for line in done.stdout.splitlines()]


def sum_of(finds: Counter[tuple[str, Key]], key: Key) -> int:
    """Return what a row found in mutants of all kinds."""
    return sum(count for (_, each), count in finds.items() if each == key)
