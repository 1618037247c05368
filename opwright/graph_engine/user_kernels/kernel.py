"""Kernels of the graph engine's table for operator types that a user's kernel serves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from opwright.aclnn.dtypes import DTYPE_NUMBERS
from opwright.graph_engine.calls.node_call import NodeCall, OutputSpec
from opwright.graph_engine.errors import KernelArgumentError, MetaError
from opwright.graph_engine.graph.inference_rule import infer_specs
from opwright.graph_engine.graph.model import find_port
from opwright.graph_engine.table import Kernel, Passing, Takes
from opwright.graph_engine.tensors.dtypes import RUNTIME_CODES
from opwright.graph_engine.tensors.specs import Spec, spec_of, spec_text
from opwright.graph_engine.user_kernels.call import call_reference
from opwright.graph_engine.user_kernels.types import find_served, names_of
from opwright.kit.declare.schema import Base
from opwright.twin.user_kernels.dtypes import FROM_RUNTIME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.aclnn.prototype import Attribute, Port
    from opwright.graph_engine.calls.slots import Served
    from opwright.graph_engine.graph.model import Node

__all__ = ["find_user_kernel"]

# CANN's names of dtypes.
NAMES: Mapping[str, torch.dtype] = {
    f"DT_{name}": FROM_RUNTIME[number]
    for name, number in DTYPE_NUMBERS.items()
    if number in FROM_RUNTIME
}
# Values for an attribute without a value and without a default.
NOTHING: Mapping[str, object] = {"Int": 0, "Float": 0.0, "Bool": False}
# Python types of the values of an attribute type.
TYPES: Mapping[str, tuple[type, ...]] = {
    "Int": (int,),
    "Type": (int,),
    "Float": (float, int),
    "Bool": (bool,),
    "String": (str,),
    "AscendString": (str,),
}


def find_user_kernel(op_type: str) -> Kernel | None:
    """Return the kernel for an operator type that a user's kernel serves."""
    found = find_served(op_type)
    if found is None:
        return None
    prototype = found.prototype

    def run(*, node: Node, **given: object) -> object:
        return compute(found, node, given)

    return Kernel(
        function=run,
        inputs={port.name: choose_passing(port) for port in prototype.inputs},
        attributes={each.name: not each.required for each in prototype.attributes},
        takes_node=True,
    )


def choose_passing(port: Port) -> Passing:
    """Return how an input is passed."""
    takes = Takes.TENSORS if port.presence == "dynamic" else Takes.TENSOR
    return Passing(takes, optional=port.presence == "optional")


def compute(kernel: Served, node: Node, given: Mapping[str, object]) -> object:
    """Return the outputs of a node."""
    inputs = {port.name: given.get(port.name) for port in kernel.prototype.inputs}
    present = {name: value for name, value in inputs.items() if value is not None}
    attributes = {each.name: value_of(each, given, node) for each in kernel.prototype.attributes}
    specs = outputs_of(kernel, node, inputs, attributes)
    written = {port.name for port in kernel.prototype.outputs}
    call = NodeCall(
        node=str(node),
        op_type=node.type,
        inputs={n: len(v) if isinstance(v, list) else -1 for n, v in present.items()},
        attributes=attributes,
        outputs=specs,
        written=tuple(name for name in present if name in written),
    )
    return tuple(call_reference(call, present))


def value_of(attribute: Attribute, given: Mapping[str, object], node: Node) -> object:
    """Return an attribute's value.

    Raises
    ------
    KernelArgumentError
        OPW-N003: a value of another type.
    """
    kind = attribute.type_name
    if attribute.name not in given:
        default = attribute.default
        return NOTHING.get(kind) if default is None else default
    value = given[attribute.name]
    if not has_type(value, kind):
        raise KernelArgumentError(
            where=str(node),
            got=f"{type(value).__name__} {value!r} for attribute '{attribute.name}'",
            allowed=[kind],
        )
    return value


def has_type(value: object, kind: str) -> bool:
    """Return whether a value is one of an attribute type."""
    if kind == "ListListInt":
        return isinstance(value, list) and all(has_type(each, "ListInt") for each in value)
    if kind.startswith("List"):
        inner = kind.removeprefix("List")
        return isinstance(value, list) and all(has_type(each, inner) for each in value)
    types = TYPES.get(kind)
    if types is None:
        return True
    return isinstance(value, types) and (kind == "Bool" or not isinstance(value, bool))


