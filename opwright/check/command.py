"""`opwright check`: proof that an operator's deliverables agree."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.console import Console

from opwright import __version__
from opwright.check.as_json import run_text as run_json
from opwright.check.errors import (
    NumberError,
    OutputError,
    TargetError,
    UnknownColumnError,
    UnknownOperatorError,
    UnknownRowOptionError,
)
from opwright.check.failures import is_passed
from opwright.check.processes.client import Server
from opwright.check.processes.lost import Cell
from opwright.check.processes.pool import Finished, Limits, Pool, RefusedError
from opwright.check.progress import Progress
from opwright.check.report.terminal import run_text
from opwright.check.request import Request
from opwright.check.run import CheckedOperator, CheckedRow, Run
from opwright.errors import counted, nearest_first
from opwright.twin.launch import launch_environment
from opwright.twin.options import Kernels, Memory, Soc, read_settings
from opwright.twin.settings import parse_memory

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from opwright.check.outcome import Outcome
    from opwright.check.processes.client import Ready

__all__ = ["check"]

MOST_WORKERS = 64
DEFAULT_WORKERS = 2  # each takes most of a gigabyte
INTERRUPTED = 130  # exit code, as shells have it for Ctrl-C
MOST_SHOWN = 12  # names in a message


def check(  # noqa: PLR0913 - a parameter for each option
    target: Annotated[
        str,
        typer.Argument(
            help="A declaration (FILE.py or a module), a project's folder, an installed package, "
            "a library (FILE.so), or a namespace with --load.",
        ),
    ],
    *,
    op: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this operator; may be repeated.")
    ] = None,
    row: Annotated[
        list[str] | None,
        typer.Option(metavar="ROW[/COLUMN]", help="Only this row; may be repeated."),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the run for programs.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write the run as one page.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option("-n", "--workers", help="Operators at a time (default: cores, at most 2)."),
    ] = None,
    load: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Library (.so) or Python file that registers operators."),
    ] = None,
    declaration: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Declaration that describes another library's operators."
        ),
    ] = None,
    repro: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write a script for each failure.")
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Known failures, with reasons.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the samples.")] = 0,
    timeout: Annotated[float, typer.Option(metavar="S", help="Seconds for one cell.")] = 120.0,
    memory_limit: Annotated[
        str, typer.Option(metavar="SIZE", help="By how much a cell's process may grow.")
    ] = "4G",
    soc: Soc = None,
    memory: Memory = None,
    kernels: Kernels = None,
    list_only: Annotated[
        bool, typer.Option("--list", help="Print operators, rows and columns, and run nothing.")
    ] = False,
) -> None:
    """Check that an operator's deliverables agree: kernel, schema, Meta, gradients, graphs, ...

    Runs on the twin. The exit code is 0 if nothing was found, 1 if something was, 2 if the check
    could not do its work.
    """
    options = Options(
        request=Request(
            target=target,
            load=tuple(str(each.absolute()) for each in load or ()),
            declaration=declaration,
            seed=seed,
        ),
        operators=tuple(op or ()),
        rows=tuple(row or ()),
        workers=worker_count(workers),
        limits=Limits(
            seconds=seconds(timeout), memory=parse_memory(memory_limit, where="--memory-limit")
        ),
        json_file=output(json_file, where="--json"),
        page=output(page, where="--html"),
        repro=repro,
        ledger=ledger,
        list_only=list_only,
    )
    check_target(options.request)
    settings = read_settings(soc, None, memory, kernels)
    if settings.memory is None and "OPWRIGHT_MEMORY" not in os.environ:
        # So that an operator that allocates without end meets the device's limit, as on hardware.
        settings = replace(settings, memory=max(options.limits.memory // 2, 1 << 28))
    environment = launch_environment(os.environ, settings)
    signal.signal(signal.SIGTERM, interrupt)
    with Server(environment, compilers=not options.rows) as server:
        try:
            code = work(options, server)
        except RefusedError as error:
            typer.echo(str(error), err=True)
            code = 2
    raise typer.Exit(code)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The command line, checked."""

    request: Request
    operators: tuple[str, ...]
    rows: tuple[str, ...]
    workers: int
    limits: Limits
    json_file: Path | None
    page: Path | None
    repro: Path | None
    ledger: Path | None
    list_only: bool


