"""`opwright dump`: what the files of a data dump hold."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer reads the annotations at run time
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from opwright.command_line.output import Json, print_json
from opwright.dump.errors import NoDumpError
from opwright.dump.reading import find_dumps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.dump.reading import DumpFile, DumpTensor

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
    torch_npu.npu.set_dump.
    """
    found = list(find_dumps(place))
    if not found:
        raise NoDumpError(where="opwright dump", got=str(place))
    if npy is not None:
        npy.mkdir(parents=True, exist_ok=True)
        for each in found:
            write_arrays(each, npy)
    if as_json:
        print_json({"dumps": [as_data(each) for each in found]})
        return
    for each in found:
        typer.echo(f"{each.type} {each.name}  ({each.path})")
        for kind, index, tensor in tensors(each):
            typer.echo(f"  {kind} {index}  {tensor}  {summary(tensor)}")


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
    """Return smallest, largest and mean value."""
    array = tensor.array
    if not array.size or array.dtype.kind == "c":
        return ""
    values = array.astype(np.float64)
    return f"min {values.min():.6g}  max {values.max():.6g}  mean {values.mean():.6g}"


def as_data(found: DumpFile) -> dict[str, Any]:
    """Return what is printed as plain data."""
    return {
        "path": str(found.path),
        "type": found.type,
        "name": found.name,
        "task": found.task,
        "stream": found.stream,
        "time": found.time,
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
