"""Kernels in C++ (OPWRIGHT_KERNEL) as functions of Python, for the graph engine.

The functions take CPU tensors in host memory and run in the calling thread: no stream, no copies.
"""

from __future__ import annotations

import ctypes
import functools
import math
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from opwright.aclnn.prototype import derive, plain_interface
from opwright.aclnn.reg_op import parse_reg_op
from opwright.aclnn.signature import AclnnSignature, CType, Parameter
from opwright.errors import OpwrightError
from opwright.twin.user_kernels.dtypes import RUNTIME_CODES
from opwright.twin.user_kernels.emit import KINDS
from opwright.twin.user_kernels.packages import operator_packages
from opwright.twin.user_kernels.registry import Registration, registry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["CompiledKernelError", "Packed", "call", "find_compiled_kernel", "parameters_of"]

# OPWRIGHT_KERNEL exports the text of its parameters under this name.
PARAMETERS = "opwright_parameters_"
# Packages of operator projects export under this name which function serves the type, and below
# that the type's prototype.
PROTOTYPE = "opwright_prototype_"
PARAMETER = re.compile(r"\(\s*(?P<kind>\w+)\s*,\s*(?P<name>\w+)\s*\)")
INPUTS = {"In": CType.TENSOR, "Index": CType.TENSOR, "IndexList": CType.TENSOR_LIST}
OUTPUTS = {
    "Out": CType.TENSOR,
    "OutIndex": CType.TENSOR,
    "Ref": CType.TENSOR,
    "OutList": CType.TENSOR_LIST,
    "RefList": CType.TENSOR_LIST,
}
VALUES = {kind: ctype for ctype, kind in KINDS.items()} | INPUTS
FORMAT_ND = 2
NUMBERS: Mapping[CType, Any] = {
    CType.INT64: ctypes.c_int64,
    CType.INT32: ctypes.c_int32,
    CType.INT16: ctypes.c_int16,
    CType.INT8: ctypes.c_int8,
    CType.UINT64: ctypes.c_uint64,
    CType.UINT32: ctypes.c_uint32,
    CType.UINT16: ctypes.c_uint16,
    CType.UINT8: ctypes.c_uint8,
    CType.DOUBLE: ctypes.c_double,
    CType.FLOAT: ctypes.c_float,
    CType.BOOL: ctypes.c_bool,
}
SCALARS: Mapping[type, tuple[Any, torch.dtype]] = {
    bool: (ctypes.c_bool, torch.bool),
    int: (ctypes.c_int64, torch.int64),
    float: (ctypes.c_double, torch.float64),
}
ARRAYS: Mapping[CType, tuple[str, Any]] = {
    CType.INT_ARRAY: ("aclCreateIntArray", ctypes.c_int64),
    CType.FLOAT_ARRAY: ("aclCreateFloatArray", ctypes.c_float),
    CType.BOOL_ARRAY: ("aclCreateBoolArray", ctypes.c_bool),
}


@dataclass(frozen=True, slots=True)
class Packed:
    """A contiguous tensor of a dtype that torch does not have.

    Parameters
    ----------
    memory
        Its bytes.
    code
        The dtype's number in CANN.
    """

    memory: torch.Tensor
    shape: tuple[int, ...]
    code: int


class CompiledKernelError(OpwrightError):
    """A C++ kernel that refuses its arguments, or fails."""

    id = "OPW-K032"
    title = "the C++ kernel failed"
    usual_fix = "see the message of the kernel"


class ParameterKindError(OpwrightError):
    """A kind of parameter that graphs cannot pass."""

    id = "OPW-K033"
    title = "the C++ kernel has a parameter that graphs cannot pass"
    usual_fix = "use one of these kinds; opwright/kernel.h explains them"


def find_compiled_kernel(function: str) -> Registration | None:
    """Return the C++ kernel of an aclnn function in the operator packages of this process.

    Raises
    ------
    ParameterKindError
        OPW-K033.
    """
    for package in operator_packages(os.environ):
        found = kernel_in(str(package.library), function) if package.exists else None
        if found is not None:
            return found
    return None


