"""Writing a generated file: whole or not at all, never over somebody's own text."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from opwright.command_line.errors import ExistingFileError, OutputError
from opwright.command_line.files import follow_links, write_atomically
from opwright.kit.emit.header import is_edited

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["write_generated"]


def write_generated(path: Path, text: str, *, force: bool) -> bool:
    """Write a file that opwright generates; through a link, and into a device as it is.

    Returns
    -------
    changed
        False if the file has this text already; then it is not touched.

    Raises
    ------
    OutputError
        OPW-S009: there is no folder for it, it is a folder, or it must not be written.
    ExistingFileError
        OPW-S007: a person wrote or changed the file that is there, and `force` is not given.
    """
    try:
        target = follow_links(path)
        if target.is_dir():
            raise OutputError(where=str(path), got="a folder", fix="name a file in it with -o")
        if not target.parent.is_dir():
            folder = target.parent if path.is_symlink() else path.parent
            raise OutputError(
                where=str(path),
                got=f"no folder {folder}",
                fix=f"make it with: mkdir -p {shlex.quote(str(folder))}",
            )
        if target.exists() and not target.is_file():
            target.write_text(text, encoding="utf-8")
            return True
        if target.is_file() and not force:
            old = target.read_text(encoding="utf-8", errors="replace")
            if old and old != text and is_edited(old):
                raise ExistingFileError(
                    where=str(path), got="a file that opwright did not write, or that was changed"
                )
        return write_atomically(target, text, force=True)
    except OSError as error:
        raise OutputError(where=str(path), got=str(error.strerror or error)) from error
