"""`pytest --opwright-check TARGET`: an item for each operator and row.

The items run in worker processes, as those of `opwright check` do: what an operator does to its
process harms no other item. pytest-xdist keeps the items of an operator together, so that one
process serves it: --dist loadgroup, loadscope and loadfile do.

opwright.pytest_plugin registers this plugin where the option is given.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typing_extensions import Self

from opwright import __version__
from opwright.check.as_json import outcome_as_json, outcome_from_json
from opwright.check.known.failures import failures
from opwright.check.known.ledger import (
    default_ledger,
    entries_of,
    find_first,
    judge_outcomes,
    read_ledger,
)
from opwright.check.processes.client import Server
from opwright.check.processes.lost import Cell
from opwright.check.processes.pool import Finished, Limits, Pool, RefusedError
from opwright.check.record import CheckedOperator
from opwright.check.report.terminal import failures_text
from opwright.check.request import Request
from opwright.errors import OpwrightError
from opwright.twin.launch import launch_environment
from opwright.twin.settings import TwinSettings

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from opwright.check.known.ledger import Entry
    from opwright.check.outcome import Outcome
    from opwright.check.processes.client import Ready
    from opwright.check.record import CheckedRow

__all__ = ["CheckItem", "ChecksPlugin"]

LIMITS = Limits(seconds=120.0, memory=4 << 30)
MEMORY = 2 << 30  # bytes of a device, so that an operator that allocates without end meets its end
NO_COMPILER = "schema"  # a row that needs none
# The key in a report from the process that ran it to the one that reports the result.
CARRIED = "opwright_check"


class CheckFailedError(Exception):
    """An item failed; the text is for the user."""


class Parent:
    """The process that workers are forked from; it is started when it is needed first."""

    def __init__(self) -> None:
        self.stack = ExitStack()

    @cached_property
    def server(self) -> Server:
        """The process, which may not be ready."""
        settings = TwinSettings(memory=MEMORY)
        # Compilers are imported by the worker that needs them: it serves the whole session.
        server = Server(launch_environment(os.environ, settings), rows=[NO_COMPILER])
        return self.stack.enter_context(closing(server))

    def close(self) -> None:
        """End the process and what it forked."""
        self.stack.close()


@dataclass
class Target:
    """A target of this process, loaded.

    Parameters
    ----------
    file
        The ledger.
    ran
        Outcomes that are there already.
    """

    name: str
    pool: Pool
    ready: Ready
    operators: tuple[CheckedOperator, ...]
    file: Path | None
    entries: tuple[Entry, ...] = ()
    ran: list[Outcome] = field(default_factory=list)

    @property
    def versions(self) -> dict[str, str]:
        """Versions of what takes part."""
        return {"opwright": __version__, **self.ready.versions}


class CheckItem(pytest.Item):
    """An operator and a row."""

    def __init__(
        self,
        *,
        target: Target,
        operator: CheckedOperator,
        row: CheckedRow,
        **more: Any,  # noqa: ANN401 - pytest's own
    ) -> None:
        super().__init__(**more)
        self.target = target
        self.operator = operator
        self.row = row
        self.outcomes: list[Outcome] = []
        self.extra_keyword_matches.update({operator.name, row.name})

    @classmethod
    def of(
        cls,
        session: pytest.Session,
        target: Target,
        operator: CheckedOperator,
        row: CheckedRow,
    ) -> Self:
        """Return the item of an operator and a row."""
        name = f"{operator.name}::{row.name}"
        item: Self = cls.from_parent(
            session,
            name=name,
            nodeid=name,
            target=target,
            operator=operator,
            row=row,
        )
        return item

    def runtest(self) -> None:
        """Examine the columns of the row."""
        self.outcomes = list(self.examined())
        found = failures(self.outcomes)
        blocked = [each for each in found if each.kind == "blocked"]
        earlier = failures(each for each in self.target.ran if each.operator == self.operator.name)
        self.target.ran += self.outcomes
        if blocked and earlier:
            pytest.skip(f"another row fails: {blocked[0].outcome.reason}")
        entries = [each for each in self.target.entries if each.is_here(self.target.versions)]
        known = [(each, entry) for each in found if (entry := find_first(entries, each))]
        new = [each for each in found if find_first(entries, each) is None]
        if new:
            raise CheckFailedError(failures_text(new).plain)
        if known:
            pytest.xfail("; ".join(dict.fromkeys(entry.reason for _, entry in known)))
        if all(each.status == "not applicable" for each in self.outcomes):
            reasons = dict.fromkeys(each.reason for each in self.outcomes)
            pytest.skip("; ".join(reasons))

    def examined(self) -> Iterator[Outcome]:
        """Yield the outcomes of the row's columns."""
        cells = [
            Cell(
                operator=self.operator.name,
                row=self.row.name,
                column=column,
                process=self.row.process,
                place=self.operator.place,
            )
            for column in self.row.columns
        ]
        for event in self.target.pool.run([cells], 1):
            if isinstance(event, Finished):
                yield event.outcome

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:  # noqa: ANN401 - as pytest has it
        """Return the text of what fails, as `opwright check` prints it."""
        if isinstance(excinfo.value, CheckFailedError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return where the operator is declared."""
        file, _, line = self.operator.place.rpartition(":")
        if not line.isdecimal():
            return Path(self.operator.place), None, self.name
        return Path(file), int(line) - 1, self.name


class ChecksPlugin:
    """Makes the items, and reports which entries of the ledgers are out of date."""

    def __init__(self, targets: Sequence[str], ledger: Path | None = None) -> None:
        self.names = targets
        self.ledger = ledger
        self.parent = Parent()
        self.targets: list[Target] = []
        # Ledger -> what was run; by xdist from other processes, otherwise from this one.
        self.ran: dict[str, list[Any]] = {}
        self.facts: dict[str, Any] = {}
        self.unexpected: list[str] = []

    def load(self) -> None:
        """Load the targets and read their ledgers."""
        ready = self.parent.server.ready()
        for name in self.names:
            pool = Pool(self.parent.server, Request(target=name), LIMITS)
            facts = pool.load()
            self.targets.append(
                Target(
                    name=name,
                    pool=pool,
                    ready=ready,
                    operators=tuple(CheckedOperator(**each) for each in facts["operators"]),
                    file=self.ledger or default_ledger(name),
                )
            )
        for each in self.targets:
            if each.file is not None:
                names = self.operators_of(each.file)
                each.entries = read_ledger(each.file, operators=names, rows=ready.rows)

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> Generator[None, None, None]:
        """Add the items, before -k and -m choose among them."""
        try:
            self.load()
        except (OpwrightError, RefusedError) as error:
            raise pytest.UsageError(str(error)) from error
        for target in self.targets:
            found = [
                CheckItem.of(session, target, operator, row)
                for operator in target.operators
                for row in target.ready.rows
            ]
            items += found
            report = pytest.CollectReport(target.name, "passed", None, [*found])
            session.config.hook.pytest_collectreport(report=report)
        yield

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Let the report of an item carry what was run."""
        report = yield
        if isinstance(item, CheckItem) and call.when == "call":
            setattr(
                report, CARRIED, {str(item.target.file): [slim(each) for each in item.outcomes]}
            )
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what was run."""
        carried: dict[str, list[Any]] = getattr(report, CARRIED, {})
        for file, outcomes in carried.items():
            self.ran.setdefault(file, []).extend(outcomes)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Report what passes although a ledger says that it fails."""
        output = getattr(session.config, "workeroutput", None)
        if output is not None:  # a worker of xdist: another process reports
            output[CARRIED] = self.ledgers()
            return
        self.facts |= self.ledgers()
        for file, facts in self.facts.items():
            self.unexpected += find_unexpected(file, facts, self.ran.get(file, []))
        if self.unexpected and session.exitstatus in {0, pytest.ExitCode.NO_TESTS_COLLECTED}:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def ledgers(self) -> dict[str, dict[str, Any]]:
        """Return ledger -> what is to be known to compare with it."""
        return {
            str(each.file): {
                "operators": self.operators_of(each.file),
                "columns": {row.name: row.columns for row in each.ready.rows},
                "versions": each.versions,
            }
            for each in self.targets
            if each.file is not None
        }

    def operators_of(self, file: Path) -> list[str]:
        """Return the names of all operators that a ledger is about."""
        return [
            operator.name
            for each in self.targets
            if each.file == file
            for operator in each.operators
        ]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:  # noqa: ANN401 - of xdist
        """Take from a worker of xdist what it knows."""
        self.facts |= getattr(node, "workeroutput", {}).get(CARRIED, {})

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print what is out of date."""
        if self.unexpected:
            terminalreporter.section("unexpected passes: remove these entries from the ledger")
            for each in self.unexpected:
                terminalreporter.line(each)

    def pytest_unconfigure(self) -> None:
        """End the worker processes."""
        self.parent.close()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:  # noqa: ANN401 - of xdist
        """Keep the items of an operator together."""
        from opwright.check.pytest_plugin.shards import by_operator  # noqa: PLC0415 - xdist may be absent

        return by_operator(config, log)


def slim(outcome: Outcome) -> dict[str, Any]:
    """Return what a ledger is compared with."""
    return outcome_as_json(replace(outcome, details={}, samples=()))


def find_unexpected(
    file: str, facts: dict[str, Any], outcomes: list[dict[str, Any]]
) -> Sequence[str]:
    """Return the entries of a ledger for what passes."""
    entries = entries_of(Path(file).read_text(encoding="utf-8"), where=file)
    given = [outcome_from_json(each) for each in outcomes]
    return judge_outcomes(given, entries, **facts).unexpected
