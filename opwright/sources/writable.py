"""Whether a file can be written, asked before work is lost for it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["unwritable"]


def unwritable(file: Path) -> str | None:
    """Return why a file cannot be written; None if it can."""
    folder = file.absolute().parent
    if not folder.is_dir():
        return f"'{file}': there is no folder '{folder}'"
    if file.is_dir():
        return f"'{file}', which is a folder"
    if not os.access(file if file.exists() else folder, os.W_OK):
        return f"'{file}': no permission to write"
    return None
