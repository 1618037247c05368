"""Run a program in several orders, compare them, and find the fewest holds that make one fail."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from opwright.command_line.files import write_atomically
from opwright.command_line.waiting import show_waiting
from opwright.twin.explore.choice import Explore
from opwright.twin.explore.compare import find_findings, make_baseline
from opwright.twin.explore.judge import judge
from opwright.twin.explore.minimize import holds_of, minimize
from opwright.twin.explore.outcome import Order
from opwright.twin.explore.processes import Program, open_runner
from opwright.twin.explore.races import turn_races
from opwright.twin.explore.report import (
    describe_baseline,
    describe_failure,
    name_order,
    read_repro,
    summarize,
    write_repro,
)
from opwright.twin.launch import prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from opwright.twin.explore.choice import Replay
    from opwright.twin.explore.compare import Baseline
    from opwright.twin.explore.events import Process
    from opwright.twin.explore.judge import Verdict
    from opwright.twin.explore.processes import Runner
    from opwright.twin.settings import TwinSettings

__all__ = ["explore", "run_orders"]

LAUNCHES = Order()
LEAST_LIMIT = 120.0  # seconds for a run, and more than a deadlock takes to be seen
LIMIT_FACTOR = 20  # a run may take as many times as long as the order of the launches
FIRST_LIMIT = 24 * 3600.0  # seconds: a program that never ends in any order is its user's to end
MOST_TESTS = 100  # runs that look for the fewest holds


def run_orders(
    command: Sequence[str],
    settings: TwinSettings,
    choice: Explore | Replay,
    say: Callable[[str], None],
    repro: Path | None = None,
) -> int:
    """Run a command on the twin in the order of its launches and in others; see `explore`.

    Raises
    ------
    CommandNotFoundError, ToolkitMissingError, OtherTorchError
        OPW-T021, OPW-T010, OPW-T012.
    """
    path, environment = prepare(command, settings, "twin", say)
    # Sets of Python would be in another order in each run, and so would be what is made from them.
    variables = {"PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "1"} | environment
    program = Program(path=path, command=tuple(command), environment=variables)
    return explore(program, choice, say, repro)


def explore(
    program: Program,
    choice: Explore | Replay,
    say: Callable[[str], None],
    repro: Path | None = None,
) -> int:
    """Run a program in the order of its launches, and in others; return the exit code.

    What the program prints in the order of its launches is printed; lines about orders go to `say`.
    The other orders are run also after a bad one.

    Parameters
    ----------
    repro
        File for the first order that fails or differs, with as few tasks held back as possible.

    Returns
    -------
    int
        0 if all orders end well with the same results; the status of the first that fails; 1 if
        results differ.
    """
    with open_runner(program) as runner:
        first = runner.run(LAUNCHES, FIRST_LIMIT)
        sys.stdout.write(first.output)
        sys.stdout.flush()
        sys.stderr.write(first.errors)
        sys.stderr.flush()
        if first.status != 0:
            say("the program fails in the order of its launches; no other order was run")
            return first.status or 1
        limit = max(LEAST_LIMIT, first.seconds * LIMIT_FACTOR)
        second = runner.run(LAUNCHES, limit)
        baseline = make_baseline(first, second)
        for line in describe_baseline(baseline.unsteady, baseline.output is not None):
            say(line)
        exploration = Exploration(runner, baseline, limit, say)
        verdicts = [exploration.run(order) for order in orders_of(choice, first.processes)]
        known = set(find_findings(first.errors))
        found = dict.fromkeys(
            finding
            for verdict in verdicts
            for finding in find_findings(verdict.outcome.errors)
            if finding not in known
        )
        say("\n".join(summarize(verdicts, found, limit)))
        bad = next((verdict for verdict in verdicts if verdict.is_bad), None)
        if bad is not None and repro is not None:
            exploration.write_repro(bad, program.command, repro)
        return 0 if bad is None else bad.exit_code


def orders_of(choice: Explore | Replay, processes: Sequence[Process]) -> Iterator[Order]:
    """Yield the orders to run.

    Beside those of the seeds there are as many that turn races around, if the program has them. The
    steps of several processes have no common numbers, so that only one process has such orders.
    """
    if isinstance(choice, Explore):
        for seed in range(choice.first, choice.first + choice.count):
            yield Order(seed=seed)
        if len(processes) == 1:
            yield from islice(turn_races(processes[0].events), choice.count)
        return
    written, holds = read_repro(choice.file)
    yield Order(seed=written, holds=holds, name="the order of the file")


@dataclass(frozen=True, slots=True)
class Exploration:
    """Runs of one program that are compared with its results in the order of the launches."""

    runner: Runner
    baseline: Baseline
    limit: float
    say: Callable[[str], None]

    def run(self, order: Order) -> Verdict:
        """Run an order, and report it if it is bad."""
        verdict = judge(self.runner.run(order, self.limit), self.baseline)
        if verdict.is_bad:
            self.say("\n".join(describe_failure(verdict, self.limit)))
        return verdict

    def write_repro(self, bad: Verdict, command: tuple[str, ...], file: Path) -> None:
        """Write the file of a bad order, with as few tasks held back as possible."""
        holds = self.find_holds(bad)
        write_atomically(file, write_repro(bad, holds, command, self.limit), force=True)
        kept = "its seed" if holds is None else f"{len(holds)} of its tasks held back"
        self.say(f"{file} has {name_order(bad.outcome.order)}, with {kept}")

    def find_holds(self, bad: Verdict) -> tuple[str, ...] | None:
        """Return the fewest holds that fail in the same way; None if holds do not repeat the order.

        The tasks of several processes have no common numbers, and a program may launch other tasks
        when threads of its own run in another order.
        """
        if len(bad.outcome.processes) != 1:
            return None

        def fails(holds: tuple[str, ...]) -> bool:
            again = judge(self.runner.run(Order(holds=holds), self.limit), self.baseline)
            return again.kind == bad.kind

        holds = bad.outcome.order.holds or holds_of(bad.outcome.processes[0].events)
        with show_waiting("looking for the fewest tasks that have to be held back"):
            return minimize(holds, fails, MOST_TESTS) if fails(holds) else None
