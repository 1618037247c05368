"""`opwright op-plugin`: operators written for op-plugin, without a build of torch_npu."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from opwright.command_line.output import Json, print_json

__all__ = ["op_plugin_app"]

op_plugin_app = typer.Typer(
    help="Operators written for op-plugin: a wheel in seconds, or a patch of its source tree.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Paths = Annotated[
    list[Path],
    typer.Argument(
        metavar="PATH...",
        help="op_plugin_functions.yaml or entries for it, derivatives.yaml, kernels (.cpp, .h), "
        "Python files with Meta functions and converters; or a folder with them.",
    ),
]


@op_plugin_app.command()
def build(
    paths: Paths,
    *,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Of the package. Default: the first folder's."),
    ] = None,
    version: Annotated[str, typer.Option("--version", help="Of the package.")] = "1.0",
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="For the wheel.")] = Path(
        "dist"
    ),
    jobs: Annotated[
        int | None, typer.Option("-j", "--jobs", metavar="N", min=1, help="Compilers at a time.")
    ] = None,
    no_compile: Annotated[
        bool, typer.Option("--no-compile", help="Fail where the cache has not all that is needed.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Build a wheel whose import adds the operators to torch_npu and torch.ops.npu.

    Generated sources are in build/NAME. The exit code is 2 if something is wrong; the message says
    what.
    """
    # These imports take a moment; --help does not wait for them.
    from rich.console import Console  # noqa: PLC0415

    from opwright.kit.op_plugin.build import build_extension  # noqa: PLC0415
    from opwright.kit.op_plugin.request import Request  # noqa: PLC0415
    from opwright.kit.packaging.progress import Progress  # noqa: PLC0415

    package = name or default_name(paths)
    request = Request(
        paths=paths,
        name=package,
        version=version,
        out=out.absolute(),
        work=Path("build").absolute() / package,
        may_compile=not no_compile,
        jobs=jobs,
    )
    progress = Progress(None if as_json else Console(highlight=False))
    built = build_extension(request, progress)
    if as_json:
        steps = [dataclasses.asdict(step) for step in built.steps]
        print_json({"wheel": built.wheel, "steps": steps, "notes": progress.notes})
    else:
        typer.echo(built.wheel)


def default_name(paths: list[Path]) -> str:
    """Return the name of the folder that the first path is, or is in."""
    first = paths[0].absolute()
    return (first if first.is_dir() else first.parent).name.lower().replace("-", "_")


@op_plugin_app.command()
def patch(
    paths: Paths,
    *,
    tree: Annotated[
        Path,
        typer.Option(
            "--tree",
            metavar="DIR",
            help="A checkout of op-plugin, or of torch_npu with submodules.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="Default: standard output."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the patch that brings the files into op-plugin's source tree; apply it with git apply.

    Nothing in the tree is changed. What the patch leaves out is reported on standard error; then
    the exit code is 1.
    """
    from opwright.command_line.files import write_atomically  # noqa: PLC0415 - as above
    from opwright.kit.op_plugin.patch import make_patch  # noqa: PLC0415 - as above

    made = make_patch(paths, tree)
    if out is not None:
        write_atomically(out, made.text, force=True)
    if as_json:
        print_json(
            {
                "paths": made.paths,
                "notes": made.notes,
                "left_out": made.left_out,
                "output": out,
                "text": made.text if out is None else None,
            }
        )
    elif out is None:
        typer.echo(made.text, nl=False)
    else:
        for path in made.paths:
            typer.echo(f"{path}")
        typer.echo(out)
    for note in (*made.notes, *made.left_out):
        typer.echo(f"note: {note}", err=True)
    raise typer.Exit(bool(made.left_out))
