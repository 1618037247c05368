"""Readers and writers of the state that Python and the system keep in the process."""

from __future__ import annotations

import ctypes
import gc
import logging
import os
import platform
import re
import signal
import sys
import warnings
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "read_environment",
    "read_file_mask",
    "read_files",
    "read_filters",
    "read_float_control",
    "read_loggers",
    "read_numpy_errors",
    "read_numpy_generator",
    "read_signal_mask",
    "read_signals",
    "read_threads",
    "write_collection",
    "write_environment",
    "write_filters",
    "write_float_control",
    "write_loggers",
    "write_numpy_errors",
    "write_numpy_generator",
    "write_path",
    "write_signal_mask",
    "write_signals",
]

STREAM_THREAD = re.compile(r"npu\d+-stream\d+")


# Python.


def read_numpy_generator() -> tuple[Any, ...] | None:
    """Return the state of numpy's old global generator; None where nobody has loaded numpy."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    name, keys, *rest = numpy.random.get_state()
    return name, keys.tobytes(), *rest


def write_numpy_generator(state: tuple[Any, ...] | None) -> None:
    """Set the state of numpy's old global generator."""
    if state is not None:
        numpy = sys.modules["numpy"]
        name, keys, *rest = state
        numpy.random.set_state((name, numpy.frombuffer(keys, dtype=numpy.uint32), *rest))


def read_numpy_errors() -> Mapping[str, str] | None:
    """Return what numpy does about floating-point errors."""
    numpy = sys.modules.get("numpy")
    return None if numpy is None else dict(numpy.geterr())


def write_numpy_errors(value: Mapping[str, str] | None) -> None:
    """Set what numpy does about floating-point errors."""
    if value is not None:
        sys.modules["numpy"].seterr(**value)


def read_filters() -> list[Any]:
    """Return the filters of warnings."""
    return list(warnings.filters)


def write_filters(filters: list[Any]) -> None:
    """Set the filters of warnings."""
    warnings.filters[:] = filters  # type: ignore[index]  # a list, which typeshed calls a sequence
    with warnings.catch_warnings():
        pass  # whose end lets Python forget which filter it found for a warning


def write_path(entries: list[str]) -> None:
    """Set sys.path."""
    sys.path[:] = entries


def read_loggers() -> dict[str, int]:
    """Return the levels of the root logger and of torch's."""
    return {name or "root": logging.getLogger(name).level for name in ("", "torch", "torch_npu")}


def write_loggers(levels: Mapping[str, int]) -> None:
    """Set the levels of loggers."""
    for name, level in levels.items():
        logging.getLogger("" if name == "root" else name).setLevel(level)


def write_collection(is_on: bool) -> None:  # noqa: FBT001 - what gc.isenabled returned
    """Turn garbage collection on or off."""
    if is_on:
        gc.enable()
    else:
        gc.disable()


# The system.


@cache
def load_libc() -> ctypes.CDLL:
    """Return the C library."""
    return ctypes.CDLL(None)


@cache
def load_libm() -> ctypes.CDLL:
    """Return the C library that has fegetenv and fesetenv."""
    return ctypes.CDLL("libm.so.6") if sys.platform == "linux" else ctypes.CDLL(None)


def read_environment() -> dict[str, str]:
    """Return the environment as the C library has it: setenv in C++ passes by os.environ."""
    entries = ctypes.POINTER(ctypes.c_char_p).in_dll(load_libc(), "environ")
    found: dict[str, str] = {}
    index = 0
    while bool(entries) and (entry := entries[index]) is not None:
        name, _, value = os.fsdecode(entry).partition("=")
        found[name] = value
        index += 1
    return found


def write_environment(before: Mapping[str, str]) -> None:
    """Set what has changed in the environment."""
    now = read_environment()
    for name in now.keys() - before.keys():
        os.unsetenv(name)
        os.environ.pop(name, None)
    for name, value in before.items():
        if now.get(name) != value:
            os.environ[name] = value


class SignalAction(ctypes.Structure):
    """struct sigaction of glibc, x86_64 and aarch64; what it writes above signal 64 is random."""

    _fields_: ClassVar = [
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_uint64),
        ("mask_above_64", ctypes.c_uint64 * 15),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    ]


