"""The state of a process that a cell may change, and the next one must find as it was.

Most of it is put back. The rest is reported, and the process is replaced.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import sys
import threading
import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from opwright.check.observe.probes_torch import read_matmul_precision, write_matmul_precision
from opwright.check.observe.seeds import seed_generators
from opwright.internals.dispatcher import (
    dispatch_tls_local_exclude_set,
    dispatch_tls_local_include_set,
)
from opwright.internals.modes import (
    default_device,
    len_torch_dispatch_stack,
    len_torch_function_stack,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Clean", "identity"]

# torch_npu adds the one; the other has a property that stubs do not know.
NPU: Any = torch.get_device_module("npu")
DETERMINISM: Any = torch.utils.deterministic
STREAMS = (0, 1, 2)
TIMEOUT = 0.5  # seconds for threads that are about to end
ENDING = 0.01  # seconds between looks at them


@dataclass(frozen=True, slots=True)
class State:
    """Something of the process that can be read and written back."""

    read: Callable[[], Any]
    write: Callable[[Any], object]


def environment() -> dict[str, str]:
    """Return the environment variables."""
    return dict(os.environ)


def set_environment(values: dict[str, str]) -> None:
    """Replace the environment variables."""
    for name in os.environ.keys() - values.keys():
        del os.environ[name]
    os.environ.update(values)


def umask() -> int:
    """Return the mask for new files."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def handlers() -> dict[int, Any]:
    """Return the signal handlers that Python knows."""
    return {number: signal.getsignal(number) for number in signal.valid_signals()}


def set_handlers(before: dict[int, Any]) -> None:
    """Put back the signal handlers that differ."""
    for number, handler in before.items():
        if signal.getsignal(number) is not handler and handler is not None:
            signal.signal(number, handler)


def streams() -> tuple[Any, ...]:
    """Return the standard streams of Python."""
    return sys.stdin, sys.stdout, sys.stderr


def set_streams(values: tuple[Any, ...]) -> None:
    """Put back the standard streams of Python."""
    sys.stdin, sys.stdout, sys.stderr = values


def read_deterministic_modes() -> tuple[bool, bool, bool]:
    """Return torch's modes of determinism."""
    return (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        DETERMINISM.fill_uninitialized_memory,
    )


def set_deterministic(values: tuple[bool, bool, bool]) -> None:
    """Set torch's modes of determinism."""
    enabled, warn_only, fill = values
    torch.use_deterministic_algorithms(enabled, warn_only=warn_only)
    DETERMINISM.fill_uninitialized_memory = fill


def autocast() -> dict[str, tuple[bool, torch.dtype]]:
    """Return the state of autocast by device."""
    return {
        device: (torch.is_autocast_enabled(device), torch.get_autocast_dtype(device))
        for device in ("cpu", "npu")
    }


def set_autocast(values: dict[str, tuple[bool, torch.dtype]]) -> None:
    """Set the state of autocast by device."""
    for device, (enabled, dtype) in values.items():
        torch.set_autocast_enabled(device, enabled)
        torch.set_autocast_dtype(device, dtype)


STATES = (
    State(os.getcwd, os.chdir),
    State(umask, os.umask),
    State(environment, set_environment),
    State(lambda: list(sys.path), lambda value: sys.path.__setitem__(slice(None), value)),
    State(lambda: list(sys.argv), lambda value: sys.argv.__setitem__(slice(None), value)),
    State(streams, set_streams),
    State(lambda: sys.excepthook, lambda value: setattr(sys, "excepthook", value)),
    State(sys.getrecursionlimit, sys.setrecursionlimit),
    State(sys.getswitchinterval, sys.setswitchinterval),
    State(sys.gettrace, sys.settrace),
    State(sys.getprofile, sys.setprofile),
    State(lambda: list(warnings.filters), lambda value: setattr(warnings, "filters", value)),
    State(handlers, set_handlers),
    State(gc.isenabled, lambda value: gc.enable() if value else gc.disable()),
    State(torch.get_default_dtype, torch.set_default_dtype),
    State(default_device, lambda _: torch.set_default_device(None)),
    State(torch.get_num_threads, torch.set_num_threads),
    State(read_matmul_precision, write_matmul_precision),
    State(read_deterministic_modes, set_deterministic),
    State(torch.is_grad_enabled, torch.set_grad_enabled),
    State(torch.is_anomaly_enabled, torch.set_anomaly_enabled),
    State(torch.is_autocast_cache_enabled, torch.set_autocast_cache_enabled),
    State(autocast, set_autocast),
    State(torch.is_warn_always_enabled, torch.set_warn_always),
)


