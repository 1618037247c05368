"""How a process ended, in words."""

from __future__ import annotations

import os
import signal

__all__ = ["LOST_CHANNEL", "LOST_SERVER", "describe_exit", "is_out_of_time"]

# The exit code of a worker whose connection to the command was closed under it.
LOST_CHANNEL = 113
# Instead of a status: the process that it was forked from is gone, and took it along.
LOST_SERVER = -1


def is_out_of_time(status: int) -> bool:
    """Return whether the system ended a process that computed for too long."""
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU


def describe_exit(status: int) -> str:
    """Say how a process ended, from what os.waitpid gives.

    >>> describe_exit(11), describe_exit(3 << 8)
    ('the process was ended by SIGSEGV (Segmentation fault)', 'the process exited with code 3')
    """
    if status == LOST_SERVER:
        return "its parent process was ended: by it, by what ran beside it, or from outside"
    code = os.waitstatus_to_exitcode(status)
    if code == LOST_CHANNEL:
        return "it closed file descriptors that are not its own, which the process needs"
    if code >= 0:
        return f"the process exited with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:  # a real-time signal
        name = f"signal {-code}"
    words = signal.strsignal(-code) or "no description"
    by_whom = "; the system does that when memory is short" if name == "SIGKILL" else ""
    return f"the process was ended by {name} ({words}){by_whom}"
