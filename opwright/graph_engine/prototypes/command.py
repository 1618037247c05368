"""`opwright proto`: prototypes (REG_OP), CANN's and those of operator projects."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer reads the annotations at run time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opwright.command_line.output import Json, print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.aclnn.prototype import Port, Prototype
    from opwright.kit.formats.headers import Headers

__all__ = ["proto"]

NEAREST = 5  # types that an error names

proto = typer.Typer(
    help="Prototypes (REG_OP) of operators.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@proto.callback()
def options() -> None:
    """Work with prototypes (REG_OP) of operators."""


@proto.command()
def gen(
    headers: Annotated[
        list[Path],
        typer.Argument(
            metavar="HEADER...",
            exists=True,
            dir_okay=False,
            help="Headers with REG_OP, for example build_out/autogen/op_proto.h.",
        ),
    ],
    *,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="File to write (default: print)."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite FILE even if it was not generated.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write the Python functions that converters build GE graphs with.

    They are those that TorchAir's build target generate_ge_raw_custom_ops makes of a header, but
    neither CMake nor a compiler is needed. The exit code is 1 if an operator had to be left out.
    """
    from opwright.kit.emit.python.raw_ops import emit_raw_ops  # noqa: PLC0415 - so that --help starts at once
    from opwright.kit.formats.generated import write_generated  # noqa: PLC0415 - as above
    from opwright.kit.formats.headers import read_headers  # noqa: PLC0415 - as above

    read = read_headers(headers)
    text = emit_raw_ops(
        [each.prototype for each in read.found], source=", ".join(path.name for path in headers)
    )
    skipped = report(headers, read)
    if output is not None:
        changed = write_generated(output, text, force=force)
        say(f"{'wrote' if changed else 'unchanged'} {output}")
    if as_json:
        names = [each.prototype.op_type for each in read.found]
        print_json(
            {
                "operators": [name for name in names if name not in skipped],
                "left_out": [{"operator": name, "why": why} for name, why in skipped.items()],
                "notes": read.notes,
                "output": output,
                "text": text if output is None else None,
            }
        )
    elif output is None:
        typer.echo(text, nl=False)
    raise typer.Exit(bool(skipped))


@proto.command()
def show(
    types: Annotated[
        list[str],
        typer.Argument(metavar="TYPE...", help="Operator types, for example AddLayerNorm."),
    ],
    *,
    as_json: Json = False,
) -> None:
    """Print the prototypes of operator types: inputs, outputs and attributes, in CANN's order.

    They are those of installed operator packages, then CANN's, as TorchAir has them.
    """
    from opwright.aclnn.reg_op import write_reg_op  # noqa: PLC0415 - as above

    found = [prototype_of(each) for each in types]
    if as_json:
        print_json({"prototypes": [describe(each) for each in found]})
    else:
        typer.echo("\n\n".join(map(write_reg_op, found)))


def prototype_of(op_type: str) -> Prototype:
    """Return the prototype of an operator type.

    Raises
    ------
    PrototypeError
        OPW-K002: a header of an installed package cannot be read.
    UnknownTypeError
        OPW-S010.
    """
    from opwright.errors import first_of, sort_nearest_first  # noqa: PLC0415 - as above
    from opwright.graph_engine.prototypes.cann import of_torchair, types  # noqa: PLC0415 - as above
    from opwright.graph_engine.prototypes.packages import find_installed  # noqa: PLC0415 - as above
    from opwright.kit.formats.errors import UnknownTypeError  # noqa: PLC0415 - as above

    # Not `find`: for a type that it does not know it imports torch, to ask kernels of this process.
    found = find_installed(op_type) or of_torchair(op_type)
    if found is None:
        known = sort_nearest_first(op_type, types())
        raise UnknownTypeError(
            where="opwright proto show",
            got=repr(op_type),
            allowed=first_of(known, NEAREST),
        )
    return found


def describe(prototype: Prototype) -> dict[str, Any]:
    """Return a prototype as plain data."""
    from opwright.aclnn.reg_op import write_reg_op  # noqa: PLC0415 - as above

    def ports(given: Sequence[Port]) -> list[dict[str, Any]]:
        return [
            {
                "name": port.name,
                "presence": port.presence,
                "symbol": port.symbol,
                "dtypes": prototype.dtypes(port),
            }
            for port in given
        ]

    return {
        "type": prototype.op_type,
        "inputs": ports(prototype.inputs),
        "outputs": ports(prototype.outputs),
        "attributes": [
            {
                "name": each.name,
                "type": each.type_name,
                "required": each.required,
                "default": each.default,
            }
            for each in prototype.attributes
        ],
        "text": write_reg_op(prototype),
    }


def say(line: str) -> None:
    """Print a line for people; the text itself goes to standard output."""
    typer.echo(line, err=True)


def report(paths: Sequence[Path], headers: Headers) -> dict[str, str]:
    """Say what was read and what could not be; return the operators left out, and why."""
    from opwright.errors import write_count  # noqa: PLC0415 - as above
    from opwright.kit.emit.python.raw_ops import explain_skip, find_left_out  # noqa: PLC0415 - as above

    say(f"read {', '.join(map(str, paths))}: {write_count(len(headers.found), 'operator')}")
    for note in headers.notes:
        say(f"  {note}")
    skipped: dict[str, str] = {}
    for each in headers.found:
        if reason := explain_skip(each.prototype):
            skipped[each.prototype.op_type] = reason
            say(f"  {each.where}, {each.prototype.op_type} skipped: {reason}")
            continue
        for attribute in find_left_out(each.prototype):
            why = f"TorchAir has no values of type {attribute.type_name}"
            say(f"  {each.where}, attribute {attribute.name} keeps its default: {why}")
    return skipped
