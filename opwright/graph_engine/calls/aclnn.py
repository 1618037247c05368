"""A kernel that is the aclnn function which eager calls, as one operator of the traced graph.

Where the twin's libopapi has the computation already, a kernel names the function, its arguments in
the order of the C signature, and shape and dtype of each result. Graphs then answer what eager
answers, to the last bit. Such a call is not traced: the graph calls `opwright_engine::aclnn`, which
has a fake kernel, and calls the function when the graph runs. What it needs besides tensors is in a
text, as for reference functions.
"""

from __future__ import annotations

import ctypes
import enum
import functools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import torch

from opwright.aclnn.known import find_known_parameters
from opwright.aclnn.signature import AclnnSignature, CType, Parameter
from opwright.graph_engine.errors import KernelRunError
from opwright.graph_engine.tensors import four_bits
from opwright.graph_engine.tensors.dtypes import RUNTIME_CODES, from_runtime
from opwright.graph_engine.tensors.four_bits import is_four_bits, pack, unpack

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from opwright.twin.user_kernels.cpp_kernels import Packed

__all__ = ["LIBRARY", "New", "Written", "call_aclnn", "code_of", "library"]

LIBRARY = "libopapi.so"


@dataclass(frozen=True, slots=True)
class New:
    """A result: an output that the function fills."""

    shape: Sequence[int]
    dtype: torch.dtype


@dataclass(frozen=True, slots=True)
class Written:
    """A result: an input that the function writes in place; the call writes a copy of it."""

    tensor: torch.Tensor


class Kind(str, enum.Enum):
    """The kind of an argument's slot, which is JSON: [kind, …]."""

    TENSOR = "tensor"
    TENSORS = "tensors"
    COPIED = "copied"
    NEW = "new"
    VALUE = "value"


Slot = list[Any]


def call_aclnn(function: str, *arguments: object) -> tuple[torch.Tensor, ...]:
    """Call an aclnn function; the tensors may be fake ones.

    Parameters
    ----------
    function
        Its name without the prefix.
    arguments
        One for each parameter in C: a tensor, a list of tensors, None, a value, or what stands for
        a result (New, Written, or a list of New).

    Returns
    -------
    results
        One for each New and Written, in their order.
    """
    tensors: list[torch.Tensor] = []
    slots = [slot_of(argument, tensors) for argument in arguments]
    text = json.dumps([f"aclnn{function}", slots])
    return tuple(torch.ops.opwright_engine.aclnn(text, tensors))


def slot_of(argument: object, tensors: list[torch.Tensor]) -> Slot:
    """Return the slot of an argument; its tensors are appended to the call's."""
    match argument:
        case New(shape, dtype):
            return [Kind.NEW, [int(size) for size in shape], code_of(dtype)]
        case Written(tensor):
            tensors.append(tensor)
            return [Kind.COPIED]
        case torch.Tensor():
            tensors.append(argument)
            return [Kind.TENSOR]
        case [first, *_] if isinstance(first, torch.Tensor | New | Written):
            return [
                Kind.TENSORS,
                [slot_of(each, tensors) for each in cast("list[object]", argument)],
            ]
        case torch.dtype():
            return [Kind.VALUE, code_of(argument)]
        case _:
            return [Kind.VALUE, argument]


def code_of(dtype: torch.dtype) -> int:
    """Return the number of a dtype."""
    return four_bits.code_of(dtype) if is_four_bits(dtype) else RUNTIME_CODES[dtype]


@functools.lru_cache(maxsize=1024)
def read(text: str) -> tuple[AclnnSignature, tuple[Slot, ...]]:
    """Read a call's text."""
    function, slots = json.loads(text)
    parameters = find_known_parameters(function)
    assert parameters is not None, function
    assert len(parameters) == len(slots), (function, len(parameters), len(slots))
    signature = AclnnSignature(
        name=function,
        parameters=tuple(Parameter(name=p.name, ctype=p.ctype) for p in parameters),
    )
    return signature, tuple(slots)


def open_slot(slot: Slot, given: Iterator[torch.Tensor], results: list[torch.Tensor]) -> object:
    """Return the argument of a slot; what the function is to fill is appended to the results."""
    match slot:
        case [Kind.TENSOR]:
            return next(given)
        case [Kind.TENSORS, inner]:
            return [open_slot(each, given, results) for each in inner]
        case [Kind.COPIED]:
            results.append(next(given).clone())
            return results[-1]
        case [Kind.NEW, shape, code]:
            results.append(torch.empty(shape, dtype=from_runtime(code, where="a result")))
            return results[-1]
        case _:
            return slot[1]


def fake(text: str, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Return the results without values."""
    results: list[torch.Tensor] = []
    given = iter(tensors)
    for slot in read(text)[1]:
        open_slot(slot, given, results)
    return results


def real(text: str, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Call the function.

    Raises
    ------
    KernelRunError
        OPW-N004.
    """
    from opwright.twin.user_kernels.cpp_kernels import CompiledKernelError, call  # noqa: PLC0415 - importing the twin arms it

    signature, slots = read(text)
    results: list[torch.Tensor] = []
    given = iter(tensors)
    packed: dict[int, Packed] = {}
    arguments = [
        convert_argument(parameter.ctype, open_slot(slot, given, results), packed)
        for parameter, slot in zip(signature.parameters, slots, strict=True)
    ]
    try:
        call(library(), signature, arguments)
    except CompiledKernelError as error:
        raise KernelRunError(where=signature.name, got=error.got) from error
    for result in results:
        if id(result) in packed:
            numbers = unpack(packed[id(result)].memory, result.dtype)
            result.view(torch.int8).copy_(numbers.view(torch.int8))
    return results


def convert_argument(ctype: CType, value: object, packed: dict[int, Packed]) -> object:
    """Return an argument as `call` takes it.

    Parameters
    ----------
    packed
        Gets the packed form of each tensor of 4-bit numbers, by the id of the tensor.
    """
    from opwright.twin.user_kernels.cpp_kernels import Packed  # noqa: PLC0415 - importing the twin arms it

    if isinstance(value, list):
        return [convert_argument(ctype, each, packed) for each in value]
    if ctype is CType.DTYPE:
        return from_runtime(cast("int", value), where="an argument")  # a text holds its number
    if isinstance(value, torch.Tensor) and is_four_bits(value.dtype):
        memory = pack(value.view(torch.int8).contiguous())
        packed[id(value)] = Packed(memory, tuple(value.shape), code_of(value.dtype))
        return packed[id(value)]
    return value


@functools.cache
def library() -> ctypes.CDLL:
    """Return the library of the aclnn functions."""
    return ctypes.CDLL(LIBRARY)


engine_operators: Any = cast("Any", torch.library).Library(
    "opwright_engine", "FRAGMENT"
)  # it has no types
engine_operators.define("aclnn(str call, Tensor[] tensors) -> Tensor[]")
engine_operators.impl("aclnn", real, "CompositeExplicitAutograd")
torch.library.register_fake("opwright_engine::aclnn", fake, lib=engine_operators)
