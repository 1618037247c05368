"""Runs the cases over several processes: `python -m tests.conformance --help`."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import opwright.twin  # noqa: F401 - before torch

# isort: split
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

from tests.conformance import ledger, report
from tests.conformance.cases import all_cases
from tests.conformance.ledger import match
from tests.conformance.pool import Result, run_cases
from tests.conformance.sample import choose
from tests.conformance.verdict import judge, share_of

if TYPE_CHECKING:
    from tests.conformance.case import Case


def main(
    patterns: Annotated[
        list[str] | None,
        typer.Argument(help="Cases as entry/dtype/check, shell patterns; all if none."),
    ] = None,
    *,
    names: Annotated[bool, typer.Option("--list", help="Print the cases, run none.")] = False,
    jobs: Annotated[int, typer.Option(help="Processes.")] = os.cpu_count() or 1,
    sample: Annotated[float, typer.Option(help="Share of the cases to run.")] = 1.0,
    seed: Annotated[str, typer.Option(help="Text that chooses the sample.")] = "",
    page: Annotated[Path | None, typer.Option(help="Write the numbers to this page.")] = None,
    log: Annotated[
        Path | None, typer.Option(help="Write each result to this file, as it comes.")
    ] = None,
    counts: Annotated[Path | None, typer.Option(help="Write how many pass, as JSON.")] = None,
) -> None:
    """Run PyTorch's operator tests on the twin and compare with the ledger.

    Exit code 1 if a case does not pass that the ledger does not know, or is not what it expects;
    2 if no case is asked for.
    """
    cases = [case for case in all_cases() if wanted(case, patterns or [])]
    cases = choose(cases, seed, sample) if sample < 1 else cases
    if not cases:
        message = f"no case is chosen by {patterns or 'all'} and --sample {sample}; see --list"
        raise typer.BadParameter(message)
    if names:
        typer.echo("\n".join(map(str, cases)))
        return
    expected = ledger.read()
    verdicts = judge(run(cases, jobs, log), expected)
    if page is not None:
        page.write_text(report.page(verdicts, expected), encoding="utf-8")
    if counts is not None:
        share = share_of(verdicts)
        counts.write_text(json.dumps({**asdict(share), "supported": share.supported}) + "\n")
    complaints = [verdict.complaint for verdict in verdicts if verdict.complaint]
    console = Console(highlight=False, soft_wrap=True)
    for complaint in complaints:
        console.print(complaint.splitlines()[0], markup=False)
    for text in report.table("dtype", report.groups(verdicts, lambda one: one.result.case.dtype)):
        console.print(text, markup=False)
    raise typer.Exit(1 if complaints else 0)


def wanted(case: Case, patterns: list[str]) -> bool:
    """Return whether a case is asked for."""
    return not patterns or any(match(pattern, case) for pattern in patterns)


def run(cases: list[Case], jobs: int, log: Path | None) -> list[Result]:
    """Run cases with a progress bar; return the results in the order of the cases."""
    results: dict[Case, Result] = {}
    columns = ("[progress.description]{task.description}", BarColumn(), MofNCompleteColumn())
    with (
        Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as progress,
        Path(log or os.devnull).open("w", encoding="utf-8", buffering=1) as lines,
    ):
        task = progress.add_task("cases", total=len(cases))
        for result in run_cases(cases, jobs):
            results[result.case] = result
            lines.write(line(result))
            progress.advance(task)
    return [results[case] for case in cases]


def line(result: Result) -> str:
    """Return a result as a line."""
    message = " ".join(result.message.split())
    return f"{result.case}\t{result.outcome}\t{result.seconds:.2f}\t{message}\n"


if __name__ == "__main__":
    typer.run(main)
