"""`opwright import` and `opwright export`: declarations from other formats, and to them."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer reads the annotations at run time
from typing import Annotated

import typer

from opwright.command_line.output import Json  # noqa: TC001 - as Path

__all__ = ["export", "import_"]


def import_(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="op-plugin's YAML, C++ with REG_OP or OpDef, or JSON for msOpGen.",
        ),
    ],
    *,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="OUT", help="File to write (default: print)."),
    ] = None,
    derivatives: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="derivatives.yaml that belongs to op_plugin_functions.yaml.",
        ),
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of the operators (default: named like the file)."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only these operators; * stands for any part."),
    ] = None,
    torch: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION", help="Read what is for this version (default: the newest variants)."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite OUT.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Name all that could not be expressed.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Turn operators that are described elsewhere into a declaration to edit.

    What was read, and what a declaration cannot express, is said on standard error. The exit code
    is 1 if an operator had to be left out.
    """
    from opwright.kit.formats.verbs import import_file  # noqa: PLC0415 - so that --help starts at once

    complete = import_file(
        file,
        output=output,
        derivatives=derivatives,
        namespace=namespace,
        only=only or (),
        torch=torch,
        force=force,
        verbose=verbose,
        as_json=as_json,
    )
    raise typer.Exit(not complete)


def export(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", exists=True, dir_okay=False, help="A declaration: a Python module."
        ),
    ],
    *,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="DIR", help="Folder to write to (default: print)."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files in DIR.")] = False,
    as_json: Json = False,
) -> None:
    """Write a declaration as op-plugin's YAML: op_plugin_functions.yaml and derivatives.yaml.

    What these files cannot say is a comment in them and is said on standard error; the exit code
    is then 1.
    """
    from opwright.kit.formats.verbs import export_file  # noqa: PLC0415 - as above

    raise typer.Exit(not export_file(file, output=output, force=force, as_json=as_json))
