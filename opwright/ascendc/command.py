"""`opwright ascendc`: operator projects in Ascend C."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["ascendc_app"]

ascendc_app = typer.Typer(
    help="Operators written in Ascend C: build their projects, start new ones.",
    no_args_is_help=True,
)


@ascendc_app.command()
def build(
    folder: Annotated[
        Path, typer.Argument(metavar="PROJECT", help="The folder with op_host and op_kernel.")
    ] = Path(),
    *,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Default: PROJECT/build_out/packages."),
    ] = None,
    soc: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CHIP", help="As AddConfig names it; default: those of CMakePresets.json."
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Compilations at a time.")
    ] = None,
    install: Annotated[
        bool, typer.Option("--install", help="Also into ASCEND_OPP_PATH, or the twin's opp.")
    ] = False,
) -> None:
    """Build an operator project into a custom operator package for the twin.

    Prints the package's folder, which ASCEND_CUSTOM_OPP_PATH names:
    `opwright run` then finds its aclnn functions and GE types.
    """
    from opwright.ascendc.builder import build_package  # noqa: PLC0415 - --help needs none of it
    from opwright.ascendc.install import install_package  # noqa: PLC0415
    from opwright.ascendc.project_layout import read_project  # noqa: PLC0415
    from opwright.ascendc.toolchain import cores  # noqa: PLC0415
    from opwright.command_line.waiting import show_waiting  # noqa: PLC0415
    from opwright.twin.toolkit import installed_toolkit  # noqa: PLC0415

    project = read_project(folder)
    with show_waiting("compiling"):
        package = build_package(
            project,
            installed_toolkit(),
            out or folder / "build_out" / "packages",
            chips=tuple(soc or ()),
            jobs=jobs or cores(),
        )
    typer.echo(
        f"{', '.join(package.operators)}: {package.kernels} kernels, "
        f"{package.compiled} files compiled",
        err=True,
    )
    typer.echo(package.folder)
    if install:
        typer.echo(f"installed in {install_package(package.folder)}", err=True)


@ascendc_app.command()
def new(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE", help="An msOpGen JSON, a REG_OP header, or a declaration (*.py)."
        ),
    ],
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Default: a folder of the operator's name."
        ),
    ] = None,
    op: Annotated[
        str | None, typer.Option(metavar="TYPE", help="The operator, if there are several.")
    ] = None,
    soc: Annotated[str, typer.Option(metavar="CHIP", help="For AddConfig.")] = "ascend910b",
) -> None:
    """Make an operator project: definition, inference, tiling, a kernel that builds and runs."""
    from opwright.ascendc.new import make_project  # noqa: PLC0415 - --help needs none of it

    made = make_project(source, out, op=op, chip=soc)
    typer.echo(f"made {made}\nnext: opwright ascendc build {made}")
