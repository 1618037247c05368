"""A node that a user's kernel serves, as one operator of the traced graph.

A reference function may do what tracing does not see (numpy, a loop over values), and writes into
its outputs. So it is not traced: the graph calls `opwright_engine::reference`, which has a fake
kernel and calls the function when the graph runs. Its schema says which tensors it writes, so that
a view that is written is, and that no pass drops a call without results. What it needs besides
tensors is in a text, so that the graph holds no references to functions, and a kernel that is
declared again is found.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, cast

import torch

from opwright.aclnn.signature import CType
from opwright.errors import OpwrightError
from opwright.graph_engine.calls.node_call import NodeCall, Values
from opwright.graph_engine.errors import KernelRunError, MissingKernelError
from opwright.graph_engine.tensors.dtypes import from_runtime
from opwright.graph_engine.user_kernels.types import find_served

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from opwright.aclnn.signature import Parameter
    from opwright.graph_engine.calls.slots import Served, Slot

__all__ = ["call_reference"]

read = functools.lru_cache(maxsize=1024)(NodeCall.of)


def call_reference(call: NodeCall, inputs: Values) -> list[torch.Tensor | None]:
    """Return the outputs of a node; those that it writes are its inputs. Tensors may be fake ones.

    An output that stands for an input which is not there is None.
    """
    plain = [
        t for name, value in inputs.items() if name not in call.written for t in list_tensors(value)
    ]
    written = {name: list(list_tensors(inputs[name])) for name in inputs if name in call.written}
    flat = [tensor for tensors in written.values() for tensor in tensors]
    new = iter(torch.ops.opwright_engine.reference(call.text(), plain, flat))
    left = {name: iter(tensors) for name, tensors in written.items()}
    return [
        None if spec.absent else next(left[spec.port] if spec.written else new)
        for spec in call.outputs
    ]


def list_tensors(value: Any) -> Sequence[torch.Tensor]:  # noqa: ANN401 - a tensor or a list
    """Return the tensors of an input."""
    return value if isinstance(value, list) else [value]


def fake(
    text: str, _tensors: Sequence[torch.Tensor], _written: Sequence[torch.Tensor]
) -> list[torch.Tensor]:
    """Return the new outputs without values."""
    call = read(text)
    return [
        torch.empty(spec.shape, dtype=from_runtime(spec.dtype, where=call.node))
        for spec in call.outputs
        if not spec.written and not spec.absent
    ]


def real(
    text: str, tensors: Sequence[torch.Tensor], written: Sequence[torch.Tensor]
) -> list[torch.Tensor]:
    """Run the reference function.

    Raises
    ------
    MissingKernelError, KernelRunError
        OPW-N002, OPW-N004.
    """
    call = read(text)
    kernel = find_served(call.op_type)
    if kernel is None:
        raise MissingKernelError(where=call.node, got="a kernel that has been removed")
    outputs = fake(text, tensors, written)
    values: Values = {
        **call.attributes,
        **call.named(tensors, written),
        **by_port(call, kernel, outputs),
    }
    arguments = [
        argument(parameter, slot, values)
        for parameter, slot in zip(kernel.parameters, kernel.slots, strict=True)
    ]
    from opwright.twin.user_kernels.bridge import run, summary  # noqa: PLC0415 - importing the twin arms it

    try:
        run(kernel.registration, call.op_type, arguments)
    except OpwrightError as error:
        raise KernelRunError(where=call.node, got=str(error)) from error
    except Exception as error:
        words = summary(error, kernel.registration)
        raise KernelRunError(where=call.node, got=words) from error
    return outputs


def by_port(call: NodeCall, kernel: Served, outputs: Sequence[torch.Tensor]) -> Values:
    """Return the new outputs by name."""
    found: Values = {}
    dynamic = {port.name for port in kernel.prototype.outputs if port.presence == "dynamic"}
    new = [spec for spec in call.outputs if not spec.written and not spec.absent]
    for spec, tensor in zip(new, outputs, strict=True):
        if spec.port in dynamic:
            found.setdefault(spec.port, []).append(tensor)
        else:
            found[spec.port] = tensor
    return found


def numbers(value: Any, convert: Callable[[Any], object]) -> object:  # noqa: ANN401 - a tensor, list or number
    """Return a list, from a tensor whose values the host needs or from an attribute."""
    given = value.flatten().tolist() if isinstance(value, torch.Tensor) else value
    return [convert(each) for each in given]


CONVERSIONS: dict[CType, Callable[[Any], object]] = {
    CType.TENSOR: lambda value: value,
    CType.TENSOR_LIST: lambda value: value,
    CType.SCALAR: lambda value: value.item() if isinstance(value, torch.Tensor) else value,
    CType.SCALAR_LIST: lambda value: numbers(value, lambda each: each),
    CType.INT_ARRAY: lambda value: numbers(value, int),
    CType.FLOAT_ARRAY: lambda value: numbers(value, float),
    CType.BOOL_ARRAY: lambda value: numbers(value, bool),
    CType.TEXT: str,
    CType.DOUBLE: float,
    CType.FLOAT: float,
    CType.BOOL: bool,
    CType.DTYPE: lambda value: from_runtime(value, where="an attribute"),
}


def argument(parameter: Parameter, slot: Slot, values: Values) -> object:
    """Return what the reference function gets for a parameter."""
    value = values.get(slot.name) if slot.name else slot.constant
    if slot.of_dtype:
        return cast("torch.Tensor", value).dtype
    return None if value is None else CONVERSIONS.get(parameter.ctype, int)(value)


library: Any = cast("Any", torch.library).Library("opwright_engine", "FRAGMENT")  # it has no types
library.define("reference(str call, Tensor[] tensors, Tensor(a!)[] written) -> Tensor[]")
library.impl("reference", real, "CompositeExplicitAutograd")
torch.library.register_fake("opwright_engine::reference", fake, lib=library)
