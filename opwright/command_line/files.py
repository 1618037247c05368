"""Files that verbs write: whether that is possible, asked before work is lost for it; and how."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from opwright.command_line.errors import ExistingFileError, OutputError

__all__ = ["explain_unwritable", "follow_links", "write_atomically"]


def explain_unwritable(file: Path) -> str | None:
    """Return why a file cannot be written; None if it can."""
    try:
        if file.exists() and not file.is_dir():  # also a device, or the pipe of /dev/stdout
            return None if os.access(file, os.W_OK) else f"'{file}': no permission to write"
        real = follow_links(file)
        folder = real.parent
        if not folder.is_dir():
            return f"'{file}': there is no folder '{folder}'"
        if real.is_dir():
            return f"'{file}', which is a folder"
        if not os.access(folder, os.W_OK):
            return f"'{file}': no permission to write"
    except OutputError as error:  # links in a circle
        return f"'{file}': {error.got}"
    except OSError as error:  # a name that is too long; a folder that may not be entered
        return f"'{file}': {error.strerror}"
    return None


def follow_links(path: Path) -> Path:
    """Return the file that a path leads to.

    Raises
    ------
    OutputError
        OPW-S009: links lead in a circle.
    """
    target = Path(os.path.realpath(path))  # releases of CPython resolve a circle differently
    if target.is_symlink():
        got = "a symbolic link that leads in a circle"
        raise OutputError(where=str(path), got=got, fix="remove the link")
    return target


def write_atomically(path: Path, text: str, *, force: bool = False) -> bool:
    """Write a file whole or not at all; a device or pipe, such as /dev/stdout, as it comes.

    Returns
    -------
    changed
        False if the file has this text already.

    Raises
    ------
    ExistingFileError
        OPW-S007: there is another text, and `force` is not given.
    OutputError
        OPW-S009: the path is a folder, or a link that leads in a circle.
    """
    content = text.encode()
    if path.is_dir():
        raise OutputError(where=str(path), got="a folder", fix="name a file in it")
    if path.is_file() and path.read_bytes() == content:
        return False
    if path.exists() and not force:
        raise ExistingFileError(where=str(path), got="a file with another content")
    if path.exists() and not path.is_file():  # not resolved: /dev/stdout may lead to a pipe
        path.write_bytes(content)
        return True
    path = follow_links(path)  # a link stays
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return True
