"""Call an aclnn function as a C program does, from NPU tensors and Python values.

It stands in for an extension with EXEC_NPU_CMD, which takes half a minute to compile: the function
is looked up by torch_npu, both phases are called, the arguments are destroyed after phase 2.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import torch
import torch_npu

nnopbase = ctypes.CDLL("libnnopbase.so")
ascendcl = ctypes.CDLL("libascendcl.so")
libtorch_npu = ctypes.CDLL(str(Path(torch_npu.__file__).parent / "lib" / "libtorch_npu.so"))
find = libtorch_npu["_Z16GetOpApiFuncAddrPKc"]
find.restype = ctypes.c_void_p
for name in ("Tensor", "TensorList", "Scalar", "ScalarList", "IntArray", "FloatArray", "BoolArray"):
    getattr(nnopbase, f"aclCreate{name}").restype = ctypes.c_void_p
ascendcl.aclGetRecentErrMsg.restype = ctypes.c_char_p

CODES = {
    **{torch.float32: 0, torch.float16: 1, torch.bfloat16: 27, torch.float64: 11},
    **{torch.int8: 2, torch.int16: 6, torch.int32: 3, torch.int64: 9, torch.bool: 12},
    **{torch.uint8: 4, torch.uint16: 7, torch.uint32: 8, torch.uint64: 10},
    **{torch.complex32: 33, torch.complex64: 16, torch.complex128: 17},
}


class Scalar:
    """A value that travels as aclScalar."""

    def __init__(self, value: complex) -> None:
        self.value = value


class Floats(list[float]):
    """Values that travel as aclFloatArray."""


def int64s(values: list[int]) -> ctypes.Array[ctypes.c_int64]:
    return (ctypes.c_int64 * len(values))(*values)


def acl_tensor(tensor: torch.Tensor) -> int:
    storage = tensor.untyped_storage()
    length = int64s([storage.nbytes() // tensor.element_size()])
    handle: int = nnopbase.aclCreateTensor(
        int64s(list(tensor.shape)),
        ctypes.c_uint64(tensor.dim()),
        CODES[tensor.dtype],
        int64s(list(tensor.stride())),
        ctypes.c_int64(tensor.storage_offset()),
        2,
        length,
        ctypes.c_uint64(1),
        ctypes.c_void_p(storage.data_ptr()),
    )
    return handle


def acl_scalar(value: complex) -> int:
    kinds = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}
    dtype = kinds[type(value)]
    held = torch.tensor(value, dtype=dtype)
    handle: int = nnopbase.aclCreateScalar(ctypes.c_void_p(held.data_ptr()), CODES[dtype])
    return handle


def converted(value: object) -> object:
    """Return what phase 1 gets for a Python value."""
    match value:
        case torch.Tensor():
            return ctypes.c_void_p(acl_tensor(value))
        case Scalar():
            return ctypes.c_void_p(acl_scalar(value.value))
        case Floats():
            floats = (ctypes.c_float * len(value))(*value)
            return ctypes.c_void_p(
                nnopbase.aclCreateFloatArray(floats, ctypes.c_uint64(len(value)))
            )
        case [bool(), *_]:
            bools = (ctypes.c_bool * len(value))(*value)
            return ctypes.c_void_p(nnopbase.aclCreateBoolArray(bools, ctypes.c_uint64(len(value))))
        case [int(), *_] | []:
            return ctypes.c_void_p(
                nnopbase.aclCreateIntArray(int64s(value), ctypes.c_uint64(len(value)))
            )
        case [Scalar(), *_]:
            scalars = (ctypes.c_void_p * len(value))(*(acl_scalar(item.value) for item in value))
            return ctypes.c_void_p(
                nnopbase.aclCreateScalarList(scalars, ctypes.c_uint64(len(value)))
            )
        case [torch.Tensor() | None, *_]:
            tensors = (ctypes.c_void_p * len(value))(
                *(None if item is None else acl_tensor(item) for item in value)
            )
            return ctypes.c_void_p(
                nnopbase.aclCreateTensorList(tensors, ctypes.c_uint64(len(value)))
            )
        case bool():
            return ctypes.c_bool(value)
        case int():
            return ctypes.c_int64(value)
        case float():
            return ctypes.c_double(value)
        case str():
            return ctypes.c_char_p(value.encode())
        case torch.dtype():
            return ctypes.c_int32(CODES[value])
        case _:
            return value  # None, or a ctypes value that goes as it is


class AclnnError(RuntimeError):
    """A phase returned an error; `code` is what it returned."""

    def __init__(self, code: int) -> None:
        self.code = code
        super().__init__((ascendcl.aclGetRecentErrMsg() or b"").decode())


def call(function: str, *arguments: object) -> None:
    """Call both phases on the current stream."""
    first, second = (find(f"{function}{part}".encode()) for part in ("GetWorkspaceSize", ""))
    assert first, f"{function} is not found"
    assert second, f"{function} is not found"
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    prototype = ctypes.CFUNCTYPE(ctypes.c_int)
    values = [converted(argument) for argument in arguments]
    code = prototype(first)(*values, ctypes.byref(size), ctypes.byref(executor))
    if code:
        raise AclnnError(code)
    stream = ctypes.c_void_p(torch.npu.current_stream().npu_stream)
    code = prototype(second)(None, size, executor, stream)
    for argument, value in zip(arguments, values, strict=True):
        if isinstance(argument, torch.Tensor):
            nnopbase.aclDestroyTensor(value)
    if code:
        raise AclnnError(code)
