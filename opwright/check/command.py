"""`opwright check`: proof that an operator's deliverables agree."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from opwright.check.errors import NumberError, OutputError, PartialReleaseError, TargetError
from opwright.check.known.ledger import default_ledger
from opwright.check.processes.pool import Limits, RefusedError
from opwright.check.quick import QUICK
from opwright.check.request import Request
from opwright.check.session import INTERRUPTED, PRINTED, Options, run_session
from opwright.command_line.files import explain_unwritable
from opwright.errors import sort_nearest_first
from opwright.twin.options import Kernels, Memory, Soc, read_settings
from opwright.twin.settings import parse_memory

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["check"]

MOST_WORKERS = 64
DEFAULT_WORKERS = 2  # each takes most of a gigabyte
LEAST_MEMORY = 1 << 28  # bytes of a device
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
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Only the quickest rows, on samples that are not random: seconds, while you edit.",
        ),
    ] = False,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Write the run for programs; - prints it."),
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
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Known failures, with reasons (default: check.toml beside the declaration).",
        ),
    ] = None,
    accept: Annotated[
        bool,
        typer.Option("--accept", help="Add what fails now to the ledger; reasons are yours."),
    ] = False,
    release: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION",
            help="If nothing is found, keep the schemas as those of this release: schemas.json.",
        ),
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
    """Check that an operator's deliverables agree: kernel, schema, Meta, gradients, graphs.

    Runs on the twin. The exit code is 0 if nothing was found, 1 if something was, 2 if the check
    could not do its work.
    """
    limits = Limits(
        seconds=seconds(timeout), memory=parse_memory(memory_limit, where="--memory-limit")
    )
    options = Options(
        request=Request(
            target=target,
            load=tuple(str(each.absolute()) for each in load or ()),
            declaration=declaration,
            seed=seed,
            quick=quick,
        ),
        operators=tuple(op or ()),
        rows=tuple(row or (QUICK if quick else ())),
        workers=worker_count(workers),
        limits=limits,
        # An operator that allocates without end meets the device's limit, as on hardware.
        settings=read_settings(soc, None, memory, kernels).with_default_memory(
            max(limits.memory // 2, LEAST_MEMORY), os.environ
        ),
        json_file=json_file if json_file == PRINTED else output(json_file, where="--json"),
        page=output(page, where="--html"),
        repro=repro,
        ledger=ledger or default_ledger(target, is_wanted=accept),
        accept=accept,
        release=whole_release(
            release, {"--op": op, "--row": row, "--quick": quick, "--list": list_only}
        ),
    )
    check_target(options.request)
    signal.signal(signal.SIGTERM, interrupt)
    try:
        code = run_session(options, list_only=list_only)
    except RefusedError as error:
        typer.echo(str(error), err=True)
        code = 2
    except KeyboardInterrupt:
        code = INTERRUPTED
    raise typer.Exit(code)


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
    if file is not None and (why := explain_unwritable(file)):
        raise OutputError(where=where, got=why)
    return file


def whole_release(version: str | None, parts: Mapping[str, object]) -> str | None:
    """Return the version to release, if all of it is checked.

    Parameters
    ----------
    parts
        Options that leave something unchecked, with what was given for them.

    Raises
    ------
    PartialReleaseError
        OPW-C012.
    """
    given = [name for name, value in parts.items() if value]
    if version is not None and given:
        raise PartialReleaseError(where="--release", got=f"together with {', '.join(given)}")
    return version


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
        allowed=sort_nearest_first(request.target, beside)[:MOST_SHOWN],
    )