def cwd() -> str:
    """Return the working directory; nothing if it was removed."""
    try:
        return os.getcwd()  # noqa: PTH109 - the text is compared
    except FileNotFoundError:
        return ""


def modes() -> tuple[object, ...]:
    """Return what torch keeps per thread and only its owner can take back."""
    return (
        torch.is_inference_mode_enabled(),
        len_torch_function_stack(),
        len_torch_dispatch_stack(),
        dispatch_tls_local_include_set().raw_repr(),
        dispatch_tls_local_exclude_set().raw_repr(),
    )


def identity(descriptor: int) -> tuple[int, int] | None:
    """Return what a descriptor refers to; None if it is closed."""
    try:
        found = os.fstat(descriptor)
    except OSError:
        return None
    return found.st_dev, found.st_ino


class Clean:
    """The state at its construction, which `restore` puts back.

    Parameters
    ----------
    descriptors
        What must stay open, besides the standard streams.
    seed
        Of all generators of random numbers.
    """

    def __init__(self, *descriptors: int, seed: int) -> None:
        self.seed = seed
        self.states = [(state, state.read()) for state in STATES]
        self.modes = modes()
        self.descriptors = {each: identity(each) for each in (*STREAMS, *descriptors)}
        self.threads = set(threading.enumerate())

    def restore(self) -> str | None:
        """Put back the state.

        Returns
        -------
        reason
            Why the process cannot be used any more; None if it can.
        """
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        if threading.current_thread() is not threading.main_thread():
            return "its main thread is gone"
        if not faulthandler.is_enabled():
            return "faulthandler was disabled"
        for state, value in self.states:
            if not is_same(state.read, value):
                state.write(value)
        self.restore_npu()
        seed_generators(self.seed)
        return self.irreparable()

    def restore_npu(self) -> None:
        """Wait for the device, whose errors belong to this cell; put back what is current."""
        if not NPU.is_initialized():
            return
        try:
            NPU.synchronize()
        except RuntimeError:  # a row that waits for its calls has reported it
            NPU.synchronize()
        if NPU.current_device() != 0:
            NPU.set_device(0)
        default = NPU.default_stream()
        if NPU.current_stream() != default:
            NPU.set_stream(default)

    def irreparable(self) -> str | None:
        """Return what keeps the process from being used again."""
        closed = [each for each, before in self.descriptors.items() if identity(each) != before]
        if closed:
            return f"file descriptors {', '.join(map(str, closed))} were closed or replaced"
        if any(stream is not None and stream.closed for stream in streams()):
            return "a standard stream was closed"
        if modes() != self.modes:
            return "a mode of torch was left on"
        return self.remaining_threads()

    def remaining_threads(self) -> str | None:
        """Return which threads were started and are still there."""
        end = time.monotonic() + TIMEOUT
        while left := [each for each in threading.enumerate() if each not in self.threads]:
            if time.monotonic() > end:
                return f"threads are still running: {', '.join(each.name for each in left)}"
            time.sleep(ENDING)
        return None


def is_same(read: Callable[[], Any], value: object) -> bool:
    """Return whether a state is as it was."""
    try:
        return bool(read() == value)
    except FileNotFoundError:  # the working directory was removed
        return False
