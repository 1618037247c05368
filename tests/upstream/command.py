"""The part of a runner's command line that is the same for every repository."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict
from typing import TYPE_CHECKING, NoReturn

import typer

from tests.upstream import reviewed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from tests.upstream.results import Result

__all__ = ["chosen_modules", "judge"]


def chosen_modules(names: Iterable[str], patterns: Iterable[str]) -> list[str]:
    """Return the modules that one of the patterns may be about; all without patterns."""
    chosen = [*patterns]
    return [name for name in names if not chosen or any(may_be(name, each) for each in chosen)]


def may_be(module: str, pattern: str) -> bool:
    """Return whether a pattern may be about a test of a module; a wildcard may stand for dots."""
    literal = re.split(r"[*?[]", pattern, maxsplit=1)[0]
    return f"{module}.".startswith(literal) or literal.startswith(f"{module}.")


def judge(
    parts: Iterable[list[Result]],
    entries: Mapping[str, reviewed.Entry],
    *,
    patterns: Iterable[str],
    log: Path | None,
) -> NoReturn:
    """Write the results, print what is not as the list says, and exit: 1 if there is such a line.

    If everything was asked for, each test of the list has to be there, too.
    """
    results: list[Result] = []
    chosen = [*patterns]
    with open(log or os.devnull, "w", encoding="utf-8", buffering=1) as file:  # noqa: PTH123 - devnull
        for found in parts:
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
