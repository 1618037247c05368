"""Runs TorchAir's own system tests on the twin: `python -m tests.torchair_upstream --help`."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

import typer

from tests.torchair_upstream import reviewed
from tests.torchair_upstream.pool import Result, modules, run_modules


def main(
    checkout: Annotated[
        Path, typer.Argument(exists=True, file_okay=False, help="TorchAir's repository.")
    ],
    patterns: Annotated[
        list[str] | None,
        typer.Argument(help="Tests as module.Class.function, shell patterns; all if none."),
    ] = None,
    *,
    jobs: Annotated[int, typer.Option(help="Processes.")] = os.cpu_count() or 1,
    log: Annotated[Path | None, typer.Option(help="Write each result to this file.")] = None,
) -> None:
    """Run TorchAir's system tests, without its stubs, and compare with the reviewed list.

    Exit code 1 if a test is not what the list says, or the list has a test that is not there.
    """
    chosen = patterns or []
    entries = reviewed.read()
    on_device = [entry.test for entry in entries.values() if entry.kind == "device"]
    names = [name for name in modules(checkout) if not chosen or any_is_about(chosen, name)]
    results: list[Result] = []
    with Path(log or os.devnull).open("w", encoding="utf-8", buffering=1) as file:
        for found in run_modules(
            checkout.resolve(), names, patterns=chosen, on_device=on_device, jobs=jobs
        ):
            results += found
            file.writelines(json.dumps(asdict(result)) + "\n" for result in found)
            for line in reviewed.complaints(found, entries):
                typer.echo(line)
    lines = reviewed.complaints(results, entries)
    missing = [] if chosen else sorted(entries.keys() - {result.test for result in results})
    for test in missing:
        typer.echo(f"{test} (on the list) is no test")
    counts = reviewed.summary(results, entries)
    typer.echo(", ".join(f"{number} {word}" for word, number in sorted(counts.items())))
    if not results:
        message = f"no test is chosen by {chosen}"
        raise typer.BadParameter(message)
    raise typer.Exit(1 if lines or missing else 0)


def any_is_about(patterns: list[str], module: str) -> bool:
    """Return whether one of the patterns may be about a test of a module."""
    return any(fnmatchcase(module, pattern.partition(".")[0]) for pattern in patterns)


if __name__ == "__main__":
    typer.run(main)
