"""Errors of the command line itself."""

from __future__ import annotations

import errno
from contextlib import contextmanager
from typing import TYPE_CHECKING

from opwright.errors import OpwrightError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ExistingFileError", "OutputError", "SystemRefusalError", "refusals"]


class SystemRefusalError(OpwrightError):
    """The system refused to read or write something, where the verb has no words of its own."""

    id = "OPW-V001"
    title = "the system refused it"
    usual_fix = "free space, get the permission, or name another place"


# S, because importers of declarations were the first to write files.
class ExistingFileError(OpwrightError):
    """A file is in the way."""

    id = "OPW-S007"
    title = "the file exists already"
    usual_fix = "choose another name, or overwrite it with --force"


class OutputError(OpwrightError):
    """A place that a file cannot be written to."""

    id = "OPW-S009"
    title = "the file cannot be written"
    usual_fix = "give another place with -o"


@contextmanager
def refusals() -> Iterator[None]:
    """Say what the system refuses: no verb can foresee every full disk and vanished file.

    Raises
    ------
    SystemRefusalError
        OPW-V001.
    """
    try:
        yield
    except BrokenPipeError:  # `opwright lint | head`: Typer ends the process without a word
        raise
    except OSError as error:
        # Only these two have no name.
        nameless = "the working folder" if error.errno == errno.ENOENT else "standard output"
        where = str(error.filename or nameless)
        raise SystemRefusalError(where=where, got=error.strerror or str(error)) from error
