"""Call an aclnn function as a C program does, from NPU tensors and Python values.

It stands in for an extension with EXEC_NPU_CMD, which takes half a minute to compile: the function
is looked up by torch_npu, both phases are called, the arguments are destroyed after phase 2.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch_npu

from opwright.twin.user_kernels.dtypes import FROM_RUNTIME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

nnopbase = ctypes.CDLL("libnnopbase.so")
ascendcl = ctypes.CDLL("libascendcl.so")
libtorch_npu = ctypes.CDLL(str(Path(torch_npu.__file__).parent / "lib" / "libtorch_npu.so"))
find = libtorch_npu["_Z16GetOpApiFuncAddrPKc"]
find.restype = ctypes.c_void_p
for name in ("Tensor", "TensorList", "Scalar", "ScalarList", "IntArray", "FloatArray", "BoolArray"):
    getattr(nnopbase, f"aclCreate{name}").restype = ctypes.c_void_p
ascendcl.aclGetRecentErrMsg.restype = ctypes.c_char_p

CODES = {dtype: code for code, dtype in FROM_RUNTIME.items()}


class Scalar:
    """A value that travels as aclScalar."""

    def __init__(self, value: complex) -> None:
        self.value = value


def int64s(values: Iterable[int]) -> ctypes.Array[ctypes.c_int64]:
    held = list(values)
    return (ctypes.c_int64 * len(held))(*held)


def acl_tensor(tensor: torch.Tensor) -> int:
    storage = tensor.untyped_storage()
    length = int64s([storage.nbytes() // tensor.element_size()])
    handle: int = nnopbase.aclCreateTensor(
        int64s(map(int, tensor.shape)),
        ctypes.c_uint64(tensor.dim()),
        CODES[tensor.dtype],
        int64s(tensor.stride()),
        ctypes.c_int64(int(tensor.storage_offset())),
        2,
        length,
        ctypes.c_uint64(1),
        ctypes.c_void_p(storage.data_ptr()),
    )
    return handle


def describe(memory: ctypes.c_void_p, shape: Sequence[int], dtype: torch.dtype) -> ctypes.c_void_p:
    """Return the descriptor of a contiguous tensor in memory of the caller's own."""
    meta = torch.empty(*shape, dtype=dtype, device="meta")
    handle: int = nnopbase.aclCreateTensor(
        int64s(shape),
        ctypes.c_uint64(len(shape)),
        CODES[dtype],
        int64s(meta.stride()),
        ctypes.c_int64(0),
        2,
        int64s([meta.numel()]),
        ctypes.c_uint64(1),
        memory,
    )
    return ctypes.c_void_p(handle)


def acl_scalar(value: complex) -> int:
    kinds = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}
    dtype = kinds[type(value)]
    held = torch.tensor(value, dtype=dtype)
    handle: int = nnopbase.aclCreateScalar(ctypes.c_void_p(held.data_ptr()), CODES[dtype])
    return handle


def handles(values: Iterable[int | None]) -> ctypes.Array[ctypes.c_void_p]:
    held = list(values)
    return (ctypes.c_void_p * len(held))(*held)


def acl_list(values: list[Any]) -> int:
    """Make the array or list object that fits the first element; an empty one is an IntArray."""
    count = ctypes.c_uint64(len(values))
    match values[0] if values else 0:
        case bool():
            made = nnopbase.aclCreateBoolArray((ctypes.c_bool * len(values))(*values), count)
        case int():
            made = nnopbase.aclCreateIntArray(int64s(values), count)
        case float():
            made = nnopbase.aclCreateFloatArray((ctypes.c_float * len(values))(*values), count)
        case Scalar():
            scalars = handles(acl_scalar(item.value) for item in values)
            made = nnopbase.aclCreateScalarList(scalars, count)
        case _:
            tensors = handles(None if item is None else acl_tensor(item) for item in values)
            made = nnopbase.aclCreateTensorList(tensors, count)
    return int(made)


CONVERSIONS: dict[type, Callable[[Any], object]] = {
    torch.Tensor: lambda value: ctypes.c_void_p(acl_tensor(value)),
    Scalar: lambda value: ctypes.c_void_p(acl_scalar(value.value)),
    list: lambda value: ctypes.c_void_p(acl_list(value)),
    bool: ctypes.c_bool,
    int: ctypes.c_int64,
    float: ctypes.c_double,
    str: lambda value: ctypes.c_char_p(value.encode()),
    torch.dtype: lambda value: ctypes.c_int32(CODES[value]),
}


def converted(value: object) -> object:
    """Return what phase 1 gets; None and values of ctypes go as they are."""
    convert = CONVERSIONS.get(type(value))
    return value if convert is None else convert(value)


class AclnnError(RuntimeError):
    """A phase returned an error; `code` is what it returned."""

    def __init__(self, code: int) -> None:
        self.code = code
        super().__init__((ascendcl.aclGetRecentErrMsg() or b"").decode())


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The results of phase 1, and the descriptors that live until phase 2 has returned."""

    size: int
    executor: ctypes.c_void_p
    tensors: list[object]


PHASE = ctypes.CFUNCTYPE(ctypes.c_int)


def prepare(function: str, *arguments: object) -> Prepared:
    """Call phase 1."""
    address = find(f"{function}GetWorkspaceSize".encode())
    assert address, f"{function} is not found"
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    values = [converted(argument) for argument in arguments]
    code = PHASE(address)(*values, ctypes.byref(size), ctypes.byref(executor))
    if code:
        raise AclnnError(code)
    pairs = zip(arguments, values, strict=True)
    tensors = [value for argument, value in pairs if isinstance(argument, torch.Tensor)]
    return Prepared(size=size.value, executor=executor, tensors=tensors)


def launch(function: str, prepared: Prepared, *, size: int | None = None) -> None:
    """Call phase 2 on the current stream; with a wrong `size` there is no workspace."""
    address = find(function.encode())
    assert address, f"{function} is not found"
    stream = ctypes.c_void_p(torch_npu.npu.current_stream().npu_stream)
    workspace = None
    if size is None and prepared.size:
        workspace = torch.empty(prepared.size, dtype=torch.uint8, device="npu")
    pointer = ctypes.c_void_p(None if workspace is None else workspace.data_ptr())
    given = ctypes.c_uint64(prepared.size if size is None else size)
    code = PHASE(address)(pointer, given, prepared.executor, stream)
    for tensor in prepared.tensors:
        nnopbase.aclDestroyTensor(tensor)
    if code:
        raise AclnnError(code)


def call(function: str, *arguments: object) -> None:
    """Call both phases on the current stream."""
    launch(function, prepare(function, *arguments))
