"""A node and its kernel -> the call: which argument is which tensor, which are constants."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.graph_engine.errors import KernelArgumentError, MissingKernelError
from opwright.graph_engine.graph.model import find_port
from opwright.graph_engine.lookup import find_kernel
from opwright.graph_engine.lowering.agreement import check_attribute_types
from opwright.graph_engine.table import Kernel, Takes, types

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import torch

    from opwright.graph_engine.graph.model import Node, Source
    from opwright.graph_engine.table import Passing

__all__ = ["Call", "bind", "kernel_of"]

# Notes of converters and GE at a node beside its prototype's attributes.
NOTES = {
    "format_for_int",
    "input_layout_info",
    "origin_format",
    "origin_shape",
    "output_layout_info",
    "storage_format",
    "storage_shape",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a kernel.

    Parameters
    ----------
    tensors
        Of each tensor parameter, its source; a tuple of sources for a dynamic input, None for an
        optional one without a tensor.
    constants
        Everything else.
    """

    node: Node
    function: Callable[..., object]
    tensors: Mapping[str, Source | tuple[Source, ...] | None]
    constants: Mapping[str, object]


def kernel_of(node: Node) -> Kernel:
    """Return the kernel of a node.

    Raises
    ------
    MissingKernelError
        OPW-N002.
    """
    found = find_kernel(node.type)
    if found is None:
        raise MissingKernelError(
            where=str(node), got=f"a type that is none of the {len(types())} with a kernel"
        )
    return found


def bind(node: Node, kernel: Kernel, known: Mapping[Source, torch.Tensor]) -> Call:
    """Return the call of a node's kernel.

    Parameters
    ----------
    known
        The tensors whose values are known.

    Raises
    ------
    KernelArgumentError
        OPW-N003: an input or attribute that the kernel lacks, misses, or needs as a value.
    """
    given = group(node, kernel)
    tensors: dict[str, Source | tuple[Source, ...] | None] = {}
    constants: dict[str, object] = dict(attributes_of(node, kernel))
    for name, passing in kernel.inputs.items():
        sources = given.get(name, ())
        if passing.takes is Takes.TENSORS:
            tensors[name] = sources
        elif not sources:
            if not passing.optional:
                raise KernelArgumentError(
                    where=str(node), got=f"no input '{name}', which is required"
                )
            constants[name] = None
        elif passing.takes is Takes.TENSOR:
            tensors[name] = sources[0]
        else:
            constants[name] = values_of(node, name, passing, known.get(sources[0]))
    if kernel.takes_node:
        constants["node"] = node
    return Call(node=node, function=kernel.function, tensors=tensors, constants=constants)


def group(node: Node, kernel: Kernel) -> dict[str, tuple[Source, ...]]:
    """Return the sources by input; x0, x1, … belong to the dynamic input x."""
    found: dict[str, list[Source]] = defaultdict(list)
    for name, source in node.inputs:
        wanted = find_port(name, kernel.inputs)
        if wanted not in kernel.inputs:
            raise KernelArgumentError(
                where=str(node), got=f"an input '{name}'", allowed=list(kernel.inputs)
            )
        if source is not None:
            found[wanted].append(source)
    return {name: tuple(sources) for name, sources in found.items()}


def attributes_of(node: Node, kernel: Kernel) -> Mapping[str, object]:
    """Return the attributes for the kernel."""
    given = {key: value for key, value in node.attributes.items() if key not in NOTES}
    for name in given:
        if name not in kernel.attributes:
            raise KernelArgumentError(
                where=str(node), got=f"an attribute '{name}'", allowed=list(kernel.attributes)
            )
    for name, has_default in kernel.attributes.items():
        if not has_default and name not in given:
            raise KernelArgumentError(
                where=str(node), got=f"no attribute '{name}', which is required"
            )
    check_attribute_types(node, given)
    return given


def values_of(
    node: Node, name: str, passing: Passing, tensor: torch.Tensor | None
) -> list[int] | float | str:
    """Return the values of an input on the host."""
    if tensor is None:
        raise KernelArgumentError(
            where=str(node),
            got=f"input '{name}' computed on the device",
            allowed=["a constant, a host input, or a value that follows from shapes"],
        )
    if passing.takes is Takes.TEXT:
        return bytes(tensor.tolist()).partition(b"\0")[0].decode(errors="replace")
    convert = float if passing.takes is Takes.NUMBER else int
    values = [convert(value) for value in tensor.flatten().tolist()]
    if passing.takes is Takes.VALUES:
        return [int(value) for value in values]
    if len(values) != 1:
        raise KernelArgumentError(
            where=str(node), got=f"{len(values)} values for input '{name}'", allowed=["1"]
        )
    return values[0]
