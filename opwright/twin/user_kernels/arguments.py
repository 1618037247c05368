"""Arguments from the native side -> torch tensors and Python values.

The structures have the layout of native/user_kernels/view.h.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, ClassVar, cast

import torch

from opwright.errors import OpwrightError
from opwright.twin.user_kernels.dtypes import FROM_RUNTIME

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ArgumentView", "Value", "read_argument"]

Value = object

WRITABLE = 0x200  # PyBUF_WRITE
memory_view = ctypes.pythonapi.PyMemoryView_FromMemory
memory_view.restype = ctypes.py_object
memory_view.argtypes = (ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)


class ArgumentDtypeError(OpwrightError):
    """A dtype that torch does not have."""

    id = "OPW-K030"
    title = "the argument's dtype has no counterpart in torch"
    usual_fix = "give the operator an argument of another dtype"


class TensorView(ctypes.Structure):
    """A tensor's descriptor."""

    _fields_: ClassVar = [
        ("dtype", ctypes.c_int32),
        ("present", ctypes.c_int32),
        ("rank", ctypes.c_int64),
        ("sizes", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_int64),
        ("storage", ctypes.c_void_p),
        ("storage_bytes", ctypes.c_uint64),
    ]


class ScalarView(ctypes.Structure):
    """A scalar: its dtype and bytes."""

    _fields_: ClassVar = [
        ("dtype", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("value", ctypes.c_ubyte * 16),
    ]


class ArgumentView(ctypes.Structure):
    """An argument of any kind."""

    _fields_: ClassVar = [
        ("name", ctypes.c_char_p),
        ("kind", ctypes.c_int32),
        ("present", ctypes.c_int32),
        ("count", ctypes.c_uint64),
        ("items", ctypes.c_void_p),
        ("integer", ctypes.c_int64),
        ("real", ctypes.c_double),
    ]


def torch_dtype(code: int) -> torch.dtype:
    """Return torch's dtype for an aclDataType."""
    if code not in FROM_RUNTIME:
        raise ArgumentDtypeError(where="aclDataType", got=str(code), allowed=map(str, FROM_RUNTIME))
    return FROM_RUNTIME[code]


def tensor(view: TensorView) -> torch.Tensor | None:
    """Return a CPU tensor over the device memory, or None for null."""
    if not view.present:
        return None
    dtype = torch_dtype(view.dtype)
    sizes, strides = view.sizes[: view.rank], view.strides[: view.rank]
    if not view.storage_bytes:
        return torch.empty(0, dtype=dtype).as_strided(sizes, strides)
    memory = memory_view(view.storage, view.storage_bytes, WRITABLE)
    return torch.frombuffer(memory, dtype=dtype).as_strided(sizes, strides, view.offset)


def scalar(view: ScalarView) -> complex | float | int | bool:
    """Return a Python number."""
    dtype = torch_dtype(view.dtype)
    value = torch.frombuffer(bytearray(view.value)[: dtype.itemsize], dtype=dtype).item()
    return cast("complex | float | int | bool", value)


def one_tensor(view: ArgumentView) -> Value:
    """Read a tensor."""
    return tensor(TensorView.from_address(view.items))


def tensor_list(view: ArgumentView) -> Value:
    """Read a list of tensors; an entry can be None."""
    if not view.count:
        return []
    return [tensor(entry) for entry in (TensorView * view.count).from_address(view.items)]


def one_scalar(view: ArgumentView) -> Value:
    """Read a scalar."""
    return scalar(ScalarView.from_address(view.items))


def scalar_list(view: ArgumentView) -> Value:
    """Read a list of scalars."""
    if not view.count:
        return []
    return [scalar(entry) for entry in (ScalarView * view.count).from_address(view.items)]


def int_array(view: ArgumentView) -> Value:
    """Read an array of 64-bit integers."""
    return list((ctypes.c_int64 * view.count).from_address(view.items)) if view.count else []


def float_array(view: ArgumentView) -> Value:
    """Read an array of 32-bit floats."""
    return list((ctypes.c_float * view.count).from_address(view.items)) if view.count else []


# By the values of `Kind` in native/user_kernels/prepare.h.
READERS: tuple[Callable[[ArgumentView], Value], ...] = (
    one_tensor,
    tensor_list,
    one_scalar,
    scalar_list,
    int_array,
    float_array,
    lambda view: [bool(value) for value in ctypes.string_at(view.items, view.count)],
    lambda view: ctypes.string_at(view.items, view.count).decode(),
    lambda view: view.integer,
    lambda view: view.real,
    lambda view: bool(view.integer),
    lambda view: torch_dtype(view.integer),
)


def read_argument(view: ArgumentView) -> Value:
    """Return the Python value of an argument; None for null.

    Raises
    ------
    ArgumentDtypeError
        OPW-K030.
    """
    return READERS[view.kind](view) if view.present else None
