"""Nodes whose operator is a class of a loaded library, which launches its work itself.

TorchAir writes such a class in C++ for each operator of PyTorch that it has no converter for: it
calls the operator, eagerly, on the stream of the graph. The node is one call of
`opwright_engine::launch` in the traced graph; shapes and dtypes of its outputs come from Meta.
"""

from __future__ import annotations

import ctypes
import functools
from typing import TYPE_CHECKING, Any, ClassVar, cast

import torch

from opwright.graph_engine.calls.node_call import NodeCall, OutputSpec
from opwright.graph_engine.errors import KernelRunError, MetaError, MissingKernelError
from opwright.graph_engine.graph.inference_rule import infer_specs
from opwright.graph_engine.graph.model import find_port
from opwright.graph_engine.prototypes.loaded_libraries import (
    find_loaded_prototype,
    has_class,
    runner,
)
from opwright.graph_engine.table import Kernel, Passing, Takes
from opwright.graph_engine.tensors.dtypes import RUNTIME_CODES, from_runtime

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opwright.aclnn.prototype import Port, Prototype
    from opwright.graph_engine.graph.model import Node

__all__ = ["find_launched_kernel"]


class Tensor(ctypes.Structure):
    """A tensor's description and memory."""

    _fields_: ClassVar = [
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int64),
        ("sizes", ctypes.POINTER(ctypes.c_int64)),
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_uint64),
    ]


class CustomCall(ctypes.Structure):
    """One call of an operator (native/graph_engine/custom/call.h)."""

    _fields_: ClassVar = [
        ("type", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("input_entries", ctypes.c_uint64),
        ("input_counts", ctypes.POINTER(ctypes.c_int64)),
        ("inputs", ctypes.POINTER(Tensor)),
        ("output_entries", ctypes.c_uint64),
        ("output_counts", ctypes.POINTER(ctypes.c_int64)),
        ("outputs", ctypes.POINTER(Tensor)),
    ]


def find_launched_kernel(op_type: str) -> Kernel | None:
    """Return the kernel for a type that a loaded library has a class for."""
    if not has_class(op_type):
        return None
    prototype = find_loaded_prototype(op_type)
    if prototype is None:
        return None

    def run(*, node: Node, **given: object) -> object:
        return launch(prototype, node, given)

    return Kernel(
        function=run,
        inputs={port.name: choose_passing(port) for port in prototype.inputs},
        attributes={each.name: not each.required for each in prototype.attributes},
        takes_node=True,
        launches=True,
    )


def choose_passing(port: Port) -> Passing:
    """Return how an input is passed."""
    takes = Takes.TENSORS if port.presence == "dynamic" else Takes.TENSOR
    return Passing(takes, optional=port.presence == "optional")


def launch(prototype: Prototype, node: Node, given: Mapping[str, object]) -> tuple[object, ...]:
    """Return the outputs of a node."""
    inputs = {port.name: given.get(port.name) for port in prototype.inputs}
    counts = {
        name: len(value) if isinstance(value, list) else int(value is not None)
        for name, value in inputs.items()
    }
    tensors = [
        tensor
        for value in inputs.values()
        for tensor in (value if isinstance(value, list) else [value])
        if tensor is not None
    ]
    call = NodeCall(
        node=str(node),
        op_type=node.type,
        inputs=counts,
        attributes={},
        outputs=outputs_of(prototype, node, inputs),
    )
    return tuple(torch.ops.opwright_engine.launch(call.text(), tensors))


def outputs_of(
    prototype: Prototype, node: Node, inputs: Mapping[str, object]
) -> tuple[OutputSpec, ...]:
    """Return the outputs, as Meta says.

    Raises
    ------
    MetaError
        OPW-N007: it says nothing of one.
    """
    found = infer_specs(node, inputs)
    specs = []
    for index, output in enumerate(node.outputs):
        spec = found[index] if index < len(found) else None
        if spec is None:
            raise MetaError(where=f"{node}, output '{output.name}'", got="no shape")
        port = find_port(output.name, [port.name for port in prototype.outputs])
        specs.append(OutputSpec(port=port, shape=spec[0], dtype=RUNTIME_CODES[spec[1]]))
    return tuple(specs)


read = functools.lru_cache(maxsize=1024)(NodeCall.of)


def fake(text: str, _tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Return the outputs without values."""
    call = read(text)
    return [
        torch.empty(spec.shape, dtype=from_runtime(spec.dtype, where=call.node))
        for spec in call.outputs
    ]


def real(text: str, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Run the operator.

    Raises
    ------
    MissingKernelError, KernelRunError
        OPW-N002, OPW-N004.
    """
    call = read(text)
    prototype = find_loaded_prototype(call.op_type)
    library = runner()
    if prototype is None or library is None:
        raise MissingKernelError(where=call.node, got="a library that has been unloaded")
    given = [tensor.contiguous() for tensor in tensors]
    outputs = fake(text, tensors)
    entries = [sum(spec.port == port.name for spec in call.outputs) for port in prototype.outputs]
    structure = CustomCall(
        type=call.op_type.encode(),
        name=call.node.encode(errors="backslashreplace"),
        input_entries=len(call.inputs),
        input_counts=numbers(list(call.inputs.values())),
        inputs=describe_tensors(given),
        output_entries=len(entries),
        output_counts=numbers(entries),
        outputs=describe_tensors(outputs),
    )
    failure = library.opwright_custom_run(ctypes.byref(structure))
    if failure is not None:
        raise KernelRunError(where=call.node, got=failure.decode(errors="backslashreplace"))
    return outputs


def numbers(values: Sequence[int]) -> ctypes.Array[ctypes.c_int64]:
    """Return numbers as C has them."""
    return (ctypes.c_int64 * len(values))(*values)


def describe_tensors(tensors: Sequence[torch.Tensor]) -> ctypes.Array[Tensor]:
    """Describe tensors as C gets them."""
    return (Tensor * len(tensors))(
        *(
            Tensor(
                dtype=RUNTIME_CODES[tensor.dtype],
                rank=tensor.dim(),
                sizes=numbers(tensor.shape),
                data=tensor.data_ptr(),
                bytes=tensor.numel() * tensor.element_size(),
            )
            for tensor in tensors
        )
    )


library: Any = cast("Any", torch.library).Library("opwright_engine", "FRAGMENT")  # it has no types
library.define(
    "launch(str call, Tensor[] tensors) -> Tensor[]", tags=[torch.Tag.nondeterministic_seeded]
)
library.impl("launch", real, "CompositeExplicitAutograd")
torch.library.register_fake("opwright_engine::launch", fake, lib=library)
