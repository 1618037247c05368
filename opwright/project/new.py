"""`opwright new`: a folder with a project, complete or not there at all.

The folder is made beside its place, under another name, and renamed. A run that was killed leaves
that folder behind; the next run in the same place removes it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.lock import hold_lock
from opwright.project.config import is_project
from opwright.project.errors import (
    CannotWriteError,
    FolderExistsError,
    NestedProjectError,
    ProjectNameError,
)
from opwright.project.names import name_fault
from opwright.project.template import project_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.project.template import Template

__all__ = ["check_name", "make_project"]

EXECUTABLE = frozenset({".ci/run"})
UNFINISHED = ".unfinished"


def make_project(folder: Path, template: Template) -> Path:
    """Make a project; its name is that of the folder.

    Returns
    -------
    folder
        The new folder, as an absolute path.

    Raises
    ------
    ProjectNameError, FolderExistsError, CannotWriteError, NestedProjectError
        OPW-P010, OPW-P011, OPW-P013, OPW-P015.
    """
    folder = Path(os.path.abspath(folder))  # noqa: PTH100 - resolve() would follow a link of this name
    check_name(folder.name, where="opwright new")
    if os.path.lexists(folder):
        raise FolderExistsError(where=str(folder), got=kind(folder))
    if not folder.parent.is_dir():
        raise CannotWriteError(
            where=str(folder.parent), got="no such folder", fix="make it, or name one that exists"
        )
    outer = next((parent for parent in folder.parents if is_project(parent)), None)
    if outer is not None:
        raise NestedProjectError(where=str(folder), got=f"a place inside the project {outer}")
    try:
        with unfinished_folder(folder) as made:
            for path, text in project_texts(folder.name, template).items():
                file = made / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8", newline="\n")
                if path in EXECUTABLE:
                    file.chmod(file.stat().st_mode | 0o111 & ~current_umask())
            made.rename(folder)
    except OSError as error:
        if error.errno in {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR}:  # made meanwhile
            raise FolderExistsError(where=str(folder), got=kind(folder)) from error
        raise CannotWriteError(where=str(folder), got=str(error)) from error
    return folder


def check_name(name: str, *, where: str) -> None:
    """Raise unless a package, a namespace of PyTorch and one of C++ can have this name.

    Raises
    ------
    ProjectNameError
        OPW-P010.
    """
    fault = name_fault(name)
    if fault is not None:
        raise ProjectNameError(where=where, got=fault.got, fix=fault.fix)


def kind(path: Path) -> str:
    """Say what is at a path."""
    if path.is_symlink():
        return "a symbolic link"
    if not path.is_dir():
        return "a file"
    return "a folder" if any(path.iterdir()) else "an empty folder"


def current_umask() -> int:
    """Return the mask of this process, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


@contextmanager
def unfinished_folder(folder: Path) -> Iterator[Path]:
    """Make a folder beside another one; it is removed unless it was renamed."""
    prefix = f".{folder.name}."
    with hold_lock(folder.parent):
        remove_abandoned(folder.parent, prefix)
        made = Path(tempfile.mkdtemp(prefix=prefix, suffix=UNFINISHED, dir=folder.parent))
        handle = os.open(made, os.O_RDONLY)
        fcntl.flock(handle, fcntl.LOCK_EX)  # says that its process lives
    try:
        made.chmod(0o777 & ~current_umask())  # mkdtemp's mode is for secrets
        yield made
    finally:
        os.close(handle)
        shutil.rmtree(made, ignore_errors=True)


def remove_abandoned(parent: Path, prefix: str) -> None:
    """Remove the folders of processes that were killed."""
    for left in parent.glob(f"{prefix}*{UNFINISHED}"):
        try:
            handle = os.open(left, os.O_RDONLY)
        except FileNotFoundError:
            continue  # renamed by its process
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue  # its process lives
        else:
            shutil.rmtree(left, ignore_errors=True)
        finally:
            os.close(handle)
