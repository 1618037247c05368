"""Errors that end `opwright compare`."""

from __future__ import annotations

from opwright.errors import OpwrightError

__all__ = [
    "CommandError",
    "FailedProgramError",
    "NoStepError",
    "OtherArgumentsError",
    "UnknownModeError",
]


class CommandError(OpwrightError):
    """A command that does not run a Python file."""

    id = "OPW-M001"
    title = "not a command that runs a Python file"
    usual_fix = "write `opwright compare -- python FILE.py` and the file's arguments"


class NoStepError(OpwrightError):
    """A program that has no step, or never calls it."""

    id = "OPW-M002"
    title = "the program has no step to compare"
    usual_fix = (
        "name the function with --step, or mark it with @opwright.compare.step; a step that the "
        "program does not call is called with what its function `inputs()` returns"
    )


class FailedProgramError(OpwrightError):
    """A program that fails in eager mode, or whose process ends in a mode."""

    id = "OPW-M003"
    title = "the program does not run to the end of its step"
    usual_fix = "run the program by itself (`opwright run -- python FILE.py`) and mend what it says"


class OtherArgumentsError(OpwrightError):
    """A program whose step gets other tensors each time that the program is run."""

    id = "OPW-M004"
    title = "the step gets other tensors each time that the program is run"
    usual_fix = (
        "make them alike: torch, numpy and random are seeded already, what the time, a file or "
        "another process decides is not"
    )


class UnknownModeError(OpwrightError):
    """A name that is no mode."""

    id = "OPW-M005"
    title = "unknown mode"
    usual_fix = "name one of the allowed modes; without --mode all are compared"