@functools.cache
def kernel_in(path: str, function: str) -> Registration | None:
    """Return the kernel of a function if this library has it."""
    library = ctypes.CDLL(path)
    if hasattr(library, PROTOTYPE + function):
        name, _, prototype = read_exported_text(library, PROTOTYPE + function).partition("\n")
        interface = derive(parse_reg_op(prototype, where=f"{path}, {function}")[0])
        signature = AclnnSignature(name=name, parameters=interface.parameters)
    elif hasattr(library, PARAMETERS + function):
        text = read_exported_text(library, PARAMETERS + function)
        signature = AclnnSignature(
            name=function, parameters=parameters_of(text, where=f"{path}, {function}")
        )
        interface = plain_interface(signature)
    else:
        return None

    def run(*arguments: object) -> None:
        call(library, signature, arguments)

    return Registration(interface=interface, function=run, owner=registry, library=path)


def read_exported_text(library: ctypes.CDLL, name: str) -> str:
    """Return a text that a library exports."""
    address = ctypes.addressof(ctypes.c_char.in_dll(library, name))
    return ctypes.string_at(address).decode()


def parameters_of(text: str, *, where: str) -> tuple[Parameter, ...]:
    """Return the parameters that the text of OPWRIGHT_KERNEL declares, with the names of CANN.

    >>> [str(p) for p in parameters_of("(In, x)(OptInts, axes)(Ref, cache)", where="a doctest")]
    ['const aclTensor *x', 'const aclIntArray *axesOptional', 'aclTensor *cacheRef']

    Raises
    ------
    ParameterKindError
        OPW-K033.
    """
    return tuple(
        parameter_of(match["kind"], match["name"], where=where)
        for match in PARAMETER.finditer(text)
    )


def parameter_of(kind: str, name: str, *, where: str) -> Parameter:
    """Return one parameter; what CANN's generator says by names is said so here."""
    base = kind.removeprefix("Opt")
    ctype = OUTPUTS.get(base) or VALUES.get(base)
    if ctype is None:
        allowed = sorted((*VALUES, *OUTPUTS))
        raise ParameterKindError(where=where, got=f"{kind} for '{name}'", allowed=allowed)
    plain = name.removesuffix("Optional")
    if base in {"Ref", "RefList"} and not plain.endswith("Ref"):
        plain += "Ref"
    optional = base != kind or name.endswith("Optional")
    return Parameter(
        name=plain + "Optional" * optional,
        ctype=ctype,
        const=ctype.is_pointer and base not in OUTPUTS,
    )


def call(library: ctypes.CDLL, signature: AclnnSignature, arguments: Sequence[object]) -> None:
    """Run a kernel on tensors in host memory.

    Raises
    ------
    CompiledKernelError
        OPW-K032.
    """
    passing = Passing()
    executor, workspace = ctypes.c_void_p(), ctypes.c_uint64()
    first = library[f"{signature.name}GetWorkspaceSize"]
    before = nnopbase().opwright_allow_host_operands(1)
    try:
        passed = [
            passing.argument(parameter.ctype, value)
            for parameter, value in zip(signature.parameters, arguments, strict=True)
        ]
        # Phase 1 leaves an executor that knows the failure, and its run reports that.
        first(*passed, ctypes.byref(workspace), ctypes.byref(executor))
        status = nnopbase().opwright_run_executor(executor)
        if status:
            message = nnopbase().aclGetRecentErrMsg() or f"status {status}".encode()
            raise CompiledKernelError(where=signature.name, got=message.decode(errors="replace"))
    finally:
        nnopbase().opwright_allow_host_operands(before)
        passing.release()


@functools.cache
def nnopbase() -> ctypes.CDLL:
    """Return the library that has the descriptors of arguments."""
    ctypes.CDLL("libascendcl.so", mode=ctypes.RTLD_GLOBAL)  # has aclGetRecentErrMsg
    library = ctypes.CDLL("libnnopbase.so")
    for name in CREATORS:
        getattr(library, name).restype = ctypes.c_void_p  # an index would give another object
    library.aclGetRecentErrMsg.restype = ctypes.c_char_p
    library.opwright_run_executor.argtypes = (ctypes.c_void_p,)
    return library


# Functions that make a descriptor -> those that destroy it.
CREATORS = {
    f"aclCreate{kind}": f"aclDestroy{kind}"
    for kind in (
        *("Tensor", "TensorList", "Scalar", "ScalarList"),
        *("IntArray", "FloatArray", "BoolArray"),
    )
}


