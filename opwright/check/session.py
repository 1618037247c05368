"""A session: the command's run of the matrix, from the first process to the exit code.

It starts the processes, shows the progress, and puts the outcomes into a record, which it reports.
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from opwright import __version__
from opwright.check.as_json import record_text as record_json
from opwright.check.known.accept import accept
from opwright.check.known.failures import is_passed, new_failures
from opwright.check.known.ledger import judge_outcomes, read_ledger
from opwright.check.known.released import write_releases
from opwright.check.processes.client import Server
from opwright.check.processes.lost import Cell
from opwright.check.processes.pool import Finished, Pool
from opwright.check.progress import Progress
from opwright.check.record import CheckedOperator, CheckedRow, Record
from opwright.check.report.files import STDOUT, Outputs, report_unwritable
from opwright.check.report.html import page_of
from opwright.check.report.terminal import WIDTH, record_text
from opwright.check.repro.scripts import write_scripts
from opwright.check.selection import choose_operators, choose_rows, list_text
from opwright.command_line.files import write_atomically
from opwright.command_line.waiting import show_waiting
from opwright.errors import write_count
from opwright.twin.environment import twin_environment
from opwright.twin.toolkit import installed_toolkit
from opwright.twin.user_kernels import build_packages

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from opwright.check.known.ledger import Entry
    from opwright.check.outcome import Outcome
    from opwright.check.processes.pool import Limits
    from opwright.check.request import Request
    from opwright.twin.settings import TwinSettings

__all__ = ["INTERRUPTED", "PRINTED", "Options", "run_session"]

INTERRUPTED = 130  # exit code, as shells have it for Ctrl-C
PRINTED = Path("-")  # for --json: standard output; what is for people goes to standard error


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The command line, checked.

    Parameters
    ----------
    operators, rows
        Names that the user gave; all if there are none.
    workers
        Operators at a time.
    settings
        Of the twin.
    ledger
        Known failures; None for none.
    accept
        Add what fails now to the ledger.
    release
        The version whose schemas are kept, if nothing is found.
    """

    request: Request
    operators: tuple[str, ...]
    rows: tuple[str, ...]
    workers: int
    limits: Limits
    settings: TwinSettings
    json_file: Path | None
    page: Path | None
    repro: Path | None
    ledger: Path | None
    accept: bool = False
    release: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """The plan of a run: rows and operators.

    Parameters
    ----------
    known, offered
        All operators of the target, and all rows.
    """

    known: tuple[CheckedOperator, ...]
    offered: tuple[CheckedRow, ...]
    operators: tuple[CheckedOperator, ...]
    rows: tuple[CheckedRow, ...]
    versions: Mapping[str, str]

    def cells(self) -> list[list[Cell]]:
        """Return the cells of each operator, in the order of the rows."""
        return [
            [
                Cell(
                    operator=each.name,
                    row=row.name,
                    column=column,
                    process=row.process,
                    place=each.place,
                )
                for row in self.rows
                for column in row.columns
            ]
            for each in self.operators
        ]


def run_session(options: Options, *, list_only: bool) -> int:
    """Check the target and report what was found; return the exit code.

    Parameters
    ----------
    list_only
        Print what would be run.
    """
    console = Console(stderr=True)
    with ExitStack() as stack:
        # Once: the second time, files with kernels are imported already and would declare none.
        packages = build_packages(options.settings.kernels) if options.settings.kernels else ()
        server = stack.enter_context(closing(start(options, packages)))
        with show_waiting("importing torch and torch_npu"):
            ready = server.ready()
        rows = choose_rows(ready.rows, options.rows)
        pool = Pool(server, options.request, options.limits)
        with show_waiting(f"importing {options.request.target}"):
            facts = pool.load()
        known = tuple(CheckedOperator(**each) for each in facts["operators"])
        for name, why in facts["unreadable"]:
            console.print(f"left out: {name}: {why}", highlight=False, markup=False)
        matrix = Matrix(
            known=known,
            offered=ready.rows,
            operators=choose_operators(known, options.operators),
            rows=rows,
            versions={"opwright": __version__, **ready.versions},
        )
        if list_only:
            text = list_text(matrix.operators, rows, pool.applies())
            with report_unwritable(STDOUT):
                typer.echo(text)
            return 0
        console.print(
            f"import of torch and torch_npu {ready.seconds:.1f} s, of the target "
            f"{facts['seconds']:.1f} s; {write_count(len(matrix.operators), 'operator')}, "
            f"{write_count(len(rows), 'row')}",
            highlight=False,
        )
        return run_matrix(pool, matrix, options, console)


def start(options: Options, packages: Sequence[Path]) -> Server:
    """Start a process that workers can be forked from.

    Parameters
    ----------
    packages
        The user's kernels.
    """
    settings = replace(options.settings, kernel_checks=True)
    environment = twin_environment(os.environ, installed_toolkit(), settings, packages)
    return Server(environment, rows=row_names(options.rows))


