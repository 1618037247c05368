"""`opwright import` and `opwright export`: declarations from other formats, and to them."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer reads the annotations at run time
from typing import TYPE_CHECKING, Annotated

import typer

from opwright.emit.options import EmitOptions
from opwright.errors import counted
from opwright.project.config import Project, load_operators
from opwright.sources.files import namespace_of, read_file, write_atomically
from opwright.sources.module_text import declaration_module
from opwright.sources.op_plugin_write import op_plugin_files
from opwright.sources.variants import choose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.declare.operator import Declaration
    from opwright.sources.imported import Imported, Note

__all__ = ["export", "import_"]

SHOWN = 3  # notes of one subject without --verbose


def say(line: str) -> None:
    """Print a line for people; the text itself goes to standard output."""
    typer.echo(line, err=True)


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
        typer.Option("--output", "-o", metavar="OUT", help="File to write (default: print)."),
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
) -> None:
    """Turn operators that are described elsewhere into a declaration to edit.

    What was read, and what a declaration cannot express, is said on standard error. The exit code
    is 1 if an operator had to be left out.
    """
    imported = read_file(file, derivatives=derivatives, namespace=namespace)
    declaration = choose(imported, torch=torch, only=only or ())
    text = declaration_module(declaration)
    notes = notes_about(imported, declaration, only or ())
    report(imported, declaration, notes, file, verbose=verbose)
    if output is None:
        typer.echo(text, nl=False)
    else:
        changed = write_atomically(output, text, force=force)
        say(f"{'wrote' if changed else 'unchanged'} {output}")
    raise typer.Exit(any(note.subject.startswith("left out") for note in notes))


def notes_about(
    imported: Imported, declaration: Declaration, only: Sequence[str]
) -> tuple[Note, ...]:
    """Return the notes about what was chosen."""
    if not only:
        return imported.notes
    places = {operator.place for operator in declaration.operators}
    return tuple(note for note in imported.notes if note.place in places)


def report(
    imported: Imported,
    declaration: Declaration,
    notes: Sequence[Note],
    file: Path,
    *,
    verbose: bool,
) -> None:
    """Say what was read, and what could not be expressed."""
    say(f"read {file}, {imported.kind}: {counted(len(declaration.operators), 'operator')}")
    older = sum(len(each.operators) for each in imported.declarations[1:])
    if older:
        say(f"{counted(older, 'older variant')} not read: --torch VERSION reads another version's")
    subjects: dict[str, list[Note]] = {}
    for note in notes:
        subjects.setdefault(note.subject, []).append(note)
    for subject, same in subjects.items():
        say(f"{subject}: {counted(len(same), 'time')}")
        for note in same if verbose else same[:SHOWN]:
            detail = f": {note.detail}" if note.detail else ""
            say(f"  {note.place}, {note.operator}{detail}")
        if len(same) > SHOWN and not verbose:
            say(f"  ... {len(same) - SHOWN} more with --verbose")


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
        typer.Option("--output", "-o", metavar="DIR", help="Folder to write to (default: print)."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files in DIR.")] = False,
) -> None:
    """Write a declaration as op-plugin's YAML: op_plugin_functions.yaml and derivatives.yaml.

    What these files cannot say is a comment in them and is said on standard error; the exit code
    is then 1.
    """
    project = Project(
        root=file.parent, declaration=file, options=EmitOptions(package=namespace_of(file))
    )
    written = op_plugin_files(load_operators(project).freeze())
    if output is None:
        typer.echo("\n".join(f"# {name}\n{text}" for name, text in written.files.items()), nl=False)
    else:
        for name, text in written.files.items():
            write_atomically(output / name, text, force=force)
            say(f"wrote {output / name}")
    for operator, reason in written.left_out:
        say(f"not said: {operator}: {reason}")
    raise typer.Exit(bool(written.left_out))
