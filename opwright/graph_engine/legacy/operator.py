"""Legacy operators (aclop): graphs of one node, computed at once.

A description names the operator's type, its attributes, and of each operand dtype, shape and
format; native/op_compiler/legacy_description.cpp writes it. The kernel is that of the graph
engine's table. There is nothing to compile for one node: the kernel runs on the tensors of the
call, so it may also answer shapes that depend on values, and values that it wants on the host are
read when it runs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import torch

from opwright.graph_engine.errors import KernelArgumentError, KernelRunError
from opwright.graph_engine.graph.model import Node, Source, TensorSpec
from opwright.graph_engine.legacy.formats import layout_of
from opwright.graph_engine.legacy.kernels.status import note
from opwright.graph_engine.legacy.kernels.table import LEGACY
from opwright.graph_engine.legacy.names import drop_neutral_attributes, name_inputs, output_names
from opwright.graph_engine.lowering.binding import Call, attributes_of, group, kernel_of
from opwright.graph_engine.lowering.lower import call_kernel
from opwright.graph_engine.running.runner import Binding, Place, tensor_over, write
from opwright.graph_engine.table import Takes
from opwright.graph_engine.tensors.dtypes import from_runtime
from opwright.graph_engine.tensors.specs import spec_of, spec_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opwright.graph_engine.table import Kernel
    from opwright.graph_engine.tensors.layouts import Layout

__all__ = ["LegacyOperator", "read_operator"]


@dataclass(frozen=True, slots=True)
class Operand:
    """An input or output of a legacy operator.

    Parameters
    ----------
    layout
        How the elements lie in memory where that is not their order; None: as they are counted.
    """

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    layout: Layout | None
    place: Place

    def read(self, address: int | None) -> torch.Tensor:
        """Return the tensor that lies at an address."""
        tensor = self.at(address)
        return tensor if self.layout is None else self.layout.unpack(tensor)

    def at(self, address: int | None) -> torch.Tensor:
        """Return the memory at an address as it lies there."""
        if not address:
            return torch.empty(self.place.shape, dtype=self.dtype)
        return self.place.at(address)

    def holds(self, tensor: torch.Tensor, address: int | None) -> bool:
        """Return whether a kernel has written to an address: the operand, or its memory."""
        return (
            tensor.data_ptr() == address
            and tensor.dtype == self.dtype
            and tensor.numel() >= torch.Size(self.shape).numel()
            and tensor.is_contiguous()
        )


def read_operator(description: str) -> LegacyOperator:
    """Return the operator that a description names.

    Raises
    ------
    MissingKernelError, KernelArgumentError
        OPW-N002, OPW-N003.
    """
    given = json.loads(description)
    where = f"operator '{given['type']}'"
    inputs = [operand(each, f"{where}, input {i}") for i, each in enumerate(given["inputs"])]
    outputs = [operand(each, f"{where}, output {i}") for i, each in enumerate(given["outputs"])]
    return LegacyOperator(given["type"], inputs, outputs, given["attributes"])


def operand(given: Mapping[str, Any] | None, where: str) -> Operand | None:
    """Return an operand; None for an optional one without a tensor."""
    if given is None:
        return None
    dtype = from_runtime(given["dtype"], where=where)
    shape = tuple(given["shape"])
    layout = layout_of(given, where=where)
    stored = shape if layout is None else layout.stored
    return Operand(given["name"], shape, dtype, layout, Place(stored, dtype))


def spec(name: str, given: Operand | None) -> TensorSpec:
    """Return what a node says of an output."""
    if given is None:
        return TensorSpec(name=name, dtype=None, shape=None)
    return TensorSpec(name=name, dtype=given.dtype, shape=given.shape)


class LegacyOperator:
    """An operator for operands of given dtypes and shapes.

    Raises
    ------
    MissingKernelError, KernelArgumentError
        OPW-N002, OPW-N003.
    """

    def __init__(
        self,
        op_type: str,
        inputs: Sequence[Operand | None],
        outputs: Sequence[Operand | None],
        attributes: Mapping[str, object],
    ) -> None:
        self.inputs = inputs
        self.outputs = outputs
        node = Node(
            name=op_type,
            type=op_type,
            inputs=(),
            outputs=tuple(
                spec(name, each)
                for name, each in zip(output_names(op_type, len(outputs)), outputs, strict=True)
            ),
            attributes=attributes,
        )
        kernel = LEGACY.get(op_type) or kernel_of(node)
        self.node = drop_neutral_attributes(name_inputs(node, kernel, inputs), kernel)
        self.values: dict[str, tuple[Source, bool]] = {}
        self.call = self.bind(kernel)

    def bind(self, kernel: Kernel) -> Call:
        """Return the call of the kernel; inputs whose values it wants are read when it runs."""
        given = group(self.node, kernel)
        tensors: dict[str, Source | tuple[Source, ...] | None] = {}
        constants: dict[str, object] = dict(attributes_of(self.node, kernel))
        for name, passing in kernel.inputs.items():
            sources = given.get(name, ())
            if passing.takes is Takes.TENSORS:
                tensors[name] = sources
            elif not sources:
                if not passing.optional:
                    raise KernelArgumentError(
                        where=str(self.node), got=f"no input '{name}', which is required"
                    )
                constants[name] = None
            elif passing.takes is Takes.TENSOR:
                tensors[name] = sources[0]
            else:
                self.values[name] = (sources[0], passing.takes is Takes.VALUE)
        if kernel.takes_node:
            constants["node"] = self.node
        return Call(node=self.node, function=kernel.function, tensors=tensors, constants=constants)

    def run(self, addresses: Sequence[int | None], *, reshape: bool) -> list[tuple[int, ...]]:
        """Compute the outputs.

        Parameters
        ----------
        addresses
            Of the inputs, then of the outputs; None where there is no memory.
        reshape
            Outputs may turn out smaller than described.

        Returns
        -------
        list[tuple[int, ...]]
            The shapes of the outputs.

        Raises
        ------
        KernelRunError
            OPW-N004.
        """
        count = len(self.inputs)
        tensors = {
            Source("", index): each.read(addresses[index])
            for index, each in enumerate(self.inputs)
            if each is not None
        }
        with torch.no_grad():
            results = call_kernel(self.with_values(tensors), tensors)
            return self.answer(results, tensors, addresses[count:], reshape=reshape)

    def with_values(self, tensors: Mapping[Source, torch.Tensor]) -> Call:
        """Return the call with the inputs whose values the kernel wants."""
        if not self.values:
            return self.call
        constants = dict(self.call.constants)
        for name, (source, is_single) in self.values.items():
            values = [int(value) for value in tensors[source].flatten().tolist()]
            if is_single and len(values) != 1:
                raise KernelRunError(
                    where=str(self.node), got=f"{len(values)} values for '{name}'", allowed=["1"]
                )
            constants[name] = values[0] if is_single else values
        return Call(
            node=self.node,
            function=self.call.function,
            tensors=self.call.tensors,
            constants=constants,
        )

    def answer(
        self,
        results: object,
        tensors: Mapping[Source, torch.Tensor],
        addresses: Sequence[int | None],
        *,
        reshape: bool,
    ) -> list[tuple[int, ...]]:
        """Write what the kernel answered to where it belongs, and return the shapes."""
        made = list(results) if isinstance(results, tuple | list) else [results]
        if len(made) < len(self.outputs):
            raise KernelRunError(
                where=str(self.node),
                got=f"{len(self.outputs)} outputs",
                allowed=[f"up to {len(made)}"],
            )
        answers: list[torch.Tensor] = []
        pairs: list[tuple[torch.Tensor, torch.Tensor]] = []
        shapes: list[tuple[int, ...]] = []
        for index, (result, out) in enumerate(zip(made, self.outputs, strict=False)):
            if out is None:
                shapes.append(())
                continue
            if result is None:
                raise KernelRunError(where=self.named(index), got="an output that is not computed")
            tensor = cast("torch.Tensor", result)
            answers.append(tensor)
            if out.holds(tensor, addresses[index]):
                shapes.append(out.shape)
                continue
            fitted = self.fitted(index, tensor, out, reshape=reshape)
            shapes.append(tuple(fitted.shape))
            if out.layout is not None:
                pairs.append((out.layout.pack(fitted), out.at(addresses[index])))
            elif fitted.shape == out.shape:
                pairs.append((fitted, out.at(addresses[index])))
            else:
                pairs.append((fitted, tensor_over(addresses[index], fitted.shape, out.dtype)))
        note(answers)
        begins = {tensor.untyped_storage().data_ptr() for tensor in tensors.values()}
        written = begins.intersection(address for address in addresses if address)
        write(
            [result for result, _ in pairs],
            Binding(b"", [], [out for _, out in pairs], frozenset(written)),
        )
        return shapes

    def fitted(
        self, index: int, result: torch.Tensor, out: Operand, *, reshape: bool
    ) -> torch.Tensor:
        """Return a result in the shape of its output."""
        count = torch.Size(out.shape).numel()
        if tuple(result.shape) == out.shape or (reshape and result.numel() <= count):
            return result
        if result.numel() != count:
            raise KernelRunError(
                where=self.named(index),
                got=spec_text((out.shape, out.dtype)),
                allowed=[f"{spec_text(spec_of(result))}, which the operator computes"],
            )
        return result.reshape(out.shape)

    def named(self, index: int) -> str:
        """Name an output, for an error."""
        return f"{self.node}, output '{self.node.outputs[index].name}'"