def row_names(given: Iterable[str]) -> list[str]:
    """Return the rows of ROW and ROW/COLUMN."""
    return [each.partition("/")[0] for each in given]


def run_matrix(pool: Pool, matrix: Matrix, options: Options, console: Console) -> int:
    """Examine all cells and report what was found; return the exit code."""
    entries = ledger_entries(options, matrix)
    cells = matrix.cells()
    begin = time.monotonic()
    outcomes, is_whole = examine_cells(pool, cells, min(options.workers, len(cells)), console)
    record = Record(
        target=options.request.target,
        versions=matrix.versions,
        seed=options.request.seed,
        seconds=time.monotonic() - begin,
        operators=matrix.operators,
        rows=matrix.rows,
        outcomes=put_in_order(outcomes, cells),
    )
    columns = {row.name: row.columns for row in matrix.offered}
    judgement = judge_outcomes(
        record.outcomes,
        entries,
        operators=[each.name for each in matrix.known],
        columns=columns,
        versions=matrix.versions,
    )
    record = replace(record, known=judgement.known, unexpected=judgement.unexpected)
    report(record, options)
    if options.accept and options.ledger is not None:
        with report_unwritable("--accept"):
            count = accept(options.ledger, new_failures(record), columns=columns)
        console.print(
            f"{write_count(count, 'entry', 'entries') or 'no entries'} added to {options.ledger}",
            highlight=False,
            markup=False,
        )
    if not is_whole:
        total = sum(map(len, cells))
        console.print(f"interrupted: {len(outcomes)} of {total} cells were run", highlight=False)
        return INTERRUPTED
    if options.release is not None:
        keep_schemas(record, matrix, options.release, console)
    return 0 if is_passed(record) else 1


def keep_schemas(record: Record, matrix: Matrix, version: str, console: Console) -> None:
    """Write the schemas of a release, if nothing was found."""
    if not is_passed(record):
        text = "not released: mend what was found, or give it a reason in the ledger"
        console.print(text, highlight=False)
        return
    with report_unwritable("--release"):
        files = write_releases(matrix.known, version)
    for file in files:
        console.print(f"schemas of {version} written to {file}", highlight=False, markup=False)


def ledger_entries(options: Options, matrix: Matrix) -> tuple[Entry, ...]:
    """Return what the ledger has; one that is to be made has nothing yet.

    Raises
    ------
    LedgerFileError, LedgerError
        OPW-C021, OPW-C026.
    """
    file = options.ledger
    if file is None or (options.accept and not file.exists()):
        return ()
    names = [each.name for each in matrix.known]
    return read_ledger(file, operators=names, rows=matrix.offered, lenient=options.accept)


def examine_cells(
    pool: Pool, cells: Sequence[Sequence[Cell]], workers: int, console: Console
) -> tuple[list[Outcome], bool]:
    """Return the outcomes, and whether all cells were run."""
    outcomes = []
    counts = {each[0].operator: len(each) for each in cells if each}
    try:
        with Progress(console, counts) as progress:
            for event in pool.run(cells, workers):
                if isinstance(event, Finished):  # before it is shown: Ctrl-C may come then
                    outcomes.append(event.outcome)
                progress.note(event)
    except KeyboardInterrupt:
        return outcomes, False
    return outcomes, True


def put_in_order(
    outcomes: Iterable[Outcome], cells: Iterable[Iterable[Cell]]
) -> tuple[Outcome, ...]:
    """Return the outcomes in the order of their cells."""
    known = {(each.operator, each.row, each.column): each for each in outcomes}
    keys = [(each.operator, each.row, each.column) for group in cells for each in group]
    return tuple(known[key] for key in keys if key in known)


def report(record: Record, options: Options) -> None:
    """Print the run and write its files, each also if another cannot be written.

    Raises
    ------
    OutputError, EditedFilesError, LeavesFolderError, WriteError
        OPW-C010, OPW-B001, OPW-B023, OPW-B002.
    """
    outputs = Outputs()
    is_printed = options.json_file == PRINTED
    if is_printed:
        with outputs.one(STDOUT):
            typer.echo(record_json(record), nl=False)
    elif options.json_file is not None:
        with outputs.one("--json"):
            write_atomically(options.json_file, record_json(record), force=True)
    scripts = {}
    if options.repro is not None:
        with outputs.one("--repro"):
            scripts = write_scripts(options.repro, record, options.request)
    if options.page is not None:
        with outputs.one("--html"):
            write_atomically(options.page, page_of(record, scripts=scripts), force=True)
    console = Console(stderr=is_printed)
    width = console.width if console.is_terminal else WIDTH
    with outputs.one(STDOUT):
        console.print(
            record_text(record, scripts=scripts, width=width), highlight=False, soft_wrap=True
        )
    outputs.finish()
