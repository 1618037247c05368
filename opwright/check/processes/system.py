"""What Linux offers to a process, and Python does not."""

from __future__ import annotations

import ctypes
import os
import signal

__all__ = ["adopt_orphans", "end_with_parent"]

# <linux/prctl.h>
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

LIBC = ctypes.CDLL(None, use_errno=True)


def prctl(option: int, value: int) -> None:
    """Set an attribute of this process."""
    if LIBC.prctl(option, ctypes.c_ulong(value), 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def adopt_orphans() -> None:
    """Become the parent of all descendants whose parent ends."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def end_with_parent(parent: int) -> None:
    """Have this process killed when its parent ends, or end it if that has happened."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
