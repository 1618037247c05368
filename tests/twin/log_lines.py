"""Programs that call libascendcl without torch, and the lines of CANN's log that they write."""

from __future__ import annotations

import ctypes
import re
from typing import TYPE_CHECKING

from opwright.twin.toolkit import installed_toolkit
from tests.twin import on_twin

if TYPE_CHECKING:
    from collections.abc import Callable

# [ERROR] RUNTIME(pid,process):2026-11-27-03:20:00.123.456 [place]thread function: message
LINE = re.compile(
    r"\[(?P<level>\w+)\] (?P<module>\w+)\((?P<pid>\d+),python[\d.]*\):"
    r"\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d\.\d{3}\.\d{3} "
    r"\[(?P<place>[^\]]+)\](?P<thread>\d+) (?P<message>.*)"
)


def library() -> ctypes.CDLL:
    return ctypes.CDLL(str(installed_toolkit().libraries / "libascendcl.so"))


def begin() -> ctypes.CDLL:
    """Initialise the runtime, and take a device."""
    acl = library()
    assert acl.aclInit(None) == 0
    assert acl.aclrtSetDevice(0) == 0
    return acl


def malloc(acl: ctypes.CDLL, size: int) -> int:
    """Return the status of an allocation; one of no bytes fails."""
    status: int = acl.aclrtMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(size), 0)
    return status


def logged(
    program: Callable[..., object], *arguments: object, **variables: str
) -> tuple[list[re.Match[str]], list[re.Match[str]]]:
    """Run a function in a new process; return the lines of the log in stdout and in stderr."""
    done = on_twin.python("-c", on_twin.call_of(program, arguments), **variables)
    assert done.returncode == 0, done.stderr
    matches = [
        [LINE.fullmatch(line) for line in out.splitlines()] for out in (done.stdout, done.stderr)
    ]
    assert all(match is not None for lines in matches for match in lines), done
    stdout, stderr = ([match for match in lines if match is not None] for lines in matches)
    return stdout, stderr
