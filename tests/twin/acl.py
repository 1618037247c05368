"""CANN's C interface as a C program sees it, through ctypes; torch_npu is not involved."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_int, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.twin.toolkit import installed_toolkit

if TYPE_CHECKING:
    from collections.abc import Sequence

FLOAT, INT64, STRING = 0, 9, 13
ND, FRACTAL_NZ = 2, 29
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2

NULL_PARAMETER, INVALID_PARAMETER = 161001, 161002


def library(name: str) -> ctypes.CDLL:
    """Return a library of the twin; it is loaded already where torch_npu is."""
    return ctypes.CDLL(str(installed_toolkit().libraries / name))


ascendcl, nnopbase, opapi = (library(f"lib{name}.so") for name in ("ascendcl", "nnopbase", "opapi"))
ascendcl.aclGetRecentErrMsg.restype = ctypes.c_char_p
nnopbase.aclCreateTensor.restype = c_void_p
nnopbase.aclCreateTensor.argtypes = [
    *(POINTER(c_int64), c_uint64, c_int32, POINTER(c_int64), c_int64, c_int32),
    *(POINTER(c_int64), c_uint64, c_void_p),
]
nnopbase.aclCreateScalar.restype = c_void_p
ascendcl.aclrtMemcpy.argtypes = [c_void_p, c_size_t, c_void_p, c_size_t, c_int]
ascendcl.aclrtFree.argtypes = [c_void_p]
ascendcl.aclrtSynchronizeStream.argtypes = [c_void_p]


def message() -> str:
    """Take the calling thread's error text."""
    text: bytes = ascendcl.aclGetRecentErrMsg()
    return text.decode()


def malloc(size: int) -> int:
    """Allocate device memory on the current device."""
    address = c_void_p()
    status = ascendcl.aclrtMalloc(byref(address), c_size_t(size), 0)
    assert status == 0, message()
    assert address.value is not None
    return address.value


def free(address: int) -> None:
    """Free device memory."""
    assert ascendcl.aclrtFree(address) == 0, message()


def tensor(
    address: int | None,
    sizes: Sequence[int],
    *,
    dtype: int = FLOAT,
    strides: Sequence[int] | None = None,
    offset: int = 0,
    storage: int | None = None,
    layout: int = ND,
) -> c_void_p:
    """Create an aclTensor; `storage` is the number of elements behind the address."""
    rank = len(sizes)
    shape = (c_int64 * rank)(*sizes)
    steps = None if strides is None else (c_int64 * rank)(*strides)
    extent = None if storage is None else (c_int64 * 1)(storage)
    count = 0 if storage is None else 1
    made: int | None = nnopbase.aclCreateTensor(
        shape, rank, dtype, steps, offset, layout, extent, count, address
    )
    assert made, message()
    return c_void_p(made)


def one() -> c_void_p:
    """Create the aclScalar 1.0f."""
    return c_void_p(nnopbase.aclCreateScalar(byref(ctypes.c_float(1)), FLOAT))


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The answer of phase 1."""

    status: int
    workspace: int
    executor: c_void_p


def prepare(function: str, *arguments: object) -> Prepared:
    """Call phase 1."""
    workspace, executor = c_uint64(99), c_void_p()
    phase1 = getattr(opapi, f"{function}GetWorkspaceSize")
    status: int = phase1(*arguments, byref(workspace), byref(executor))
    return Prepared(status=status, workspace=workspace.value, executor=executor)


def execute(
    function: str, executor: c_void_p, *, workspace: int | None = None, size: int = 0
) -> int:
    """Call phase 2 on the default stream."""
    status: int = getattr(opapi, function)(c_void_p(workspace), c_uint64(size), executor, None)
    return status


def synchronize() -> int:
    """Wait for the default stream; answers the status."""
    status: int = ascendcl.aclrtSynchronizeStream(None)
    return status