def interrupt(*_: object) -> NoReturn:
    """End as Ctrl-C does."""
    raise KeyboardInterrupt


def worker_count(asked: int | None) -> int:
    """Return how many workers to use.

    Raises
    ------
    NumberError
        OPW-C009.
    """
    if asked is None:
        return min(len(os.sched_getaffinity(0)), DEFAULT_WORKERS)
    if not 1 <= asked <= MOST_WORKERS:
        raise NumberError(where="-n", got=str(asked), allowed=[f"1 to {MOST_WORKERS}"])
    return asked


def seconds(timeout: float) -> float:
    """Return the time for a cell.

    Raises
    ------
    NumberError
        OPW-C009.
    """
    if not timeout > 0:
        raise NumberError(where="--timeout", got=f"{timeout:g}", allowed=["more than 0"])
    return timeout


def output(file: Path | None, *, where: str) -> Path | None:
    """Return a file that can be written, before a run is lost for it.

    Raises
    ------
    OutputError
        OPW-C010.
    """
    if file is None:
        return None
    folder = file.absolute().parent
    if not folder.is_dir():
        raise OutputError(where=where, got=f"'{file}': there is no folder '{folder}'")
    if file.is_dir():
        raise OutputError(where=where, got=f"'{file}', which is a folder")
    if not os.access(file if file.exists() else folder, os.W_OK):
        raise OutputError(where=where, got=f"'{file}': no permission to write")
    return file


def check_target(request: Request) -> None:
    """Refuse at once what is meant as a path and is not there.

    Raises
    ------
    TargetError
        OPW-C001.
    """
    path = Path(request.target)
    if path.exists() or not (path.suffix in {".py", ".so"} or os.sep in request.target):
        return
    folder = path.parent
    if not folder.is_dir():
        raise TargetError(where="TARGET", got=f"{request.target!r}: there is no folder '{folder}'")
    beside = [
        str(folder / each.name)
        for each in folder.iterdir()
        if each.suffix in {".py", ".so"} or (each / "pyproject.toml").is_file()
    ]
    raise TargetError(
        where="TARGET",
        got=f"{request.target!r}: no such file or folder",
        allowed=nearest_first(request.target, beside)[:MOST_SHOWN],
    )


def work(options: Options, server: Server) -> int:
    """Check the target and tell what was found; return the exit code."""
    console = Console(stderr=True)
    ready = server.ready()
    rows = chosen_rows(ready, options.rows)
    pool = Pool(server, options.request, options.limits, ENVIRONMENTS)
    facts = pool.load()
    operators = tuple(CheckedOperator(**each) for each in facts["operators"])
    chosen = chosen_operators(operators, options.operators)
    for name, why in facts["unreadable"]:
        console.print(f"left out: {name}: {why}", highlight=False, markup=False)
    if options.list_only:
        typer.echo(list_text(chosen, rows, pool.applies()))
        return 0
    console.print(
        f"import of torch and torch_npu {ready.seconds:.1f} s; "
        f"{counted(len(chosen), 'operator')}, {counted(len(rows), 'row')}",
        highlight=False,
    )
    cells = [
        [
            Cell(
                operator=each.name,
                row=row.name,
                column=column,
                process=ready.kinds[row.name],
                place=each.place,
            )
            for row in rows
            for column in row.columns
        ]
        for each in chosen
    ]
    start = time.monotonic()
    outcomes, is_whole = examined(pool, cells, min(options.workers, len(chosen)), console)
    run = Run(
        target=options.request.target,
        versions={"opwright": __version__, **ready.versions},
        seed=options.request.seed,
        seconds=time.monotonic() - start,
        operators=chosen,
        rows=rows,
        outcomes=in_order(outcomes, cells),
    )
    told(run, options)
    if not is_whole:
        total = sum(map(len, cells))
        typer.echo(f"interrupted: {len(outcomes)} of {total} cells were run", err=True)
        return INTERRUPTED
    return 0 if is_passed(run) else 1


# Variables of processes that rows ask for; see Row.process.
ENVIRONMENTS: Mapping[str, Mapping[str, str]] = {"guarded": {}}


