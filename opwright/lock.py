"""Locks between processes; the system frees that of a process that ends, however it ends."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["hold_lock"]


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Hold the lock on a folder, or on a file, which is made.

    Raises
    ------
    OSError
        It cannot be opened.
    """
    flags = os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT
    handle = os.open(path, flags | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
