"""The work of `opwright import` and `opwright export`; `command` reads their options."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from opwright.command_line.errors import OutputError
from opwright.command_line.files import write_atomically
from opwright.command_line.output import print_json
from opwright.errors import write_count
from opwright.kit.declare.reserved import check_namespace
from opwright.kit.emit.options import EmitOptions
from opwright.kit.formats.files import namespace_of, read_file
from opwright.kit.formats.module_text import declaration_module
from opwright.kit.formats.op_plugin_write import op_plugin_files
from opwright.kit.formats.variants import choose
from opwright.pairs import installed_minor
from opwright.project.config import Project, load_operators

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from opwright.kit.declare.operator import Declaration
    from opwright.kit.formats.imported import Imported, Note

__all__ = ["export_file", "import_file"]

SHOWN = 3  # notes of one subject without --verbose


def say(line: str) -> None:
    """Print a line for people; the text itself goes to standard output."""
    typer.echo(line, err=True)


def write(file: Path, text: str, *, force: bool) -> None:
    """Write a file and say so.

    Raises
    ------
    ExistingFileError, OutputError
        OPW-S007, OPW-S009.
    """
    try:
        changed = write_atomically(file, text, force=force)
    except OSError as error:
        raise OutputError(where=str(file), got=error.strerror or str(error)) from error
    say(f"{'wrote' if changed else 'unchanged'} {file}")


def import_file(
    file: Path,
    *,
    output: Path | None,
    derivatives: Path | None,
    namespace: str | None,
    only: Sequence[str],
    torch: str | None,
    force: bool,
    verbose: bool,
    as_json: bool,
) -> bool:
    """Write the module of a file; return whether every operator is in it."""
    if namespace is not None:
        check_namespace(namespace, where="opwright import, --namespace")
    imported = read_file(file, derivatives=derivatives, namespace=namespace)
    declaration = choose(imported, torch=torch, only=only)
    text = declaration_module(declaration)
    notes = notes_about(imported, declaration, only)
    report(imported, declaration, notes, file, verbose=verbose)
    if output is not None:
        write(output, text, force=force)
    if as_json:
        print_json(
            {
                "kind": imported.kind,
                "operators": [each.name for each in declaration.operators],
                "notes": [asdict(note) for note in notes],
                "output": output,
                "text": text if output is None else None,
            }
        )
    elif output is None:
        typer.echo(text, nl=False)
    return not any(note.subject.startswith("left out") for note in notes)


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
    say(f"read {file}, {imported.kind}: {write_count(len(declaration.operators), 'operator')}")
    older = sum(len(each.operators) for each in imported.declarations[1:])
    if older:
        say(
            f"{write_count(older, 'older variant')} not read: "
            "--torch VERSION reads another version's"
        )
    subjects: dict[str, list[Note]] = {}
    for note in notes:
        subjects.setdefault(note.subject, []).append(note)
    for subject, same in subjects.items():
        say(f"{subject}: {write_count(len(same), 'time')}")
        for note in same if verbose else same[:SHOWN]:
            detail = f": {note.detail}" if note.detail else ""
            say(f"  {note.place}, {note.operator}{detail}")
        if len(same) > SHOWN and not verbose:
            say(f"  ... {len(same) - SHOWN} more with --verbose")


def export_file(file: Path, *, output: Path | None, force: bool, as_json: bool) -> bool:
    """Write the YAML of a declaration; return whether it says everything."""
    project = Project(
        root=file.parent,
        declaration=file,
        options=EmitOptions(package=namespace_of(file), torch=installed_minor()),
    )
    written = op_plugin_files(load_operators(project).freeze())
    if output is not None:
        for name, text in written.files.items():
            write(output / name, text, force=force)
    if as_json:
        left_out = [{"operator": name, "why": why} for name, why in written.left_out]
        print_json({"files": written.files, "left_out": left_out, "output": output})
    elif output is None:
        typer.echo("\n".join(f"# {name}\n{text}" for name, text in written.files.items()), nl=False)
    for operator, reason in written.left_out:
        say(f"not said: {operator}: {reason}")
    return not written.left_out
