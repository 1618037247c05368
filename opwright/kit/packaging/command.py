"""`opwright build`: the wheel of a project."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from opwright.command_line.options import ForTorch  # noqa: TC001 - Typer reads it
from opwright.command_line.output import Json, print_json
from opwright.kit.packaging.errors import StableAbiError

__all__ = ["build"]


def build(
    folder: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="The project's folder.", show_default=False)
    ] = Path(),
    *,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="DIR", help="Default: its dist/."),
    ] = None,
    stable_abi: Annotated[
        bool | None,
        typer.Option(
            "--stable-abi/--full-abi",
            help="Use only libtorch's stable ABI, or all of it (default: as pyproject.toml says).",
            show_default=False,
        ),
    ] = None,
    torch: ForTorch = None,
    plugin: Annotated[
        bool, typer.Option("--plugin", help="No compiler: a Python package that opwright loads.")
    ] = False,
    jobs: Annotated[
        int | None, typer.Option("-j", "--jobs", metavar="N", min=1, help="Compilers at a time.")
    ] = None,
    no_compile: Annotated[
        bool, typer.Option("--no-compile", help="Fail where the cache has not all that is needed.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Build the project's wheel.

    Emits the sources into generated/, compiles what changed, and writes the wheel. It needs torch
    and torch_npu where it is installed, but not opwright (a plugin does). The exit code is 2 if
    something is wrong; the message says what.
    """
    # These imports take a moment; --help of the other verbs does not wait for them.
    from rich.console import Console  # noqa: PLC0415

    from opwright.kit.packaging.build import Request, build_plugin, build_wheel, default_out  # noqa: PLC0415
    from opwright.kit.packaging.progress import Progress  # noqa: PLC0415
    from opwright.project.config import read_project, retarget  # noqa: PLC0415

    project = retarget(read_project(folder), torch)
    if stable_abi is not None:
        if plugin and stable_abi:
            raise StableAbiError(
                where="opwright build, --stable-abi",
                got="--plugin, which compiles nothing",
                fix="leave out one of them",
            )
        options = dataclasses.replace(project.options, stable_abi=stable_abi)
        project = dataclasses.replace(project, options=options)
    request = Request(
        project=project,
        out=out or default_out(project),
        may_compile=not no_compile,
        jobs=jobs,
    )
    progress = Progress(None if as_json else Console(highlight=False))
    built = (build_plugin if plugin else build_wheel)(request, progress)
    if as_json:
        steps = [dataclasses.asdict(step) for step in built.steps]
        print_json({"wheel": built.wheel, "steps": steps, "notes": progress.notes})
    else:
        typer.echo(str(built.wheel))
