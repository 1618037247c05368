"""Names for the operands of legacy operators, which callers pass by position.

An operand goes by its name only if the caller set one (`x0`, `x1`, … of a dynamic input, and inputs
behind optional ones that are left out); all others stand in the order of the prototype.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING

from opwright.aclnn.prototype import PrototypeError
from opwright.graph_engine.errors import KernelArgumentError
from opwright.graph_engine.graph.model import Source
from opwright.graph_engine.lookup import find_prototype
from opwright.graph_engine.table import Takes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Protocol

    from opwright.aclnn.prototype import Prototype
    from opwright.graph_engine.graph.model import Node
    from opwright.graph_engine.table import Kernel

    class Named(Protocol):
        """An operand."""

        @property
        def name(self) -> str:
            """Its name; empty: by position."""


__all__ = ["drop_neutral_attributes", "name_inputs", "output_names"]

# Attributes that torch_npu passes and that change no result: the output has its shape already, all
# that training needs is always answered, and one that the prototype has as an input.
NEUTRAL: Mapping[str, tuple[str, ...]] = {
    "ArgMaxV2": ("keep_dims",),
    "ArgMin": ("keep_dims",),
    "BatchMatMul": ("bias",),
    "DynamicGRUV2": ("is_training",),
    "DynamicGRUV2Grad": ("cell_depth", "keep_prob", "time_major", "bias_type"),
    "DynamicRNN": ("is_training",),
    "DynamicRNNGrad": ("cell_type", "cell_depth", "keep_prob", "time_major", "forget_bias"),
    "DynamicRNNV2Grad": (
        "cell_type",
        "cell_depth",
        "keep_prob",
        "time_major",
        "stateful",
        "merge_mode",
    ),
}


@functools.cache
def prototype_of(op_type: str) -> Prototype | None:
    """Return the prototype of a type; None if there is none that can be read."""
    try:
        return find_prototype(op_type)
    except PrototypeError:
        return None


def ports_of(op_type: str, kernel: Kernel) -> Mapping[str, bool]:
    """Return the inputs of a type in order, and whether each is dynamic."""
    prototype = prototype_of(op_type)
    if prototype is None:
        return {name: each.takes is Takes.TENSORS for name, each in kernel.inputs.items()}
    return {port.name: port.presence == "dynamic" for port in prototype.inputs}


def name_inputs(node: Node, kernel: Kernel, operands: Sequence[Named | None]) -> Node:
    """Return the node with its inputs by name.

    Raises
    ------
    KernelArgumentError
        OPW-N003: more inputs than the type has.
    """
    ports = ports_of(node.type, kernel)
    positions = [*assign_names(ports, len(operands))]
    inputs: list[tuple[str, Source | None]] = []
    place = 0  # an operand without a name stands behind the one before it
    for index, each in enumerate(operands):
        name = "" if each is None else each.name
        # torch_npu writes some names in capitals.
        name = name if name in ports else name.lower()
        if not name and place >= len(positions):
            raise KernelArgumentError(
                where=str(node), got=f"{len(operands)} inputs", allowed=[f"up to {len(ports)}"]
            )
        name = name or positions[place]
        place = positions.index(name) + 1 if name in positions else place + 1
        inputs.append((name, None if each is None else Source("", index)))
    return replace(node, inputs=tuple(inputs))


def assign_names(ports: Mapping[str, bool], count: int) -> Iterator[str]:
    """Yield names for `count` operands: a dynamic input takes what the others leave.

    >>> list(assign_names({"x": False, "y": True, "z": False}, 4))
    ['x', 'y0', 'y1', 'z']
    """
    for name, is_dynamic in ports.items():
        if not is_dynamic:
            yield name
            continue
        rest = max(count - (len(ports) - 1), 0)
        yield from (f"{name}{number}" for number in range(rest))


def output_names(op_type: str, count: int) -> Sequence[str]:
    """Return names for so many outputs."""
    prototype = prototype_of(op_type)
    ports = (
        {} if prototype is None else {p.name: p.presence == "dynamic" for p in prototype.outputs}
    )
    names = [*assign_names(ports, count)][:count]
    return [*names, *(f"output{index}" for index in range(len(names), count))]


def drop_neutral_attributes(node: Node, kernel: Kernel) -> Node:
    """Return the node without attributes that change nothing.

    Those are notes of the scheduler (their names begin with _), those above, and those that a
    kernel does not take and that have the prototype's default.
    """
    prototype = prototype_of(node.type)
    attributes = () if prototype is None else prototype.attributes
    defaults = {each.name: each.default for each in attributes}

    def is_wanted(name: str, value: object) -> bool:
        if name in kernel.attributes:
            return True
        has_no_effect = name.startswith("_") or name in NEUTRAL.get(node.type, ())
        return not has_no_effect and (name not in defaults or value != defaults[name])

    kept = {name: value for name, value in node.attributes.items() if is_wanted(name, value)}
    return replace(node, attributes=kept)
