"""Kernels of a repository that include each other, as their installed places allow it.

CANN installs the files of op_kernel into a folder per operator, side by side, and what a repository
shares into `inc` beside them: kernels include "../add_rms_norm/add_rms_norm.h" and
"../inc/platform.h". Links stand for that layout here.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.ascendc.project_layout import OperatorProject

__all__ = ["link_siblings"]

# Beside the links: folders from which they are one and two levels up, as seen by include paths.
STANDPOINTS = ("here", "here/below")


def link_siblings(project: OperatorProject, folder: Path) -> list[Path]:
    """Make the links of a repository's operators; return the folders to search for includes."""
    if not project.repository:
        return []
    shared, root = project.repository[:2]
    places = {path.parent.name: path for path in kernel_folders(root)}
    if (shared / "op_kernel").is_dir():
        places["inc"] = shared / "op_kernel"
    for name in STANDPOINTS:
        (folder / name).mkdir(parents=True, exist_ok=True)
    for name, target in places.items():
        link = folder / name
        if link.is_symlink() and link.readlink() == target:
            continue
        link.unlink(missing_ok=True)
        link.symlink_to(target)
    return [*(folder / name for name in STANDPOINTS), shared / "op_kernel"]


def kernel_folders(root: Path) -> Iterator[Path]:
    """Yield the op_kernel folders below a repository's root, but not those of its experiments."""
    for place, folders, _ in os.walk(root):
        if "op_kernel" in folders:
            yield Path(place) / "op_kernel"
            folders.clear()
        folders[:] = sorted(set(folders) - {"experimental", "tests", "build", ".git"})