class Passing:
    """Descriptors of a call's arguments, until they are released."""

    def __init__(self) -> None:
        self.made: dict[int, str] = {}

    def release(self) -> None:
        """Destroy the descriptors; a list destroys its elements."""
        for address, creator in reversed(self.made.items()):
            getattr(nnopbase(), CREATORS[creator])(ctypes.c_void_p(address))

    def make(self, creator: str, *arguments: object) -> ctypes.c_void_p:
        """Create a descriptor."""
        address = getattr(nnopbase(), creator)(*arguments)
        self.made[address] = creator
        return ctypes.c_void_p(address)

    def argument(self, ctype: CType, value: Any) -> object:  # noqa: ANN401 - a tensor, list or number
        """Return what the C function gets."""
        if ctype in NUMBERS:
            return NUMBERS[ctype](value)
        if ctype is CType.DTYPE:
            return ctypes.c_int32(RUNTIME_CODES[value])
        if value is None:
            return ctypes.c_void_p()
        if ctype is CType.TEXT:
            return ctypes.c_char_p(value.encode())
        if ctype in ARRAYS:
            creator, element = ARRAYS[ctype]
            return self.make(creator, (element * len(value))(*value), ctypes.c_uint64(len(value)))
        return self.CONVERSIONS[ctype](self, value)

    def tensor(self, value: torch.Tensor | Packed | None) -> ctypes.c_void_p:
        """Describe a CPU tensor; none is null."""
        if value is None:
            return ctypes.c_void_p()
        if isinstance(value, Packed):
            return self.describe_packed(value)
        rank = value.dim()
        sizes = (ctypes.c_int64 * rank)(*value.shape)
        strides = (ctypes.c_int64 * rank)(*value.stride())
        storage = (ctypes.c_int64 * 1)(value.untyped_storage().nbytes() // value.element_size())
        return self.make(
            "aclCreateTensor",
            *(sizes, ctypes.c_uint64(rank), ctypes.c_int32(RUNTIME_CODES[value.dtype])),
            *(strides, ctypes.c_int64(int(value.storage_offset()))),
            *(ctypes.c_int32(FORMAT_ND), storage, ctypes.c_uint64(1)),
            ctypes.c_void_p(value.untyped_storage().data_ptr()),
        )

    def describe_packed(self, value: Packed) -> ctypes.c_void_p:
        """Describe a contiguous tensor whose dtype torch does not have."""
        rank = len(value.shape)
        sizes = (ctypes.c_int64 * rank)(*value.shape)
        inner = [math.prod(value.shape[axis + 1 :]) for axis in range(rank)]
        count = (ctypes.c_int64 * 1)(math.prod(value.shape))
        return self.make(
            "aclCreateTensor",
            *(sizes, ctypes.c_uint64(rank), ctypes.c_int32(value.code)),
            *((ctypes.c_int64 * rank)(*inner), ctypes.c_int64(0)),
            *(ctypes.c_int32(FORMAT_ND), count, ctypes.c_uint64(1)),
            ctypes.c_void_p(value.memory.data_ptr()),
        )

    def scalar(self, value: complex) -> ctypes.c_void_p:
        """Describe a number."""
        if isinstance(value, complex):
            parts = (ctypes.c_double * 2)(value.real, value.imag)
            return self.make(
                "aclCreateScalar", parts, ctypes.c_int32(RUNTIME_CODES[torch.complex128])
            )
        element, dtype = SCALARS[type(value)]
        memory = ctypes.byref(element(value))
        return self.make("aclCreateScalar", memory, ctypes.c_int32(RUNTIME_CODES[dtype]))

    def elements(
        self, creator: str, one: Callable[[Any], ctypes.c_void_p], values: Sequence[object]
    ) -> ctypes.c_void_p:
        """Describe a list; it owns its elements."""
        addresses = [one(value).value for value in values]
        for address in filter(None, addresses):
            del self.made[address]
        array = (ctypes.c_void_p * len(addresses))(*addresses)
        return self.make(creator, array, ctypes.c_uint64(len(addresses)))

    def tensors(self, values: Sequence[torch.Tensor | None]) -> ctypes.c_void_p:
        """Describe a list of tensors."""
        return self.elements("aclCreateTensorList", self.tensor, values)

    def scalars(self, values: Sequence[complex]) -> ctypes.c_void_p:
        """Describe a list of numbers."""
        return self.elements("aclCreateScalarList", self.scalar, values)

    CONVERSIONS: Mapping[CType, Callable[[Passing, Any], object]] = {
        CType.TENSOR: tensor,
        CType.TENSOR_LIST: tensors,
        CType.SCALAR: scalar,
        CType.SCALAR_LIST: scalars,
    }
