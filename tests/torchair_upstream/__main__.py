"""Runs TorchAir's own system tests on the twin: `python -m tests.torchair_upstream --help`."""

from __future__ import annotations

import os
from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import Annotated

import typer

from tests.torchair_upstream import KINDS, REVIEWED
from tests.torchair_upstream.pool import modules, run_modules
from tests.upstream import reviewed
from tests.upstream.command import chosen_modules, judge


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
    entries = reviewed.read(REVIEWED, KINDS)
    on_device = [entry.test for entry in entries.values() if entry.kind == "device"]
    names = chosen_modules(modules(checkout), chosen)
    parts = run_modules(checkout.resolve(), names, patterns=chosen, on_device=on_device, jobs=jobs)
    judge(parts, entries, patterns=chosen, log=log)


if __name__ == "__main__":
    typer.run(main)
