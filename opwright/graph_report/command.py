"""`opwright graph`: what the graphs of a command, or of a dump, hold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from opwright.command_line.files import explain_unwritable
from opwright.errors import write_count
from opwright.graph_report.collect import run_and_collect
from opwright.graph_report.errors import GraphNumberError, NoCaptureError, OutputFileError
from opwright.graph_report.shown import FILES, json_of, page_of, read, svg_of, text_of, title_of
from opwright.twin.options import Devices, Kernels, Memory, Soc, read_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from opwright.graph_report.shown import Graph

__all__ = ["graph"]

PRINTED = Path("-")  # for --json: standard output


def graph(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...|-- CMD...",
            help="Dumps: .json of NPUGraph.debug_dump, .air, .pbtxt or .txt of TorchAir; or a "
            "program and its arguments.",
        ),
    ],
    *,
    svg: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw a graph there instead of printing it.")
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Draw it there on a page to search."),
    ] = None,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Write JSON for programs there; - prints it."),
    ] = None,
    number: Annotated[
        int | None, typer.Option("--graph", metavar="N", help="Show this one alone, from 1.")
    ] = None,
    soc: Soc = None,
    devices: Devices = None,
    memory: Memory = None,
    kernels: Kernels = None,
) -> None:
    """Print or draw what NPU graphs hold.

    Captured graphs: launches, streams, event edges, memory. Graphs that TorchAir compiled: each FX
    node beside the GE nodes that it became. A command runs on the twin, and all its graphs are
    shown when it has ended; the exit code is then that of the command.
    """
    for option, file in (("--svg", svg), ("--html", page), ("--json", json_file)):
        if file is not None and not (option == "--json" and file == PRINTED):
            check_output(file, where=f"opwright graph, {option}")
    code = 0
    if what[0].endswith(FILES):
        graphs = tuple(each for name in what for each in read(Path(name)))
    else:
        run = run_and_collect(what, read_settings(soc, devices, memory, kernels))
        code, graphs = run.code, run.graphs
        if code:
            typer.echo(f"opwright: the command ended with exit code {code}", err=True)
        elif not graphs:
            raise NoCaptureError(where="opwright graph", got=repr(" ".join(what)))
    show(choose(graphs, number), [(svg, svg_of), (page, page_of)], json_file)
    raise typer.Exit(code)


def check_output(file: Path, *, where: str) -> None:
    """Raise OutputFileError (OPW-G004) unless the file can be written."""
    if why := explain_unwritable(file):
        raise OutputFileError(where=where, got=why)


def choose(graphs: Sequence[Graph], number: int | None) -> dict[int, Graph]:
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


def show(
    graphs: Mapping[int, Graph],
    drawings: Sequence[tuple[Path | None, Callable[[Graph, int], str]]],
    json_file: Path | None,
) -> None:
    """Print the graphs, or write them to files; without a file for a drawing, it is not made."""
    files = [(file, draw) for file, draw in drawings if file is not None]
    for wanted, draw in files:
        for number, each in graphs.items():
            file = wanted if len(graphs) == 1 else wanted.with_stem(f"{wanted.stem}-{number}")
            write(file, draw(each, number))
            typer.echo(f"{title_of(each, number)}: {file}")
    if json_file == PRINTED:
        typer.echo(json_of(graphs.values()))
    elif json_file is not None:
        write(json_file, json_of(graphs.values()) + "\n")
        typer.echo(f"{write_count(len(graphs), 'graph') or 'no graphs'}: {json_file}")
    if not files and json_file is None:
        typer.echo("\n\n".join(text_of(each, number) for number, each in graphs.items()))


def write(file: Path, text: str) -> None:
    """Write a file; OutputFileError (OPW-G004) if that fails, as on a full disk."""
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputFileError(where="opwright graph", got=str(error)) from error
