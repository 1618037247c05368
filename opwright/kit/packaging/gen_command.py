"""`opwright gen`: writes everything that is derived from the declaration, to be read or built."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from opwright.command_line.options import ForTorch  # noqa: TC001 - Typer reads it
from opwright.command_line.output import Json, print_json
from opwright.command_line.waiting import show_waiting

if TYPE_CHECKING:
    from opwright.kit.packaging.emitted_tree import Sources
    from opwright.kit.packaging.writer import Changes
    from opwright.project.config import Project

__all__ = ["gen"]


def gen(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The project's folder.")] = Path(),
    *,
    torch: ForTorch = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit code 1 if anything would change.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write the generated tree: C++, Python API, stubs, converters, tests, build files.

    It stands in generated/ of the project and builds without opwright: pip wheel generated/
    --no-build-isolation. Files that were edited by hand are reported and left as they are.
    """
    from opwright.kit.packaging.emitted_tree import read_sources  # noqa: PLC0415 - reads torchgen; --help does not
    from opwright.kit.packaging.writer import compare_tree, write_tree  # noqa: PLC0415
    from opwright.project.config import read_project, retarget  # noqa: PLC0415

    project = retarget(read_project(folder), torch)
    act = compare_tree if check else write_tree
    with show_waiting("deriving"):
        sources = read_sources(project, project.options)
    for note in sources.notes:
        typer.echo(note, err=True)
    changes = act(project.generated, sources.files)
    if as_json:
        print_json(
            {
                "folder": project.generated,
                "files": len(sources.files),
                "written": changes.written,
                "removed": changes.removed,
                "operators": [each.name for each in sources.facts.declaration.operators],
                "notes": sources.notes,
            }
        )
    else:
        report(project, sources, changes, check=check)
    if check and changes:
        raise typer.Exit(1)


def report(project: Project, sources: Sources, changes: Changes, *, check: bool) -> None:
    """Print what was written or would be."""
    for what, paths in (("write", changes.written), ("remove", changes.removed)):
        for path in paths:
            typer.echo(f"{what:7} {project.generated.name}/{path}")
    changed = len(changes.written) + len(changes.removed)
    operators = len(sources.facts.declaration.operators)
    typer.echo(
        f"{changed} of {len(sources.files)} files {'would change' if check else 'changed'} for "
        f"{operators} operator{'' if operators == 1 else 's'}"
    )
