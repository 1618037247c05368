"""Legacy operators that touch a view of their memory, as a C program calls them.

native/op_compiler/legacy_task.cpp: torch_npu passes an address within the memory, and the size of
all of it; what is touched is given by sizes, strides and an offset.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import pytest

import opwright.twin  # noqa: F401 - before torch

# isort: split
import torch

from tests.twin import acl

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

OK, INVALID = 0, 100000
ALLOCATED = 128  # floats
compiler = acl.library("libacl_op_compiler.so")
for maker in ("aclCreateTensorDesc", "aclCreateDataBuffer"):
    getattr(acl.ascendcl, maker).restype = ctypes.c_void_p


def handles(values: Sequence[int]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(values))(*values)


def describe(dtype: int, shape: Sequence[int]) -> int:
    sizes = (ctypes.c_int64 * len(shape))(*shape)
    made: int = acl.ascendcl.aclCreateTensorDesc(dtype, len(shape), sizes, acl.ND)
    return made


def buffer(address: int, size: int) -> int:
    made: int = acl.ascendcl.aclCreateDataBuffer(ctypes.c_void_p(address), ctypes.c_size_t(size))
    return made


class Operands:
    """One side of a call."""

    def __init__(self) -> None:
        self.descriptors: list[int] = []
        self.buffers: list[int] = []
        self.kept: list[torch.Tensor] = []

    def memory(self, address: int, shape: Sequence[int] = (ALLOCATED,)) -> None:
        """Add floats of the device, of which there are said to be as many as in all."""
        self.descriptors.append(describe(acl.FLOAT, shape))
        self.buffers.append(buffer(address, ALLOCATED * 4))

    def numbers(self, values: Sequence[int]) -> None:
        """Add integers of the host."""
        self.kept.append(torch.tensor(values, dtype=torch.int64))
        self.descriptors.append(describe(acl.INT64, [len(values)]))
        self.buffers.append(buffer(self.kept[-1].data_ptr(), 8 * len(values)))

    def view(self, address: int, sizes: Sequence[int], strides: Sequence[int], at: int) -> None:
        self.memory(address)
        for values in (sizes, strides, [at]):
            self.numbers(values)


def call(op_type: str, inputs: Operands, outputs: Operands) -> int:
    sides = [
        argument
        for side in (inputs, outputs)
        for argument in (
            ctypes.c_int(len(side.buffers)),
            handles(side.descriptors),
            handles(side.buffers),
        )
    ]
    rest = (None, 0, 0, None, None)
    status: int = compiler.aclopCompileAndExecute(op_type.encode(), *sides, *rest)
    return status


@pytest.fixture
def memory() -> Iterator[tuple[int, int]]:
    """Two allocations of 512 bytes."""
    assert acl.ascendcl.aclrtSetDevice(0) == OK
    pair = (acl.malloc(ALLOCATED * 4), acl.malloc(ALLOCATED * 4))
    yield pair
    for address in pair:
        acl.free(address)


@pytest.mark.parametrize(
    ("sizes", "strides", "at", "status"),
    [
        ([4], [2], 1, OK),
        ([2, 32], [32, 1], 0, OK),
        ([0, 3], [1 << 40, 1], 0, OK),
        ([32], [2], 2, INVALID),  # one element behind the end
        ([64], [1], 1, INVALID),
        ([4], [-1], 3, INVALID),
        ([4], [1], -1, INVALID),
        ([4, 4], [1], 0, INVALID),
        ([3], [1 << 62], 0, INVALID),
    ],
)
def test_what_a_view_touches_is_checked(
    memory: tuple[int, int], sizes: list[int], strides: list[int], at: int, status: int
) -> None:
    """The address lies in the middle of the memory; from there on there are 64 numbers."""
    target, source = (address + 256 for address in memory)
    plain, given = (sizes, torch.empty(sizes).stride(), 0), (sizes, strides, at)
    for written, read in ((given, plain), (plain, given)):
        inputs, outputs = Operands(), Operands()
        inputs.view(target, *written)
        inputs.view(source, *read)
        outputs.memory(target)
        check("ViewCopy", inputs, outputs, status)
    inputs, outputs = Operands(), Operands()
    inputs.view(source, *given)
    outputs.memory(memory[0], sizes)
    check("AsStrided", inputs, outputs, status)


def check(op_type: str, inputs: Operands, outputs: Operands, status: int) -> None:
    assert call(op_type, inputs, outputs) == status, acl.message()
    if status == INVALID:
        message = acl.message()
        assert f"of '{op_type}'" in message or "a view has" in message, message
    assert acl.synchronize() == 0, acl.message()


def test_the_view_is_written_where_it_is_read(memory: tuple[int, int]) -> None:
    inputs, outputs = Operands(), Operands()
    for address in memory:
        inputs.view(address, [4], [1], 0)
    outputs.memory(memory[1])
    assert call("ViewCopy", inputs, outputs) == INVALID
    assert "the output of 'ViewCopy' is not the memory of input 0" in acl.message()