def examined(
    pool: Pool, cells: Sequence[Sequence[Cell]], workers: int, console: Console
) -> tuple[list[Outcome], bool]:
    """Return the outcomes, and whether all cells were run."""
    outcomes = []
    counts = {each[0].operator: len(each) for each in cells if each}
    try:
        with Progress(console, counts) as progress:
            for event in pool.run(cells, workers):
                progress.note(event)
                if isinstance(event, Finished):
                    outcomes.append(event.outcome)
    except KeyboardInterrupt:
        return outcomes, False
    return outcomes, True


def in_order(outcomes: Iterable[Outcome], cells: Iterable[Iterable[Cell]]) -> tuple[Outcome, ...]:
    """Return the outcomes in the order of their cells."""
    known = {(each.operator, each.row, each.column): each for each in outcomes}
    keys = [(each.operator, each.row, each.column) for group in cells for each in group]
    return tuple(known[key] for key in keys if key in known)


def told(run: Run, options: Options) -> None:
    """Print the run and write its files."""
    console = Console()
    console.print(run_text(run), highlight=False, soft_wrap=True)
    if options.json_file is not None:
        options.json_file.write_text(run_json(run), encoding="utf-8")


def chosen_rows(ready: Ready, names: Sequence[str]) -> tuple[CheckedRow, ...]:
    """Return the rows to run, with the columns to run.

    Raises
    ------
    UnknownRowOptionError, UnknownColumnError
        OPW-C007, OPW-C008.
    """
    if not names:
        return ready.rows
    known = {row.name: row for row in ready.rows}
    wanted: dict[str, list[str]] = {}
    for given in names:
        name, _, column = given.partition("/")
        if name not in known:
            raise UnknownRowOptionError(
                where="--row", got=repr(given), allowed=nearest_first(name, known)
            )
        columns = known[name].columns
        if column and column not in columns:
            raise UnknownColumnError(
                where="--row", got=repr(given), allowed=[f"{name}/{each}" for each in columns]
            )
        wanted.setdefault(name, []).extend([column] if column else columns)
    return tuple(
        replace(row, columns=tuple(each for each in row.columns if each in wanted[name]))
        for name, row in known.items()
        if name in wanted
    )


def chosen_operators(
    operators: Sequence[CheckedOperator], names: Sequence[str]
) -> tuple[CheckedOperator, ...]:
    """Return the operators to check; a name may lack its namespace.

    Raises
    ------
    UnknownOperatorError
        OPW-C006.
    """
    if not names:
        return tuple(operators)
    for given in names:
        if not any(is_named(each.name, given) for each in operators):
            known = [each.name for each in operators]
            if "::" not in given:
                known = [each.partition("::")[2] for each in known]
            raise UnknownOperatorError(
                where="--op", got=repr(given), allowed=nearest_first(given, known)[:MOST_SHOWN]
            )
    return tuple(each for each in operators if any(is_named(each.name, given) for given in names))


def is_named(name: str, given: str) -> bool:
    """Tell whether a user's name is that of an operator.

    >>> is_named("my::scale.scalar", "scale.scalar"), is_named("my::scale.scalar", "my::scale")
    (True, True)
    """
    return given in {form for full in (name, name.partition(".")[0]) for form in forms(full)}


def forms(name: str) -> tuple[str, str]:
    """Return a name with and without its namespace."""
    return name, name.partition("::")[2]


def list_text(
    operators: Sequence[CheckedOperator],
    rows: Sequence[CheckedRow],
    applies: Iterable[Sequence[str | None]],
) -> str:
    """Return the operators, rows and columns that a run would have."""
    reasons = {(name, row): why for name, row, why in applies}
    lines = [f"{counted(len(rows), 'row')}:"]
    lines += [f"  {row.name}  [{', '.join(row.columns)}]  {row.title}" for row in rows]
    lines.append(f"{counted(len(operators), 'operator')}:")
    for each in operators:
        lines.append(f"  {each.name}  {each.place}")
        for row in rows:
            why = reasons.get((each.name, row.name))
            if why is not None:
                lines.append(f"    not {row.name}: {why}")
    return "\n".join(lines)