@dataclass(frozen=True, slots=True, repr=False)
class Handler:
    """Python's handler of a signal, and what the system has: address, mask and flags."""

    python: object
    address: int
    mask: int
    flags: int

    def __repr__(self) -> str:
        return f"{self.python!r} (sa_handler {self.address:#x})"


SIGNALS = {int(each): getattr(each, "name", str(each)) for each in signal.valid_signals()}


def read_signals() -> dict[str, Handler]:
    """Return the handler of each signal."""
    found: dict[str, Handler] = {}
    action = SignalAction()
    call = load_libc().sigaction
    for number, name in SIGNALS.items():
        if call(number, None, ctypes.byref(action)) == 0:
            python = signal.getsignal(number)
            found[name] = Handler(python, action.handler or 0, action.mask, action.flags)
    return found


def write_signals(before: Mapping[str, Handler]) -> None:
    """Set the handlers that have changed."""
    now = read_signals()
    for number, name in SIGNALS.items():
        handler = before.get(name)
        if handler is None or handler == now[name]:
            continue
        if handler.python != now[name].python and handler.python is not None:
            with suppress(ValueError):  # another thread than the main one may not
                signal.signal(number, handler.python)  # type: ignore[arg-type]
        action = SignalAction(handler=handler.address, mask=handler.mask, flags=handler.flags)
        load_libc().sigaction(number, ctypes.byref(action), None)


def read_file_mask() -> int:
    """Return the mask of new files; os.umask reads it by setting it, for all threads."""
    text = Path("/proc/thread-self/status").read_text(encoding="ascii", errors="replace")
    return int(text.partition("Umask:")[2].split()[0], 8)


def read_signal_mask() -> set[int]:
    """Return the signals that this thread blocks."""
    return set(signal.pthread_sigmask(signal.SIG_BLOCK, ()))


def write_signal_mask(blocked: set[int]) -> None:
    """Set the signals that this thread blocks."""
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def read_files() -> list[str]:
    """Return the open files by name; their numbers mean nothing."""
    found = []
    for number in os.listdir("/proc/self/fd"):  # noqa: PTH208 - names are all that is wanted
        with suppress(OSError):  # the one that lists them
            found.append(os.readlink(f"/proc/self/fd/{number}"))  # noqa: PTH115 - as above
    return sorted(each for each in found if not each.startswith("/proc/"))


def read_threads() -> list[str]:
    """Return the names of the process's threads.

    Those of streams are the twin's: a stream has one from its first task on, and torch_npu hands
    out streams of a pool in turn.
    """
    found = []
    for number in os.listdir("/proc/self/task"):  # noqa: PTH208 - names are all that is wanted
        with suppress(OSError):  # it has ended
            path = Path(f"/proc/self/task/{number}/comm")
            found.append(path.read_text(encoding="utf-8", errors="replace").strip())
    return sorted(each for each in found if not STREAM_THREAD.match(each))


def read_float_control() -> str:
    """Return how this thread rounds, and whether it keeps denormal numbers.

    The flags that operations set in passing are left out.
    """
    kept = (ctypes.c_uint8 * 64)()
    load_libm().fegetenv(kept)
    raw = bytes(kept)
    if platform.machine() == "x86_64":
        control = int.from_bytes(raw[0:2], "little")
        vector = int.from_bytes(raw[28:32], "little") & 0xFFC0
        return f"x87 {control:#06x}, SSE {vector:#06x}"
    return f"{int.from_bytes(raw[0:4], 'little'):#010x}"  # FPCR comes first on aarch64


def write_float_control(text: str) -> None:
    """Set how this thread rounds, and whether it keeps denormal numbers."""
    kept = (ctypes.c_uint8 * 64)()
    load_libm().fegetenv(kept)
    raw = bytearray(kept)
    words = [int(each.rsplit(" ", 1)[-1], 16) for each in text.split(", ")]
    if platform.machine() == "x86_64":
        flags = int.from_bytes(raw[28:32], "little") & ~0xFFC0
        raw[0:2] = words[0].to_bytes(2, "little")
        raw[28:32] = (words[1] | flags).to_bytes(4, "little")
    else:
        raw[0:4] = words[0].to_bytes(4, "little")
    load_libm().fesetenv((ctypes.c_uint8 * 64).from_buffer(raw))
