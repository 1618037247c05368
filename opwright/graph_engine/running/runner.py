"""Runs a compiled graph over memory that is given by addresses."""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from opwright.internals.jit import get_graph_executor_optimize
from opwright.kit.shipped._internals import AutoDispatchBelowAutograd

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opwright.graph_engine.lowering.lower import Lowered
    from opwright.graph_engine.running.program import Program
    from opwright.graph_engine.tensors.layouts import Layout

__all__ = ["Runner", "tensor_over"]

WRITABLE = 0x200  # PyBUF_WRITE
MOST_PLACES = 64  # of one tensor that are remembered: allocators give few blocks in turn
ADDRESS = struct.calcsize("P")
memory_view = ctypes.pythonapi.PyMemoryView_FromMemory
memory_view.restype = ctypes.py_object
memory_view.argtypes = (ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)


def tensor_over(address: int | None, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """Return a CPU tensor over memory; the memory is not looked at until the tensor is used."""
    count = torch.Size(shape).numel()
    if not address or not count:
        return torch.empty(shape, dtype=dtype)
    memory = memory_view(address, count * dtype.itemsize, WRITABLE)
    return torch.frombuffer(memory, dtype=dtype, count=count).view(shape)


class Place:
    """One input or output of a graph: a tensor for each address where it was found."""

    def __init__(self, shape: tuple[int, ...], dtype: torch.dtype) -> None:
        self.shape = shape
        self.dtype = dtype
        self.tensors: dict[int, torch.Tensor] = {}

    def at(self, address: int) -> torch.Tensor:
        """Return the tensor at an address."""
        found = self.tensors.get(address)
        if found is None:
            if len(self.tensors) >= MOST_PLACES:
                self.tensors.clear()
            found = self.tensors[address] = tensor_over(address, self.shape, self.dtype)
        return found


@dataclass(frozen=True, slots=True)
class Binding:
    """The tensors of a run.

    Parameters
    ----------
    tensors
        The arguments of the program.
    written
        The addresses that are both an input's and an output's.
    """

    addresses: bytes
    tensors: list[torch.Tensor]
    outputs: list[torch.Tensor]
    written: frozenset[int]


class Runner:
    """A graph for inputs of given shapes, ready to be run.

    What is remembered are views of memory that others own; each is used only for runs that name its
    address again.

    Parameters
    ----------
    layouts
        Of the inputs in private formats, by index; each run begins with a copy of them in the
        order of their elements.
    by_node
        The program calls kernels, which may need autograd, and not operators.
    """

    def __init__(
        self,
        lowered: Lowered,
        program: Program,
        layouts: Mapping[int, Layout] | None = None,
        *,
        by_node: bool = False,
    ) -> None:
        self.lowered = lowered
        self.program = program
        self.by_node = by_node
        layouts = layouts or {}
        self.layouts = [
            (i, layouts[index]) for i, index in enumerate(lowered.inputs) if index in layouts
        ]
        self.inputs = [
            (i, Place(layouts[i].stored if i in layouts else shape, dtype))
            for i, (shape, dtype) in zip(lowered.inputs, lowered.specs, strict=True)
        ]
        self.outputs = [Place(*spec) for spec in lowered.outputs]
        self.last = Binding(b"", [], [], frozenset())

    def run(self, addresses: bytes, threads: int) -> None:
        """Run the graph and write what it answers.

        An output may lie in the memory of an input: it is written when all has been computed.

        Parameters
        ----------
        addresses
            Of all inputs of the graph, then of its outputs.
        threads
            How many ATen may use.
        """
        if threads != torch.get_num_threads():
            torch.set_num_threads(threads)
        binding = self.bind(addresses)
        if self.by_node:
            with torch.no_grad():
                write(self.program(*self.arguments(binding)), binding)
            return
        # There are no gradients, and nothing is gained by what TorchScript would optimize.
        below = AutoDispatchBelowAutograd()
        optimize = get_graph_executor_optimize(False)  # noqa: FBT003 - torch's
        try:
            with torch.no_grad():
                write(self.program(*self.arguments(binding)), binding)
        finally:
            get_graph_executor_optimize(optimize)
            del below

    def arguments(self, binding: Binding) -> list[torch.Tensor]:
        """Return the program's arguments as they are now."""
        if not self.layouts:
            return binding.tensors
        tensors = list(binding.tensors)
        for index, layout in self.layouts:
            tensors[index] = layout.unpack(tensors[index]).contiguous()
        return tensors

    def bind(self, addresses: bytes) -> Binding:
        """Return the memory of the program's arguments, and where its results go."""
        last = self.last
        if last.addresses == addresses:
            return last
        found = struct.unpack(f"{len(addresses) // ADDRESS}P", addresses)
        tensors = [place.at(found[index]) for index, place in self.inputs]
        tensors += self.lowered.constants
        ends = found[len(found) - len(self.outputs) :]
        outputs = [place.at(address) for place, address in zip(self.outputs, ends, strict=True)]
        begins = {found[index] for index, _ in self.inputs}
        self.last = Binding(addresses, tensors, outputs, frozenset(begins.intersection(ends)))
        return self.last


def write(results: Sequence[torch.Tensor], binding: Binding) -> None:
    """Write results to where they belong; views of inputs are read before inputs are written."""
    pairs = [*zip(results, binding.outputs, strict=True)]
    if binding.written:
        pairs = [
            (
                result.clone()
                if result.untyped_storage().data_ptr() in binding.written
                else result,
                o,
            )
            for result, o in pairs
            if result.data_ptr() != o.data_ptr() or result.stride() != o.stride()
        ]
    for result, out in pairs:
        out.copy_(result)
