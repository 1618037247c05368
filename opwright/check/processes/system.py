"""The protocol between processes, and services of Linux that Python does not offer."""

from __future__ import annotations

import ctypes
import os
import signal
from dataclasses import dataclass

__all__ = ["OWN_FOLDER", "STACK_SIGNAL", "Descriptors", "adopt_orphans", "end_with_parent"]

# Where a worker keeps the descriptor of its own folder; see `server.import_torch`.
OWN_FOLDER = 600
# Prints all stacks of a worker. faulthandler's handler is C: it works while other C code holds the
# GIL.
STACK_SIGNAL = signal.SIGRTMAX - 3

# <linux/prctl.h>
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Descriptors:
    """Descriptors that a worker is given."""

    channel: int
    output: int
    note: int
    stacks: int


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
