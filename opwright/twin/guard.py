"""Guarded memory of this process: what it found, and how it is arranged (docs/twin.md).

It is there in a process that was started with OPWRIGHT_GUARD=1: `opwright run --guard`.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Literal

from opwright.errors import OpwrightError
from opwright.twin.settings import GUARD

__all__ = [
    "MODES",
    "Fault",
    "GuardModeError",
    "NoDeviceMemoryError",
    "NotGuardedError",
    "fill",
    "is_guarded",
    "set_mode",
    "take_faults",
]

# Which end of an operand touches a page without access rights, and the pattern of unwritten memory:
# 1: its end, NaN from 16 bits on; 2: its start, a number.
MODES: tuple[int, ...] = (1, 2)
MOST = 256  # faults taken at once


class NotGuardedError(OpwrightError):
    """Guarded memory was asked for in a process that was started without it."""

    id = "OPW-T040"
    title = "memory of this process is not guarded"
    usual_fix = "start it with `opwright run --guard`, or with OPWRIGHT_GUARD=1"


class GuardModeError(OpwrightError):
    """A way to arrange guarded memory that there is not."""

    id = "OPW-T041"
    title = "not a mode of guarded memory"
    usual_fix = "use one of opwright.twin.guard.MODES"


class NoDeviceMemoryError(OpwrightError):
    """An address and a size that are not within one allocation of device memory."""

    id = "OPW-T042"
    title = "no device memory there"
    usual_fix = "give memory that is allocated: torch.npu.memory_snapshot() lists its blocks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """An access outside of what a kernel was given.

    Parameters
    ----------
    what
        `outside` of an operand of the call; `stale`: where an operand of an earlier call was, or at
        an address that is nobody's; `padding`: behind an allocation of device memory, found later.
    access
        Unknown on processors whose faults do not say.
    offset
        Bytes from the start of the operand; negative before it.
    size
        Bytes of the operand.
    written
        How many bytes outside were changed, if that is known.
    function
        The aclnn function that ran; empty outside of kernels.
    operand
        Its parameters there; with its function if that ran earlier.
    place
        The instruction: library, offset and the function if it is exported.
    """

    what: Literal["outside", "stale", "padding"]
    access: Literal["read", "write", "unknown"]
    offset: int
    size: int
    written: int
    function: str
    operand: str
    place: str


class PlainFault(ctypes.Structure):
    """opwright_guard_fault of native/runtime/memory/guard/report.cpp."""

    _fields_: ClassVar = [
        ("what", ctypes.c_int32),
        ("written", ctypes.c_int32),
        ("offset", ctypes.c_int64),
        ("bytes", ctypes.c_uint64),
        ("operand_bytes", ctypes.c_uint64),
        ("function", ctypes.c_char * 96),
        ("operand", ctypes.c_char * 160),
        ("place", ctypes.c_char * 160),
    ]


@cache
def library() -> ctypes.CDLL:
    """Return libascendcl, which torch_npu has loaded."""
    found = ctypes.CDLL("libascendcl.so")
    found.opwright_guard_take.restype = ctypes.c_uint64
    return found


def is_guarded() -> bool:
    """Return whether memory is guarded."""
    try:
        return hasattr(library(), "opwright_guard_mode") and library().opwright_guard_mode() != 0
    except OSError:
        return False


def set_mode(mode: int) -> None:
    """Arrange what is allocated and run from now on in one of MODES.

    Parameters
    ----------
    mode
        1: operands end where a page without access rights begins, and new memory holds NaN;
        2: they start where one ends, and new memory holds a number.

    Raises
    ------
    GuardModeError, NotGuardedError
        OPW-T041, OPW-T040.
    """
    if mode not in MODES:
        raise GuardModeError(where="set_mode", got=repr(mode), allowed=map(str, MODES))
    require_guard("set_mode")
    status = library().opwright_guard_set_mode(mode)
    assert status == 0, status


def fill(address: int, size: int) -> None:
    """Fill device memory that nobody uses with the pattern of the mode.

    Parameters
    ----------
    address
        Of the first byte, as `tensor.data_ptr()` has it.
    size
        In bytes; all of them in one allocation.

    Raises
    ------
    NoDeviceMemoryError, NotGuardedError
        OPW-T042, OPW-T040.
    """
    require_guard("fill")
    if library().opwright_guard_fill(ctypes.c_void_p(address), ctypes.c_uint64(size)):
        raise NoDeviceMemoryError(where="fill", got=f"{size} bytes at {address:#x}")


def require_guard(where: str) -> None:
    """Raise unless memory is guarded.

    Raises
    ------
    NotGuardedError
        OPW-T040.
    """
    if not is_guarded():
        raise NotGuardedError(where=where, got=f"{GUARD}={os.environ.get(GUARD, '')}")


def take_faults() -> list[Fault]:
    """Take what was found since the last time, oldest first; 256 at most."""
    room = (PlainFault * MOST)()
    count = library().opwright_guard_take(room, MOST)
    return [plain(each) for each in room[:count]]


def plain(fault: PlainFault) -> Fault:
    """Return a fault of the C interface."""
    whats: tuple[Literal["outside", "stale", "padding"], ...] = ("outside", "stale", "padding")
    accesses: dict[int, Literal["read", "write", "unknown"]] = {0: "read", 1: "write"}
    return Fault(
        what=whats[fault.what],
        access=accesses.get(fault.written, "unknown"),
        offset=fault.offset,
        size=fault.operand_bytes,
        written=fault.bytes,
        function=fault.function.decode(errors="replace"),
        operand=fault.operand.decode(errors="replace"),
        place=fault.place.decode(errors="replace"),
    )
