"""A node as its converter wrote it, compared with its prototype and with the computed outputs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.graph_engine.errors import KernelArgumentError, MetaError
from opwright.graph_engine.graph.inference_rule import meta_outputs, size
from opwright.graph_engine.graph.model import INPUTS, Source
from opwright.graph_engine.prototypes.cann import of_torchair
from opwright.graph_engine.tensors.dtypes import from_runtime
from opwright.graph_engine.tensors.specs import spec_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import torch

    from opwright.graph_engine.graph.model import GeGraph, Node
    from opwright.graph_engine.tensors.specs import Spec

__all__ = ["check_attribute_types", "check_outputs", "is_attribute"]

VIEWS = ("Transpose", "Reshape", "Squeeze", "Unsqueeze")
NUMBERS = ("Int", "Float", "Bool", "Type")
TEXTS = ("String", "AscendString")


def check_attribute_types(node: Node, attributes: Mapping[str, object]) -> None:
    """Raise unless the attributes of one of CANN's operators have the types of its prototype.

    Raises
    ------
    KernelArgumentError
        OPW-N003.
    """
    prototype = of_torchair(node.type)
    if prototype is None:
        return
    kinds = {each.name: each.type_name for each in prototype.attributes}
    for name, value in attributes.items():
        kind = kinds.get(name, "")
        if not is_attribute(value, kind):
            raise KernelArgumentError(
                where=str(node),
                got=f"{type(value).__name__} {value!r} for attribute '{name}'",
                allowed=[kind],
            )


def is_attribute(value: object, kind: str) -> bool:
    """Return whether a value can stand for an attribute type; numbers can for each other.

    >>> is_attribute(1, "Bool"), is_attribute("1", "Int"), is_attribute([], "ListInt")
    (True, False, True)
    """
    if kind.startswith("List"):
        inner = kind.removeprefix("List")
        return isinstance(value, list) and all(is_attribute(each, inner) for each in value)
    if kind in NUMBERS:
        return isinstance(value, int | float)
    return isinstance(value, str) if kind in TEXTS else True


def check_outputs(
    graph: GeGraph, results: Sequence[Source], value_of: Callable[[Source], torch.Tensor | None]
) -> None:
    """Raise if a graph does not compute what Meta said.

    Every tensor has as many elements as Meta said, as far as the sizes that it gave by names are
    known, and the outputs of the graph have its dtypes; within the graph, converters have some
    freedom. Orders of axes are not compared: TorchAir notes those of before its passes. The error
    names the first node that differs.

    Parameters
    ----------
    value_of
        Gives the tensors, which may be fake ones; None for an output that is not computed.

    Raises
    ------
    MetaError
        OPW-N007.
    """
    known = names_of(graph, value_of)
    differ = [pair for node in graph.nodes for pair in find_differences(node, known, value_of)]
    # Within a graph TorchAir's names of sizes can be stale; of its outputs they hold.
    exact = [pair for pair in differ if not pair.named or pair.source in results]
    wrong = next((pair for pair in exact if pair.sizes_differ), None)
    if wrong is None and any(pair.source in results for pair in differ if pair.dtypes_differ):
        wrong = next(pair for pair in differ if pair.dtypes_differ)
    if wrong is not None:
        raise MetaError(
            where=wrong.where,
            got=f"{spec_text(wrong.said)} from Meta",
            allowed=[f"{spec_text(wrong.computed)}, which the graph computes"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """An output of a node that is not what Meta said.

    Parameters
    ----------
    named
        Whether Meta gave some of its sizes by names.
    """

    where: str
    source: Source
    said: Spec
    computed: Spec
    named: bool

    @property
    def sizes_differ(self) -> bool:
        """Whether the numbers of elements differ."""
        return math.prod(self.said[0]) != math.prod(self.computed[0])

    @property
    def dtypes_differ(self) -> bool:
        """Whether the dtypes differ."""
        return self.said[1] != self.computed[1]


def names_of(
    graph: GeGraph, value_of: Callable[[Source], torch.Tensor | None]
) -> Mapping[str, int]:
    """Return what the names of sizes stand for; the inputs of the graph have them."""
    known: dict[str, int] = {}
    views = views_by_source(graph)
    for node in graph.of_type(*INPUTS):
        for said in meta_outputs(node.rule)[:1]:
            tensor = value_of(find_noted(views, Source(node.name, 0), said))
            if said is not None and tensor is not None and is_about(said[0], tensor):
                known.update(zip(said[0], tensor.shape, strict=True))
    return {name: value for name, value in known.items() if name.isidentifier()}


def is_about(sizes: Sequence[str], tensor: torch.Tensor) -> bool:
    """Return whether sizes that TorchAir noted can be those of a tensor: their numbers are."""
    return len(sizes) == tensor.dim() and all(
        int(text) == number
        for text, number in zip(sizes, tensor.shape, strict=True)
        if text.isdecimal()
    )


def views_by_source(graph: GeGraph) -> Mapping[Source, Sequence[Node]]:
    """Return the nodes that give a tensor other axes, by what they read."""
    found: dict[Source, list[Node]] = {}
    for node in graph.of_type(*VIEWS):
        for _, source in node.inputs[:1]:
            if source is not None:
                found.setdefault(source, []).append(node)
    return found


def find_noted(views: Mapping[Source, Sequence[Node]], source: Source, said: object) -> Source:
    """Return the tensor whose sizes TorchAir noted at an input.

    At an input of which it first makes a view, TorchAir notes the sizes of the view: behind a
    transposition, which it does on fewer axes between two reshapes, or by a reshape alone.
    """
    waiting = [source]
    for each in waiting:  # which grows
        for reader in views.get(each, ()):
            behind = Source(reader.name, 0)
            if meta_outputs(reader.rule)[:1] == [said]:
                return behind
            waiting.append(behind)
    return source


def find_differences(
    node: Node, known: Mapping[str, int], value_of: Callable[[Source], torch.Tensor | None]
) -> Iterator[Difference]:
    """Yield the outputs of a node that are not what Meta said."""
    for index, said in enumerate(meta_outputs(node.rule)):
        source = Source(node.name, index)
        value = value_of(source)
        if said is None or value is None:
            continue
        try:
            shape = tuple(size(text, known) for text in said[0])
        except (ValueError, KeyError, SyntaxError, ArithmeticError):
            continue  # a name that no input of the graph has
        wanted = (shape, from_runtime(said[1], where=str(node)))
        computed = (tuple(value.shape), value.dtype)
        if wanted != computed:
            where = f"{node}, output '{node.outputs[index].name}'"
            named = not all(text.isdecimal() for text in said[0])
            yield Difference(
                where=where, source=source, said=wanted, computed=computed, named=named
            )
