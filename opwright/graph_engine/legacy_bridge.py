"""libacl_op_compiler calls in here: the other half of native/op_compiler/legacy_engine.h.

It imports this module by name when the first legacy operator is called. Operators run on the
workers of their streams; ctypes takes the GIL.
"""

from __future__ import annotations

import atexit
import ctypes
import itertools
import struct
import sys
from typing import TYPE_CHECKING, ClassVar

import torch

from opwright.errors import OpwrightError
from opwright.graph_engine import kernels
from opwright.graph_engine.errors import MissingKernelError
from opwright.graph_engine.legacy import kernels as legacy_kernels
from opwright.graph_engine.legacy.operator import LegacyOperator, read_operator
from opwright.graph_engine.running.runner import ADDRESS
from opwright.graph_engine.table import load_kernels

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["connect"]

COUNT_THREADS = "_ZN2at15get_num_threadsEv"  # at::get_num_threads()
# CANN's codes: ACL_ERROR_OP_NOT_FOUND, ACL_ERROR_INVALID_PARAM, ACL_ERROR_GE_FAILURE.
NOT_FOUND = 100024
INVALID = 100000
FAILED = 500002

Prepare = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p)
Run = ctypes.CFUNCTYPE(
    None,
    ctypes.c_uint64,
    ctypes.c_void_p,
    ctypes.c_uint64,
    ctypes.c_int32,
    ctypes.c_int32,
    ctypes.c_void_p,
)
Threads = ctypes.CFUNCTYPE(ctypes.c_int)
Drop = ctypes.CFUNCTYPE(None, ctypes.c_uint64)


class Functions(ctypes.Structure):
    """The functions that the native side calls."""

    _fields_: ClassVar = [
        ("prepare", Prepare),
        ("run", Run),
        ("threads", Threads),
        ("drop", Drop),
    ]


native: ctypes.CDLL | None = None
operators: dict[int, LegacyOperator] = {}
numbers = itertools.count(1)


def connect(_argument: str) -> None:
    """Load the kernels and give the native side the functions to call."""
    global native  # noqa: PLW0603 - one library per process, known when it calls
    if native is not None:
        return
    load_kernels(kernels, legacy_kernels)
    native = ctypes.CDLL("libacl_op_compiler.so")
    native.opwright_legacy_program.argtypes = (ctypes.c_void_p, ctypes.c_uint64)
    native.opwright_legacy_shape.argtypes = (
        ctypes.c_void_p,
        ctypes.c_int64,
        ctypes.POINTER(ctypes.c_int64),
    )
    native.opwright_legacy_fail.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)
    native.opwright_legacy_close.argtypes = ()
    functions.threads = ctypes.cast(ctypes.CDLL("libtorch_cpu.so")[COUNT_THREADS], Threads)
    native.opwright_legacy_register(ctypes.byref(functions))
    atexit.register(finish)


def finish() -> None:
    """Let the running operators end while Python is still there for them."""
    torch_npu = sys.modules.get("torch_npu")
    try:
        if torch_npu is not None and torch_npu.npu.is_initialized():
            torch_npu.npu.synchronize()
    finally:
        library().opwright_legacy_close()


def library() -> ctypes.CDLL:
    """Return the library that called."""
    if native is None:
        message = "the engine of legacy operators is not connected"
        raise RuntimeError(message)
    return native


def report_errors(answer: int, code: int, body: Callable[[], None]) -> None:
    """Run `body`; an exception becomes the error of the call."""
    try:
        body()
    except OpwrightError as error:
        found = NOT_FOUND if isinstance(error, MissingKernelError) else code
        library().opwright_legacy_fail(answer, found, str(error).encode(errors="backslashreplace"))
    except BaseException as error:  # noqa: BLE001 - no exception may cross the C boundary; all are reported
        words = f"{type(error).__name__}: {error}"
        library().opwright_legacy_fail(answer, FAILED, words.encode(errors="backslashreplace"))


def prepare(description: bytes, answer: int) -> None:
    """Answer a program for an operator."""

    def body() -> None:
        operator = read_operator(description.decode())
        number = next(numbers)
        operators[number] = operator
        library().opwright_legacy_program(answer, number)

    report_errors(answer, INVALID, body)


def run_operator(
    number: int, addresses: int, count: int, threads: int, reshape: int, answer: int
) -> None:
    """Run an operator; answer the shapes of its outputs if they are wanted."""

    def body() -> None:
        if threads != torch.get_num_threads():
            torch.set_num_threads(threads)
        found = struct.unpack(f"{count}P", ctypes.string_at(addresses, count * ADDRESS))
        shapes = operators[number].run(found, reshape=bool(reshape))
        for shape in shapes if reshape else ():
            sizes = (ctypes.c_int64 * len(shape))(*shape)
            library().opwright_legacy_shape(answer, len(shape), sizes)

    report_errors(answer, FAILED, body)


def drop(number: int) -> None:
    """Forget a program: no call has it any more."""
    del operators[number]


# Kept here, because the native side holds only addresses.
functions = Functions(prepare=Prepare(prepare), run=Run(run_operator), drop=Drop(drop))
