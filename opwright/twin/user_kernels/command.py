"""`opwright kernels`: build the package of kernel files, show what a prototype means."""

from __future__ import annotations

import shutil
from pathlib import Path  # noqa: TC003 - Typer reads the annotations at run time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opwright.command_line.output import Json, print_json
from opwright.command_line.waiting import show_waiting
from opwright.twin.user_kernels.emit import emit_kernel
from opwright.twin.user_kernels.files import build_packages
from opwright.twin.user_kernels.source import read_source

if TYPE_CHECKING:
    from opwright.aclnn.signature import AclnnSignature

__all__ = ["kernels_app"]

kernels_app = typer.Typer(
    help="Reference functions that stand in for custom operators' kernels.", no_args_is_help=True
)


@kernels_app.command()
def build(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", exists=True, dir_okay=False, help="*.py and *.cpp files"),
    ],
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="DIR", help="Copy the package there (default: print its place)."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Build the operator package (op_api/lib/libcust_opapi.so) of kernel files.

    The folder goes into ASCEND_CUSTOM_OPP_PATH, and the Python files into OPWRIGHT_KERNELS, both
    separated by colons. `opwright run --kernels FILE` does all this by itself.
    """
    with show_waiting("compiling"):
        packages = build_packages(files)
    if not packages:
        typer.echo("no package is needed: the twin has these functions itself", err=True)
    for package in packages:
        if out is not None:
            shutil.copytree(package, out, dirs_exist_ok=True)
        if not as_json:
            typer.echo(out or package)
    if as_json:
        print_json({"packages": [out or package for package in packages]})


@kernels_app.command()
def show(
    source: Annotated[
        str, typer.Argument(help="REG_OP, OpDef or an aclnn signature: the text, or a file.")
    ],
    *,
    op: Annotated[
        str | None, typer.Option(metavar="TYPE", help="The operator, if there are several.")
    ] = None,
    cpp: Annotated[bool, typer.Option("--cpp", help="Print the start of a kernel in C++.")] = False,
    as_json: Json = False,
) -> None:
    """Print the C signatures of an operator's aclnn functions."""
    functions = read_source(source, op, where="opwright kernels show").functions
    if as_json:
        text = emit_kernel(functions) if cpp else None
        print_json({"functions": [describe(each) for each in functions], "text": text})
        return
    typer.echo(emit_kernel(functions).rstrip() if cpp else "\n".join(map(str, functions)))


def describe(function: AclnnSignature) -> dict[str, Any]:
    """Return a function as plain data."""
    return {
        "name": function.name,
        "parameters": [
            {
                "name": each.name,
                "type": each.ctype.value,
                "role": each.role,
                "optional": each.optional,
            }
            for each in function.parameters
        ],
        "text": str(function),
    }
