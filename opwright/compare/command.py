"""`opwright compare`: the first operator whose results in a graph differ from those in eager."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from opwright.command_line.output import Json, print_json
from opwright.command_line.waiting import show_waiting
from opwright.compare.errors import OtherArgumentsError, UnknownModeError
from opwright.compare.judge import Run, Verdict, find_other_arguments, judge
from opwright.compare.modes import EAGER, MODES, WHOLE, Mode, RunName
from opwright.compare.processes import WHERE, Program, parse_command, run_program
from opwright.compare.report import as_data, lines_of, lines_of_title
from opwright.compare.script import Script, write_script
from opwright.twin.launch import launch_environment
from opwright.twin.options import Devices, Kernels, Memory, Soc, read_settings

__all__ = ["compare"]


def compare(
    command: Annotated[
        list[str],
        typer.Argument(metavar="-- python FILE...", help="A Python file and its arguments."),
    ],
    *,
    step: Annotated[
        str,
        typer.Option(metavar="NAME", help="The function to compare, as in step or Model.forward."),
    ] = "step",
    mode: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help=f"Compare this one: {', '.join(MODES)} (default all)."),
    ] = None,
    calls: Annotated[
        int, typer.Option(metavar="N", min=2, help="How many calls of the step are compared.")
    ] = 3,
    out: Annotated[
        Path,
        typer.Option("-o", "--out", metavar="FOLDER", help="Where scripts that show it go."),
    ] = Path("opwright-compare"),
    as_json: Json = False,
    soc: Soc = None,
    devices: Devices = None,
    memory: Memory = None,
    kernels: Kernels = None,
) -> None:
    """Compare a program's step in eager, captured and compiled.

    The program runs once in each mode, on the twin. The first operator is named whose inputs agree
    with eager and whose results do not, with its line, and a script is written that shows it alone.
    """
    modes = check_modes(mode or MODES)
    program = parse_command(command, step, calls)
    environment = launch_environment(os.environ, read_settings(soc, devices, memory, kernels))
    with tempfile.TemporaryDirectory(prefix="opwright-compare-") as folder:
        runs = Runs(program, Path(folder), environment)
        eager = runs.run(EAGER, shows_output=True)
        if not as_json:
            typer.echo("\n".join(lines_of_title(eager.record)))
        verdicts: list[Verdict] = []
        scripts: dict[str, Script] = {}
        for each in modes:
            verdict, got = runs.judge(each, eager)
            verdicts.append(verdict)
            script = write_script(verdict, got, program, out, environment)
            if script is not None:
                scripts[each] = script
            if not as_json:
                typer.echo("\n".join(lines_of(verdict, script)))
        if as_json:
            print_json(as_data(eager.record, verdicts, scripts))
    raise typer.Exit(not all(each.agrees for each in verdicts))


class Runs:
    """The runs of a program, each in a folder of its own."""

    def __init__(self, program: Program, folder: Path, environment: dict[str, str]) -> None:
        self.program = program
        self.folder = folder
        self.environment = environment

    def run(self, name: RunName, *, shows_output: bool = False) -> Run:
        """Run the program in a mode."""
        folder = self.folder / name
        with show_waiting(f"running {self.program.file} in {name}"):
            record = run_program(
                self.program, name, folder, self.environment, shows_output=shows_output
            )
        return Run(record=record, folder=folder)

    def judge(self, mode: Mode, eager: Run) -> tuple[Verdict, Run]:
        """Run the program in a mode and compare it with eager.

        Raises
        ------
        OtherArgumentsError
            OPW-M004.
        """
        got = self.run(mode)
        other = find_other_arguments(got.record, eager.record)
        if other is not None:
            raise OtherArgumentsError(where=f"{WHERE}, {mode}", got=f"{other}, at the first call")
        verdict = judge(mode, got, eager)
        if mode == "captured" and verdict.agrees:
            verdict = judge(mode, got, eager, self.run(WHOLE))
        return verdict, got


def check_modes(names: list[str] | tuple[Mode, ...]) -> tuple[Mode, ...]:
    """Return the modes of these names.

    Raises
    ------
    UnknownModeError
        OPW-M005.
    """
    for each in names:
        if each not in MODES:
            raise UnknownModeError(where="--mode", got=repr(each), allowed=MODES, near=each)
    return tuple(each for each in MODES if each in names)
