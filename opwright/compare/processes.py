"""Starts the program in a mode, and reads the record of its run."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.compare.errors import CommandError, FailedProgramError, NoStepError
from opwright.compare.record import NO_STEP, read_record
from opwright.twin.launch import CommandNotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opwright.compare.modes import RunName
    from opwright.compare.record import Record

__all__ = ["Program", "parse_command", "run_program"]

WHERE = "opwright compare"
MODULE = "opwright.compare.program"
LAST_LINES = 20  # of the output of a program that fails


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A Python file to run.

    Parameters
    ----------
    python
        The interpreter with its options.
    step
        The function that is the step unless one is marked.
    calls
        How many calls of the step are compared.
    """

    python: tuple[str, ...]
    file: Path
    arguments: tuple[str, ...]
    step: str
    calls: int


def parse_command(command: Sequence[str], step: str, calls: int) -> Program:
    """Return the program of a command.

    Raises
    ------
    CommandError, CommandNotFoundError
        OPW-M001, OPW-T021.
    """
    place = next((place for place, each in enumerate(command) if each.endswith(".py")), 0)
    is_python = Path(command[0]).name.startswith("python")
    if not place or not is_python or any(not each.startswith("-") for each in command[1:place]):
        raise CommandError(where=WHERE, got=repr(" ".join(command)))
    interpreter = shutil.which(command[0])
    if interpreter is None:
        raise CommandNotFoundError(where=WHERE, got=repr(command[0]))
    file = Path(command[place])
    if not file.is_file():
        raise CommandError(where=WHERE, got=f"{command[place]!r}, which is no file")
    return Program(
        python=(interpreter, *command[1:place]),
        file=file,
        arguments=tuple(command[place + 1 :]),
        step=step,
        calls=calls,
    )


def run_program(
    program: Program,
    run: RunName,
    folder: Path,
    environment: Mapping[str, str],
    *,
    shows_output: bool,
) -> Record:
    """Run the program in a mode; return the record of its run.

    Parameters
    ----------
    folder
        Made, and filled with the record and its tensors.
    shows_output
        Whether the program prints to this process's standard error; otherwise its output is shown
        where it fails.

    Raises
    ------
    NoStepError, FailedProgramError
        OPW-M002, OPW-M003.
    """
    folder.mkdir()
    log = folder / "output.txt"
    with log.open("wb") as output:
        done = subprocess.run(
            [
                *program.python,
                *("-m", MODULE, str(folder), run, str(program.calls), program.step),
                *(str(program.file), *program.arguments),
            ],
            env=dict(environment),
            stdout=sys.stderr if shows_output else output,
            stderr=None if shows_output else output,
            check=False,
        )
    if done.returncode == NO_STEP:
        raise NoStepError(where=str(program.file), got=f"no call of `{program.step}`")
    record = read_record(folder)
    if done.returncode or record is None:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-LAST_LINES:]
        text = "".join(f"\n    {line}" for line in lines)
        raise FailedProgramError(
            where=str(program.file), got=f"exit code {done.returncode} in {run}{text}"
        )
    return record
