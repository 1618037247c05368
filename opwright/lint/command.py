"""`opwright lint`: options in, report out."""

from __future__ import annotations

import time
from contextlib import contextmanager
from enum import Enum
from pathlib import Path  # noqa: TC003 - Typer reads the annotations at run time
from typing import TYPE_CHECKING, Annotated

import typer

from opwright.command_line.output import Json  # noqa: TC001 - as Path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["lint"]

PROGRESS_AFTER = 2.0  # seconds until progress is shown


class Format(Enum):
    """Forms of a report."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"


def lint(  # noqa: PLR0913 - a parameter for each option
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH...",
            help="Folders and files: C++, Python, op-plugin's YAML.",
            show_default=False,
        ),
    ] = None,
    *,
    form: Annotated[
        Format, typer.Option("--format", help="Of the report.", case_sensitive=False)
    ] = Format.TEXT,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="Where to write it (default: print)."),
    ] = None,
    select: Annotated[
        list[str] | None, typer.Option(metavar="RULE", help="Only these rules (repeat, or a,b).")
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="RULE", help="Not these rules (repeat, or a,b).")
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="GLOB", help="Leave out files and folders, relative to PATH."),
    ] = None,
    tests: Annotated[
        bool, typer.Option("--tests", help="Read folders named test and tests too.")
    ] = False,
    statistics: Annotated[
        bool, typer.Option("--statistics", help="What was read, and findings per rule.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Name all that was not read.")
    ] = False,
    json_form: Json = False,
    rules: Annotated[bool, typer.Option("--rules", help="List the rules and end.")] = False,
) -> None:
    """Find faults of operators in sources: registrations, Metas, writes, converters, schemas.

    Nothing is built, imported or run. Several paths are read as one project, so that the schemas
    of one repository are compared with the converters of another. The exit code is 1 if there are
    errors or warnings. docs/lint.md explains each rule.
    """
    # So that --help starts at once.
    from opwright.command_line.files import explain_unwritable  # noqa: PLC0415
    from opwright.lint.errors import LintOutputError, LintPathError  # noqa: PLC0415
    from opwright.lint.linting import choose_rules  # noqa: PLC0415
    from opwright.lint.linting import lint as run  # noqa: PLC0415
    from opwright.lint.output.as_json import as_json  # noqa: PLC0415
    from opwright.lint.output.as_sarif import as_sarif  # noqa: PLC0415
    from opwright.lint.output.as_text import (  # noqa: PLC0415
        as_text,
        rules_as_text,
        statistics_as_text,
    )

    chosen = choose_rules(split(select), split(ignore))
    if rules:
        typer.echo(rules_as_text(chosen), nl=False)
        return
    if not paths:
        raise LintPathError(where="opwright lint", got="no path")
    if output is not None and (why := explain_unwritable(output)):
        raise LintOutputError(where="opwright lint, --out", got=why)
    with progress() as step:
        report = run(paths, rules=chosen, exclude=exclude or (), tests=tests, step=step)
    form = Format.JSON if json_form else form
    if form is Format.JSON:
        text = as_json(report)
    elif form is Format.SARIF:
        text = as_sarif(report)
    else:
        text = as_text(report, verbose=verbose)
    if output is None:
        typer.echo(text, nl=False)
    else:
        write(output, text)
    if statistics:
        typer.echo(statistics_as_text(report), nl=False, err=form is not Format.TEXT)
    raise typer.Exit(report.has_failed)


def write(file: Path, text: str) -> None:
    """Write the report whole or not at all.

    Raises
    ------
    LintOutputError
        OPW-C062.
    """
    from opwright.command_line.files import write_atomically  # noqa: PLC0415 - as above
    from opwright.lint.errors import LintOutputError  # noqa: PLC0415 - as above

    try:
        write_atomically(file, text, force=True)
    except OSError as error:
        raise LintOutputError(where="opwright lint, --out", got=str(error)) from error


def split(given: list[str] | None) -> list[str]:
    """Return the names of an option that takes a list or is repeated."""
    return [name.strip() for each in given or () for name in each.split(",") if name.strip()]


@contextmanager
def progress() -> Iterator[Callable[[int, int], None]]:
    """Show on a terminal how many files are read, once it takes longer than two seconds."""
    from rich.console import Console  # noqa: PLC0415 - as above
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415

    console = Console(stderr=True)
    columns = (TextColumn("reading"), BarColumn(), MofNCompleteColumn())
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task("files")
    start = time.monotonic()
    started = False

    def step(done: int, total: int) -> None:
        nonlocal started
        if not started and console.is_terminal and time.monotonic() - start > PROGRESS_AFTER:
            bar.start()
            started = True
        if started:
            bar.update(task, completed=done, total=total)

    try:
        yield step
    finally:
        if started:
            bar.stop()
