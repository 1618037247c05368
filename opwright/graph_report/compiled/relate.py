"""Which GE nodes an FX node became, and in which rows both are shown."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from opwright.graph_report.compiled.model import Link, Vertex

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from opwright.graph_report.compiled.model import CompiledGraph

__all__ = ["Row", "fx_of_ge", "linked", "make_noted_fx", "relate", "row_key", "rows"]

RENAMED = "_origin_data_name"  # of a Data that became a RefData
FROZEN = "update_node_from_fx_input_idx"  # of a parameter that became a ConstPlaceHolder
# Attributes in which nodes that are alike differ: places of inputs, addresses.
OF_ONE_NODE = {"index", "addr", RENAMED, FROZEN}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """An FX node beside the GE nodes that it became; either may be missing."""

    fx: Vertex | None
    ge: tuple[Vertex, ...]


def make_noted_fx(ge: Sequence[Vertex], targets: Mapping[str, str]) -> tuple[Vertex, ...]:
    """Return the FX nodes that a GE graph names, where the FX graph itself is not known.

    Parameters
    ----------
    targets
        What they call, by name.
    """
    found: dict[str, Vertex] = {}
    for vertex in ge:
        for name in vertex.fx or ((vertex.name,) if vertex.is_input else ()):
            kind = "placeholder" if vertex.is_input else targets.get(name, "")
            noted = Vertex(name=name, type=kind, outputs=vertex.outputs, is_input=vertex.is_input)
            found.setdefault(name, noted)
    if any(vertex.is_output for vertex in ge):
        found["output"] = Vertex(name="output", type="output", is_output=True)
    return tuple(found.values())


def linked(fx: Sequence[Vertex], ge: Sequence[Vertex]) -> tuple[Vertex, ...]:
    """Return FX nodes with the inputs that their GE nodes have."""
    maker = {vertex.name: vertex.fx[0] for vertex in ge if vertex.fx}
    inputs: dict[str, dict[str, Link]] = defaultdict(dict)
    for vertex in ge:
        own = maker.get(vertex.name)
        for link in vertex.inputs:
            source = maker.get(link.source or "")
            if own is not None and source not in (None, own) and not link.orders:
                inputs[own].setdefault(source, replace(link, source=source))
    return tuple(replace(vertex, inputs=tuple(inputs[vertex.name].values())) for vertex in fx)


def fx_of_ge(
    fx: Sequence[Vertex], ge: Sequence[Vertex], made: Mapping[str, str]
) -> tuple[Vertex, ...]:
    """Return the GE nodes, each with the FX nodes that it belongs to.

    TorchAir notes the FX node at those nodes that compute its result, and `made` has those that a
    converter made by itself (opwright.graph_report.compiled.fx). What is left, such as the
    constants of a converter and what passes put in, belongs to the node that takes its result, else
    to the one before it.
    """
    found = find_noted(fx, ge, made)
    adopt_by_users(found, ge)
    adopt_by_order(found, ge)
    return tuple(replace(vertex, fx=found[vertex.name]) for vertex in ge)


def find_noted(
    fx: Sequence[Vertex], ge: Sequence[Vertex], made: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """Return GE node -> the FX nodes that are noted for it."""
    known = {vertex.name for vertex in fx}
    inputs = [vertex.name for vertex in fx if vertex.is_input]
    makers = {name.rpartition("_")[0]: maker for name, maker in made.items()}
    ends = [vertex.name for vertex in fx if vertex.is_output]
    found: dict[str, tuple[str, ...]] = {}
    for vertex in ge:
        if vertex.is_output:
            names = ends[:1]
        elif vertex.is_input:
            names = [input_name(vertex, inputs)]
        else:
            names = [makers.get(plain(vertex.name), ""), *vertex.fx]
        found[vertex.name] = tuple(dict.fromkeys(name for name in names if name in known))
    return found


def adopt_by_users(found: dict[str, tuple[str, ...]], ge: Sequence[Vertex]) -> None:
    """Give nodes without an FX node that of a node that takes their result."""
    users: dict[str, list[str]] = defaultdict(list)
    for vertex in ge:
        for link in vertex.inputs:
            if link.source is not None and not link.orders:
                users[link.source].append(vertex.name)
    for vertex in reversed(ge):  # those that take a result stand behind those that make it
        if not found[vertex.name] and not vertex.is_input:
            taken = [found[user] for user in users[vertex.name] if found.get(user)]
            found[vertex.name] = taken[0][:1] if taken else ()


def adopt_by_order(found: dict[str, tuple[str, ...]], ge: Sequence[Vertex]) -> None:
    """Give nodes that still have no FX node that of the node before them."""
    before: tuple[str, ...] = ()
    for vertex in ge:
        if vertex.is_input:
            continue
        if not found[vertex.name]:
            found[vertex.name] = before
        else:
            before = found[vertex.name][:1]


def input_name(vertex: Vertex, inputs: Sequence[str]) -> str:
    """Return the FX input of a node of inputs, which passes of TorchAir may have renamed."""
    attributes = dict(vertex.attributes)
    place = attributes.get(FROZEN, "")
    if place.isdecimal() and int(place) < len(inputs):
        return inputs[int(place)]
    return attributes.get(RENAMED, vertex.name)


def plain(name: str) -> str:
    """Return a node's name as it stands in TorchAir's Python."""
    return name.replace(":", "_").replace("/", "_")


def relate(graph: CompiledGraph) -> dict[str, tuple[str, ...]]:
    """Return FX node -> GE nodes.

    An FX node without any of its own, such as getitem or a view that changes nothing, is related to
    the last of the node whose result it passes on.
    """
    found: dict[str, list[str]] = {vertex.name: [] for vertex in graph.fx}
    for vertex in graph.ge:
        for name in vertex.fx:
            if name in found:
                found[name].append(vertex.name)
    result: dict[str, tuple[str, ...]] = {}
    for vertex in graph.fx:
        own = found[vertex.name]
        if not own and not vertex.is_input:
            own = [
                ge
                for link in vertex.inputs[:1]
                if link.source is not None
                for ge in result.get(link.source, ())[-1:]
            ]
        result[vertex.name] = tuple(own)
    return result


def rows(graph: CompiledGraph) -> tuple[Row, ...]:
    """Return the rows in the order of the FX graph; an input stands where it is first used."""
    of_fx: dict[str, list[Vertex]] = defaultdict(list)
    alone: dict[str | None, list[Vertex]] = defaultdict(list)
    before: str | None = None
    names = {vertex.name for vertex in graph.fx}
    for vertex in graph.ge:
        if vertex.fx and vertex.fx[0] in names:
            before = vertex.fx[0]
            of_fx[before].append(vertex)
        else:
            alone[before].append(vertex)
    ordered = [Row(fx=None, ge=(vertex,)) for vertex in alone[None]]
    for fx in move_inputs_late(graph.fx):
        ordered.append(Row(fx=fx, ge=tuple(of_fx[fx.name])))
        ordered += [Row(fx=None, ge=(vertex,)) for vertex in alone[fx.name]]
    return tuple(ordered)


def move_inputs_late(vertices: Sequence[Vertex]) -> list[Vertex]:
    """Return the vertices, each input in front of the first that takes it."""
    inputs = {vertex.name: vertex for vertex in vertices if vertex.is_input}
    ordered: list[Vertex] = []
    for vertex in vertices:
        if vertex.is_input:
            continue
        sources = [link.source for link in vertex.inputs if link.source is not None]
        ordered += [inputs.pop(name) for name in sources if name in inputs]
        ordered.append(vertex)
    unused = [vertex for vertex in vertices if vertex.name in inputs]
    return [*unused, *ordered]


def row_key(row: Row) -> Hashable:
    """Return what makes two rows alike: all but names and source lines."""
    return tuple(
        (
            vertex.type,
            vertex.outputs,
            vertex.marks,
            vertex.is_input,
            tuple(each for each in vertex.attributes if each[0] not in OF_ONE_NODE),
            tuple((link.name, link.tensor, link.source is None) for link in vertex.inputs),
        )
        for vertex in (*([] if row.fx is None else [row.fx]), *row.ge)
    )
