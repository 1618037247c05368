"""`opwright graph`: what the captures of a command, or of a dump, hold."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from opwright.errors import counted
from opwright.graph.as_json import to_json
from opwright.graph.collect import run_and_collect
from opwright.graph.errors import GraphNumberError, NoCaptureError, OutputFileError
from opwright.graph.read import read_graphs
from opwright.graph.report import to_text
from opwright.graph.svg import to_svg
from opwright.graph.text import title_text
from opwright.twin.options import Devices, Kernels, Memory, Soc, read_settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opwright.graph.model import CapturedGraph

__all__ = ["graph"]

DUMP = ".json"


def graph(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE.json...|-- CMD...",
            help="Dumps of NPUGraph.debug_dump, or a program and its arguments.",
        ),
    ],
    *,
    svg: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw a graph there instead of printing it.")
    ] = None,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Write JSON for programs there instead."),
    ] = None,
    number: Annotated[
        int | None, typer.Option("--graph", metavar="N", help="Show this one alone, from 1.")
    ] = None,
    soc: Soc = None,
    devices: Devices = None,
    memory: Memory = None,
    kernels: Kernels = None,
) -> None:
    """Print or draw what captured NPU graphs hold: launches, streams, event edges, memory.

    A command runs on the twin, and all its captures are shown when it has ended; the exit code is
    then that of the command.
    """
    for option, file in (("--svg", svg), ("--json", json_file)):
        if file is not None:
            check_output(file, where=f"opwright graph, {option}")
    code = 0
    if what[0].endswith(DUMP):
        graphs = tuple(each for name in what for each in read_graphs(Path(name)))
    else:
        run = run_and_collect(what, read_settings(soc, devices, memory, kernels))
        code, graphs = run.code, run.graphs
        if code:
            typer.echo(f"opwright: the command ended with exit code {code}", err=True)
        elif not graphs:
            raise NoCaptureError(where="opwright graph", got=repr(" ".join(what)))
    show(chosen(graphs, number), svg, json_file)
    raise typer.Exit(code)


def check_output(file: Path, *, where: str) -> None:
    """Raise OutputFileError (OPW-G004) unless the file can be written."""
    folder = file.absolute().parent
    if not folder.is_dir():
        raise OutputFileError(where=where, got=f"'{file}': there is no folder '{folder}'")
    if file.is_dir():
        raise OutputFileError(where=where, got=f"'{file}', which is a folder")
    if not os.access(file if file.exists() else folder, os.W_OK):
        raise OutputFileError(where=where, got=f"'{file}': no permission to write")


def chosen(graphs: Sequence[CapturedGraph], number: int | None) -> dict[int, CapturedGraph]:
    """Return number -> graph: all, or the one that was asked for.

    Raises
    ------
    GraphNumberError
        OPW-G003.
    """
    numbered = dict(enumerate(graphs, start=1))
    if number is None:
        return numbered
    if number not in numbered:
        raise GraphNumberError(
            where="opwright graph, --graph", got=str(number), allowed=map(str, numbered)
        )
    return {number: numbered[number]}


def show(graphs: Mapping[int, CapturedGraph], svg: Path | None, json_file: Path | None) -> None:
    """Print the graphs, or write them to files."""
    if svg is not None:
        for number, each in graphs.items():
            file = svg if len(graphs) == 1 else svg.with_stem(f"{svg.stem}-{number}")
            write(file, to_svg(each, number))
            typer.echo(f"{title_text(each, number)}: {file}")
    if json_file is not None:
        write(json_file, to_json(graphs.values()) + "\n")
        typer.echo(f"{counted(len(graphs), 'graph') or 'no graphs'}: {json_file}")
    if svg is None and json_file is None:
        typer.echo("\n\n".join(to_text(each, number) for number, each in graphs.items()))


def write(file: Path, text: str) -> None:
    """Write a file; OutputFileError (OPW-G004) if that fails, as on a full disk."""
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputFileError(where="opwright graph", got=str(error)) from error
