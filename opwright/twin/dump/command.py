"""`opwright dump`: what the files of a data dump hold."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer reads the annotations at run time
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from opwright.command_line.output import Json, print_json
from opwright.twin.dump.errors import NoDumpError
from opwright.twin.dump.reading import INDEX, KIND, DumpTable, find_dumps, find_tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opwright.twin.dump.reading import DumpFile, DumpTensor

__all__ = ["dump"]


def dump(
    place: Annotated[Path, typer.Argument(metavar="PATH", help="A dump, or a folder with dumps.")],
    *,
    npy: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write each tensor there as FILE.npy.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the operators of a data dump, with their tensors.

    Dumps are what CANN and the twin write for dump_config.enable_dump of TorchAir and for
    torch_npu.npu.set_dump. A dump of statistics has a table in place of the tensors.
    """
    dumps = list(find_dumps(place))
    tables = list(find_tables(place))
    if not dumps and not tables:
        raise NoDumpError(where="opwright dump", got=str(place))
    if npy is not None:
        if not dumps:
            message = f"{place} holds statistics only, no tensors: leave out --npy"
            raise typer.BadParameter(message)
        npy.mkdir(parents=True, exist_ok=True)
        for each_dump in dumps:
            write_arrays(each_dump, npy)
    found: list[DumpFile | DumpTable] = sorted([*dumps, *tables], key=lambda each: each.time)
    if as_json:
        print_json({"dumps": [as_data(each) for each in found]})
        return
    for each in found:
        typer.echo(f"{each.type} {each.name}  ({each.path})")
        for line in lines_of(each):
            typer.echo(f"  {line}")


def lines_of(found: DumpFile | DumpTable) -> Iterator[str]:
    """Yield a line for each tensor."""
    if isinstance(found, DumpTable):
        yield from map(line_of_row, found.rows)
        return
    for kind, index, tensor in tensors(found):
        yield f"{kind} {index}  {tensor}  {summary(tensor)}"


def line_of_row(row: Mapping[str, str]) -> str:
    """Return a row of statistics: input 0, then each value that there is, behind its column."""
    values = (f"{column} {value}" for column, value in row.items() if value)
    rest = (text for text in values if not text.startswith((f"{KIND} ", f"{INDEX} ")))
    return f"{row[KIND].lower()} {row[INDEX]}  {'  '.join(rest)}"


def tensors(found: DumpFile) -> Iterator[tuple[str, int, DumpTensor]]:
    """Yield the tensors of a dump, as they are named in files: input 0, …, output 0, …."""
    for kind, group in (("input", found.inputs), ("output", found.outputs)):
        for index, tensor in enumerate(group):
            yield kind, index, tensor


def write_arrays(found: DumpFile, folder: Path) -> None:
    """Write the tensors with the names that CANN's msaccucmp gives them."""
    for kind, index, tensor in tensors(found):
        np.save(folder / f"{found.path.name}.{kind}.{index}.npy", tensor.array)


def summary(tensor: DumpTensor) -> str:
    """Return smallest, largest and mean value; nothing for values without an order or a type."""
    array = tensor.array
    if not tensor.has_values or not array.size or array.dtype.kind == "c":
        return ""
    values = array.astype(np.float64)
    return f"min {values.min():.6g}  max {values.max():.6g}  mean {values.mean():.6g}"


def as_data(found: DumpFile | DumpTable) -> dict[str, Any]:
    """Return what is printed as plain data."""
    run = {
        "path": str(found.path),
        "type": found.type,
        "name": found.name,
        "task": found.task,
        "stream": found.stream,
        "time": found.time,
    }
    if isinstance(found, DumpTable):
        return run | {"statistics": [dict(row) for row in found.rows]}
    return run | {
        "tensors": [
            {
                "kind": kind,
                "index": index,
                "dtype": tensor.dtype,
                "format": tensor.format,
                "shape": list(tensor.shape),
                "bytes": len(tensor.data),
            }
            for kind, index, tensor in tensors(found)
        ],
    }