def outputs_of(
    kernel: Served,
    node: Node,
    inputs: Mapping[str, object],
    attributes: Mapping[str, object],
) -> tuple[OutputSpec, ...]:
    """Return the outputs, with shapes and dtypes.

    An output with the name of an input is that input, written. The declaration's rules say the
    others, or TorchAir's inference rule, which comes from Meta; where there are both, they agree.

    Raises
    ------
    KernelArgumentError, MetaError
        OPW-N003, OPW-N007.
    """
    inferred = infer_specs(node, inputs)
    ruled = derive_declared_specs(kernel, inputs, attributes) if kernel.facts is not None else {}
    read = {port.name for port in kernel.prototype.inputs}
    specs = []
    seen: dict[str, int] = {}
    for index, output in enumerate(node.outputs):
        port = port_of(kernel, output.name, node)
        place = seen[port] = seen.get(port, -1) + 1
        written = inputs.get(port)
        if port in read and written is None:
            specs.append(OutputSpec(port=port, shape=(), dtype=0, absent=True))
            continue
        if isinstance(written, list):
            written = written[place]
        meta = inferred[index] if inferred else None
        where = f"{node}, output '{output.name}'"
        own = spec_of(written) if isinstance(written, torch.Tensor) else ruled.get(port)
        if own is None and meta is None and kernel.leaves_out:
            specs.append(OutputSpec(port=port, shape=(), dtype=0, absent=True))
            continue
        spec = agree_on(own, meta, output.dtype, where=where)
        check_dtype(kernel, port, spec[1], inputs, where=where)
        specs.append(
            OutputSpec(
                port=port,
                shape=spec[0],
                dtype=RUNTIME_CODES[spec[1]],
                written=written is not None,
            )
        )
    return tuple(specs)


def agree_on(own: Spec | None, meta: Spec | None, dtype: torch.dtype | None, *, where: str) -> Spec:
    """Return an output's shape and dtype, as the operator has it and as Meta says.

    Parameters
    ----------
    dtype
        What the descriptor says.

    Raises
    ------
    MetaError
        OPW-N007: they differ, or nobody says it.
    """
    spec = own or meta
    if spec is None:
        raise MetaError(where=where, got="no shape")
    wanted = meta or (spec[0], dtype or spec[1])
    if wanted != spec:
        raise MetaError(where=where, got=spec_text(wanted), allowed=[spec_text(spec)])
    return spec


def check_dtype(
    kernel: Served, name: str, dtype: torch.dtype, inputs: Mapping[str, object], *, where: str
) -> None:
    """Raise unless the prototype allows an output this dtype.

    Raises
    ------
    MetaError
        OPW-N007.
    """
    port = next(port for port in kernel.prototype.outputs if port.name == name)
    allowed = kernel.prototype.dtypes(port)
    if allowed and all(each in NAMES for each in allowed) and dtype not in map(NAMES.get, allowed):
        raise MetaError(where=where, got=str(dtype), allowed=allowed)
    for other in kernel.prototype.inputs:
        given = inputs.get(other.name)
        is_same = port.symbol is not None and other.symbol == port.symbol
        if is_same and isinstance(given, torch.Tensor) and given.dtype != dtype:
            raise MetaError(where=where, got=str(dtype), allowed=[str(given.dtype)])


def port_of(kernel: Served, name: str, node: Node) -> str:
    """Return the output of the prototype that an output of the node is.

    Raises
    ------
    KernelArgumentError
        OPW-N003.
    """
    ports = {port.name: port for port in kernel.prototype.outputs}
    if name in ports:
        return name
    port = ports.get(find_port(name, ports))
    if port is not None and port.presence == "dynamic":
        return port.name
    # A C signature calls a single output `out`, whatever its prototype did.
    read = {port.name for port in kernel.prototype.inputs}
    if [port for port in ports if port not in read] == ["out"] and len(node.outputs) == 1:
        return "out"
    raise KernelArgumentError(where=str(node), got=f"an output '{name}'", allowed=list(ports))


def derive_declared_specs(
    kernel: Served, inputs: Mapping[str, object], attributes: Mapping[str, object]
) -> dict[str, Spec]:
    """Return what the rules of a declared operator say of its outputs."""
    from opwright.kit.live.arguments import Binder  # noqa: PLC0415 - only where operators are declared
    from opwright.kit.live.rules import Rules  # noqa: PLC0415 - as above

    facts = kernel.facts
    assert facts is not None
    names = names_of(facts, kernel.prototype)
    given = {**attributes, **inputs}
    values: dict[str, Any] = dict(Binder.of(facts.schema).defaults)
    for argument in facts.schema.arguments:
        name = names.get(argument.name, argument.name)
        value = given.get(name, values.get(argument.name))
        if argument.type.base is Base.SCALAR_TYPE and isinstance(value, int):
            value = FROM_RUNTIME.get(value)
        values[argument.name] = value
    rules = Rules.of(facts.name, facts)
    found: dict[str, Spec] = {}
    for output in facts.outputs:
        if output.is_new and output.type.is_tensor and not output.type.is_list:
            tensor = rules.empty(output, values, torch.device("cpu"))
            assert isinstance(tensor, torch.Tensor)
            found[names.get(output.name, output.name)] = (tuple(tensor.shape), tensor.dtype)
    return found
