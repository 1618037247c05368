"""`opwright new` and `opwright add`: a project, and one more operator in it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from opwright.command_line.output import Json, print_json
from opwright.project.errors import CannotAddError
from opwright.project.template import TEMPLATES, find_template

__all__ = ["add", "new"]

DEFAULT = "functional"
SUMMARIES = "; ".join(f"{each.name}: {each.summary}" for each in TEMPLATES.values())

TemplateName = Annotated[str | None, typer.Option("--from", metavar="TEMPLATE", help=SUMMARIES)]


def new(
    name: Annotated[
        Path, typer.Argument(metavar="NAME", help="Folder to make; its name is the package's.")
    ],
    *,
    template: TemplateName = None,
    as_json: Json = False,
) -> None:
    """Make a project: a declaration with one operator, tests, Makefile, README, CI.

    `make test` passes in it as it is. Nothing that exists is touched.
    """
    from opwright.project.new import make_project  # noqa: PLC0415 - reads torchgen; --help does not

    found = find_template(template or DEFAULT, where="opwright new, --from")
    folder = make_project(name, found)
    if as_json:
        print_json({"folder": folder, "operator": found.operator})
        return
    typer.echo(
        f"made {folder} with the operator {found.operator}\n"
        f"next: cd {name} && make test      the declaration is in operators.py"
    )


def add(
    operator: Annotated[
        str,
        typer.Argument(
            metavar="SCHEMA|NAME", help='"rescale(Tensor x, float factor) -> Tensor", or a name.'
        ),
    ],
    *,
    folder: Annotated[
        Path, typer.Option("--project", metavar="DIR", help="The project's folder.")
    ] = Path(),
    template: TemplateName = None,
    as_json: Json = False,
) -> None:
    """Add an operator at the end of the project's declaration.

    A schema gives a declaration whose reference is to be written; a name gives the operator of a
    template under that name.
    """
    from opwright.project.add import add_schema, add_template  # noqa: PLC0415 - as above
    from opwright.project.config import read_project  # noqa: PLC0415

    project = read_project(folder)
    if "(" not in operator:
        found = find_template(template or DEFAULT, where="opwright add, --from")
        added = add_template(project, operator, found)
    elif template is None:
        added = add_schema(project, operator)
    else:
        raise CannotAddError(
            where="opwright add, --from",
            got=f"{template!r} beside a schema",
            fix="give a schema, or a name and a template",
        )
    if as_json:
        print_json({"operator": added.name, "file": added.file, "line": added.line})
        return
    what = "write its reference" if "(" in operator else "make it yours"
    typer.echo(f"added {added.name} at {added.file}:{added.line}; {what}")
