"""Keeps what is written and removed inside a folder.

A manifest, or a link, may come with a project from anywhere. Neither decides about files outside.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from opwright.kit.packaging.errors import LeavesFolderError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["check_inside", "is_inside", "refuse_link"]


def is_inside(path: str) -> bool:
    """Return whether a relative path, written with `/`, names something below a folder.

    >>> is_inside("csrc/a.cpp"), is_inside("../a"), is_inside("/a"), is_inside("a/../b")
    (True, False, False, False)
    """
    # The parts as they are written: a Path would hide `.` and empty ones.
    return "\0" not in path and not {"", ".", ".."} & set(path.split("/"))


def check_inside(folder: Path, paths: Iterable[str], *, listed_by: str) -> None:
    """Raise unless paths name files that are below a folder, also behind symbolic links.

    Parameters
    ----------
    folder
        It must be no symbolic link itself; those above it are its owner's matter.
    paths
        Relative to the folder. A file may be a link: that is replaced, not followed.
    listed_by
        What the paths are from.

    Raises
    ------
    LeavesFolderError
        OPW-B023.
    """
    listed = sorted(paths)
    outside = [path for path in listed if not is_inside(path)]
    if outside:
        raise LeavesFolderError(
            where=listed_by,
            got=", ".join(map(repr, outside)),
            fix="delete the folder: opwright never wrote such a path; nothing was removed",
        )
    parents = {parent for path in listed for parent in Path(path).parents}
    for parent in sorted({Path(), *parents}):
        refuse_link(folder / parent)


def refuse_link(path: Path, *, fix: str | None = None) -> None:
    """Raise if a path is a symbolic link.

    Raises
    ------
    LeavesFolderError
        OPW-B023.
    """
    if path.is_symlink():
        raise LeavesFolderError(
            where=str(path), got=f"a symbolic link to {path.readlink()}", fix=fix
        )
