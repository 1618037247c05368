"""Whether a file can be written, asked before work is lost for it."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["unwritable"]


def unwritable(file: Path) -> str | None:
    """Return why a file cannot be written; None if it can."""
    try:
        if file.exists() and not file.is_dir():  # also a device, or the pipe of /dev/stdout
            return None if os.access(file, os.W_OK) else f"'{file}': no permission to write"
        real = Path(os.path.realpath(file))  # of a link: what it leads to; a circle stays a link
        folder = real.parent
        if real.is_symlink():
            return f"'{file}': a symbolic link that leads in a circle"
        if not folder.is_dir():
            return f"'{file}': there is no folder '{folder}'"
        if real.is_dir():
            return f"'{file}', which is a folder"
        if not os.access(folder, os.W_OK):
            return f"'{file}': no permission to write"
    except OSError as error:  # a name that is too long; a folder that may not be entered
        return f"'{file}': {error.strerror}"
    return None
