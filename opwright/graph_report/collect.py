"""Run a command on the twin and gather the graphs that it captures and compiles."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.graph_report.captured.read import read_graphs
from opwright.graph_report.compiled.read import read_compiled
from opwright.graph_report.folder import FOLDER_VARIABLE
from opwright.twin.launch import CommandNotFoundError, launch_environment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.graph_report.shown import Graph
    from opwright.twin.settings import TwinSettings

__all__ = ["Run", "run_and_collect"]

KILLED = 128  # a shell's exit code for a command that a signal ended is this plus the signal


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A command that has ended.

    Parameters
    ----------
    code
        Its exit code.
    graphs
        Captures in the order in which they ended, process after process; then compiled graphs in
        the order of their compilation.
    """

    code: int
    graphs: tuple[Graph, ...]


def run_and_collect(command: Sequence[str], settings: TwinSettings) -> Run:
    """Run a command on the twin with this process's standard streams.

    Raises
    ------
    CommandNotFoundError, ToolkitMissingError, DumpError, GeDumpError
        OPW-T021, OPW-T010, OPW-G001, OPW-G005.
    """
    with tempfile.TemporaryDirectory(prefix="opwright-graph-") as folder:
        environment = launch_environment(os.environ, settings) | {FOLDER_VARIABLE: folder}
        program = shutil.which(command[0], path=environment.get("PATH"))
        if program is None:
            raise CommandNotFoundError(where="opwright graph", got=repr(command[0]))
        done = subprocess.run([program, *command[1:]], env=environment, check=False)
        captures, compiled = (
            sorted(Path(folder).glob(pattern), key=parse_order)
            for pattern in ("graph-*.json", "ge-*.air")
        )
        graphs: tuple[Graph, ...] = (
            *(graph for file in captures for graph in read_graphs(file)),
            *(graph for file in compiled for graph in read_compiled(file)),
        )
    return Run(
        code=done.returncode if done.returncode >= 0 else KILLED - done.returncode, graphs=graphs
    )


def parse_order(file: Path) -> tuple[int, ...]:
    """Return the numbers in a file's name: process, then place of the capture."""
    return tuple(map(int, re.findall(r"\d+", file.stem)))
