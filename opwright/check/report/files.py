"""Outputs of a run. A failure to write one is reported and does not stop the others."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from opwright.check.errors import OutputError
from opwright.errors import OpwrightError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["STDOUT", "Outputs", "report_unwritable"]

STDOUT = "standard output"


@contextmanager
def report_unwritable(where: str) -> Iterator[None]:
    """Say where a result cannot be written.

    Raises
    ------
    OutputError
        OPW-C010: a full disk or device, a folder that is gone.
    """
    try:
        yield
    except BrokenPipeError:  # `opwright check TARGET | head`
        raise
    except OSError as error:
        if where == STDOUT:
            discard_stdout()
        got = f"{error.strerror or error}" + (f": '{error.filename}'" if error.filename else "")
        raise OutputError(where=where, got=got, fix="free space, or write elsewhere") from error


def discard_stdout() -> None:
    """Let what is still in the buffer of a stream that is full go nowhere, not fail at the end."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


class Outputs:
    """The results of a run, one after the other; the first error is raised after the last."""

    def __init__(self) -> None:
        self.error: OpwrightError | None = None

    @contextmanager
    def one(self, where: str) -> Iterator[None]:
        """Write one result, and keep its error for the end."""
        try:
            with report_unwritable(where):
                yield
        except OpwrightError as error:
            self.error = self.error or error

    def finish(self) -> None:
        """Raise the first error, if there was one.

        Raises
        ------
        OutputError, EditedFilesError, LeavesFolderError, WriteError
            OPW-C010, OPW-B001, OPW-B023, OPW-B002.
        """
        if self.error is not None:
            raise self.error
