"""A CANN that is not the twin: where the environment names one.

It stands outside opwright.twin, whose import arms the twin, and imports nothing of opwright: the
module that `opwright enable` installs asks before it is known whether the twin is wanted.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["folders_before", "home", "places"]

HOMES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
SEARCH_PATH = "LD_LIBRARY_PATH"


def home(environ: Mapping[str, str], twin: Path) -> str | None:
    """Return the root of the CANN that the environment names; None if it is the twin or no CANN.

    Parameters
    ----------
    twin
        The root of the twin's toolkit.
    """
    named = next(filter(None, map(environ.get, HOMES)), None)
    return named if named and is_other(Path(named) / "lib64", twin) else None


def folders_before(search_path: str, twin: Path) -> Iterator[str]:
    """Return the folders of a search path in which libraries are found before the twin's."""
    for entry in filter(None, search_path.split(os.pathsep)):
        if Path(entry).resolve() == libraries_of(twin):
            return
        if is_other(Path(entry), twin):
            yield entry


def places(environ: Mapping[str, str], twin: Path) -> Iterator[str]:
    """Return the roots and the folders of libraries by which variables lead to another CANN.

    The twin of `opwright enable` stands back where there is any.
    """
    for named in filter(None, map(environ.get, HOMES)):
        if is_other(Path(named) / "lib64", twin):
            yield named
    for entry in filter(None, environ.get(SEARCH_PATH, "").split(os.pathsep)):
        if is_other(Path(entry), twin):
            yield entry


def is_other(libraries: Path, twin: Path) -> bool:
    """Return whether a folder has the libraries of a CANN that is not the twin."""
    return (libraries / "libascendcl.so").exists() and libraries.resolve() != libraries_of(twin)


def libraries_of(twin: Path) -> Path:
    """Return the folder of the twin's libraries."""
    return (twin / "lib64").resolve()
