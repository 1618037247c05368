"""JSON for programs: one object on standard output; what is for people is on standard error."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opwright.errors import DiagnosticsError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.errors import OpwrightError

__all__ = ["Json", "print_error", "print_json"]

ASKED = "opwright.json"  # in what the contexts of a command line share: --json was given


def note(context: typer.Context, value: bool) -> bool:  # noqa: FBT001 - Typer calls it
    """Remember that --json was given, for an error."""
    context.meta[ASKED] = value
    return value


Json = Annotated[
    bool,
    typer.Option("--json", help="Print JSON for programs.", callback=note, is_eager=True),
]


def print_json(data: Mapping[str, Any]) -> None:
    """Print the object; what JSON has no form for, such as a path, as text."""
    typer.echo(json.dumps(data, indent=2, default=str))


def print_error(shared: Mapping[str, Any], error: OpwrightError) -> None:
    """Print an error as JSON too, if --json was given.

    Parameters
    ----------
    shared
        What the contexts of the command line share.
    """
    if shared.get(ASKED):
        print_json({"error": describe(error)})


def describe(error: OpwrightError) -> dict[str, Any]:
    """Return an error as plain data, with those that it gathers."""
    fields: dict[str, Any] = {
        "id": error.id,
        "title": error.title,
        "where": error.where,
        "got": error.got,
        "allowed": list(error.allowed),
        "fix": error.fix,
    }
    if isinstance(error, DiagnosticsError):
        fields["errors"] = [describe(each) for each in error.errors]
        fields["warnings"] = [describe(each) for each in error.warnings]
    return fields
