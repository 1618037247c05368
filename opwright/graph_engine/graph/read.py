"""A serialized ge.proto.ModelDef -> GeGraph.

The protobuf classes are those of the TorchAir that serialized the graph.
"""

from __future__ import annotations

import importlib
import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, cast

import torch

from opwright.graph_engine.errors import GraphFormError
from opwright.graph_engine.graph.inference_rule import check_rule, rule_of_shapes
from opwright.graph_engine.graph.model import (
    INPUTS,
    VARIABLES,
    WRITTEN_INPUT,
    GeGraph,
    Node,
    Source,
    TensorSpec,
)
from opwright.graph_engine.tensors.dtypes import from_proto
from opwright.graph_engine.tensors.layouts import FORMATS, LAYOUTS, ND
from opwright.internals.modules import GE_PROTO

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from opwright.graph_engine.graph.model import Attribute

__all__ = ["read_model"]

WRITTEN = (WRITTEN_INPUT, *VARIABLES)  # whose memory nodes write
LIST_FIELDS = ("s", "i", "f", "b", "dt", "t")
GRAPHS = object()  # stands for the value of an attribute that holds graphs
UNKNOWN_RANK = -2
TEXT = 13  # DT_STRING in ge.proto
# Notes at nodes that the engine reads by itself.
READ = ("_fx_tensor_name", "_inference_rule", "_meta")
# Notes without the underscore with which others begin: of torchair.scope.data_dump, and of
# config.export.experimental.enable_record_nn_module_stack.
NAMED_NOTES = ("torchair_enable_data_dump", "nn_module_stack")


class Message(Protocol):
    """The interface of protobuf's generated classes."""

    def ParseFromString(self, data: bytes) -> int:  # noqa: N802 - protobuf's name
        """Fill the message."""

    def WhichOneof(self, name: str) -> str | None:  # noqa: N802 - protobuf's name
        """Return which field of the union is set."""

    def __getattr__(self, name: str) -> object:
        """Return a field."""


def read_model(serialized: bytes) -> GeGraph:
    """Return the first graph of a model, its nodes in an order of execution.

    Raises
    ------
    GraphFormError
        OPW-N001: damaged bytes, a node twice, an edge from nowhere, a cycle.
    """
    proto = importlib.import_module(GE_PROTO)
    model = proto.ModelDef()
    try:
        model.ParseFromString(serialized)
    except importlib.import_module("google.protobuf.message").DecodeError as error:
        raise GraphFormError(where="the serialized model", got=str(error)) from error
    if not model.graph or not model.graph[0].op:
        raise GraphFormError(where="the serialized model", got="no graph with nodes in it")
    return Reader({graph.name: graph for graph in model.graph[1:]}).read(model.graph[0])


class Reader:
    """Reads the graphs of a model; those behind the first are called by nodes, by name."""

    def __init__(self, others: Mapping[str, Message]) -> None:
        self.others = others
        self.done: dict[str, GeGraph] = {}
        self.open: list[str] = []

    def read(self, graph: Message) -> GeGraph:
        """Return a graph."""
        name = cast("str", graph.name)
        where = f"graph '{name}'"
        nodes = [self.node(op) for op in cast("Iterable[Message]", graph.op)]
        attributes = read_attributes(cast("Mapping[str, Message]", graph.attr), where=where)
        return GeGraph(name=name, nodes=put_in_order(nodes, where=where), attributes=attributes)

    def node(self, op: Message) -> Node:
        """Return a node with the graphs that it calls."""
        node = read_node(op)
        names = cast("Sequence[str]", op.subgraph_name)
        called = [self.named(name, node) for name in names] or [*map(self.read, inner_graphs(op))]
        return replace(node, subgraphs=tuple(called)) if called else node

    def named(self, name: str, caller: Node) -> GeGraph:
        """Return a graph that a node calls by its name."""
        if name not in self.others:
            raise GraphFormError(
                where=str(caller), got=f"a call of graph '{name}'", allowed=sorted(self.others)
            )
        if name in self.open:
            raise GraphFormError(where=str(caller), got=f"graph '{name}', which calls itself")
        if name not in self.done:
            self.open.append(name)
            self.done[name] = self.read(self.others[name])
            self.open.pop()
        return self.done[name]


def inner_graphs(op: Message) -> list[Message]:
    """Return the graphs among a node's attributes, by name."""
    found: list[Message] = []
    for _, value in sorted(cast("Mapping[str, Message]", op.attr).items()):
        field = value.WhichOneof("value")
        if field == "g":
            found.append(cast("Message", value.g))
        elif field == "list":
            found += cast("Iterable[Message]", cast("Message", value.list).g)
    return found


def read_node(op: Message) -> Node:
    """Return a node without the graphs that it calls."""
    name, op_type = cast("str", op.name), cast("str", op.type)
    where = f"node '{name}' ({op_type})"
    edges = [read_edge(edge, where=where) for edge in cast("Sequence[str]", op.input)]
    data = [edge for edge in edges if edge is None or edge.index >= 0]
    specs = [read_spec(desc) for desc in cast("Iterable[Message]", op.input_desc)]
    if data and len(specs) != len(data):
        raise GraphFormError(
            where=where,
            got=f"{len(data)} inputs and {len(specs)} descriptors of inputs",
        )
    outputs = tuple(read_spec(desc) for desc in cast("Iterable[Message]", op.output_desc))
    everything = read_attributes(cast("Mapping[str, Message]", op.attr), where=where)
    notes = {key: value for key, value in everything.items() if is_note(key)}
    attributes = {key: value for key, value in everything.items() if key not in notes}
    if op_type in (*INPUTS, *VARIABLES):
        check_data(attributes, outputs, where=where)
    if op_type in WRITTEN and outputs[0].format != ND:
        name = FORMATS[outputs[0].format]
        raise GraphFormError(
            where=where,
            got=f"an input in the format {name} that the graph writes",
            allowed=["an input of the format ND, or one that is only read"],
        )
    rule = str(everything.get("_inference_rule") or shape_rule(op, where=where))
    check_rule(rule, where=where)
    return Node(
        name=name,
        type=op_type,
        inputs=tuple((spec.name, edge) for spec, edge in zip(specs, data, strict=False)),
        outputs=outputs,
        attributes=attributes,
        after=tuple(edge.node for edge in edges if edge is not None and edge.index < 0),
        origin=fx_node(op),
        rule=rule,
        notes={key: value for key, value in notes.items() if key not in READ},
    )


def is_note(name: str) -> bool:
    """Return whether an entry of a node is none of its operator's attributes."""
    return name.startswith("_") or name in NAMED_NOTES


def check_data(
    attributes: Mapping[str, Attribute], outputs: Sequence[TensorSpec], *, where: str
) -> None:
    """Raise GraphFormError (OPW-N001) for an input or variable without an index or an output."""
    index = attributes.get("index", 0)
    if isinstance(index, bool) or not isinstance(index, int):
        raise GraphFormError(where=where, got=f"the index {index!r}", allowed=["a number"])
    if len(outputs) != 1:
        raise GraphFormError(where=where, got=f"{len(outputs)} outputs", allowed=["1"])


def fx_node(op: Message) -> str:
    """Return the FX node that TorchAir noted at the outputs, for an error."""
    for desc in cast("Iterable[Message]", op.output_desc):
        attributes = cast("Mapping[str, Message]", desc.attr)
        if "_fx_tensor_name" in attributes:
            text = cast("bytes", attributes["_fx_tensor_name"].s).decode(errors="replace")
            name, _, target = text.rpartition(".OUTPUT")[0].partition("-")
            return f"FX node '{name}' ({target})"
    return ""


def shape_rule(op: Message, *, where: str) -> str:
    """Return the rule that follows from the shapes that Meta gave, if TorchAir wrote none."""
    inputs, outputs = (
        list(cast("Iterable[Message]", descs)) for descs in (op.input_desc, op.output_desc)
    )
    try:
        return rule_of_shapes(
            [meta_of(desc) for desc in inputs],
            [meta_of(desc) for desc in outputs],
            [from_proto(cast("int", desc.dtype)) for desc in outputs],
        )
    except KeyError as error:
        raise GraphFormError(where=where, got=f"an output of {error}, which CANN lacks") from error


def meta_of(desc: Message) -> str:
    """Return what TorchAir noted of Meta's tensor."""
    attributes = cast("Mapping[str, Message]", desc.attr)
    if "_meta" not in attributes:
        return ""
    return cast("bytes", attributes["_meta"].s).decode(errors="replace")


def read_edge(edge: str, *, where: str) -> Source | None:
    """Return where an input comes from; None for an optional input without a tensor."""
    if not edge:
        return None
    found = re.fullmatch(r"(.+):(-?\d+)", edge)
    if found is None:
        raise GraphFormError(where=where, got=f"the input '{edge}'", allowed=["name:index"])
    return Source(found[1], int(found[2]))


def read_spec(desc: Message) -> TensorSpec:
    """Return what a descriptor says."""
    dims = tuple(cast("Sequence[int]", cast("Message", desc.shape).dim))
    attributes = cast("Mapping[str, Message]", desc.attr)
    form = cast("int", attributes["format_for_int"].i) if "format_for_int" in attributes else ND
    # TorchAir empties the shape of a tensor in a private format, and writes the tensor's here.
    if form in LAYOUTS and "origin_shape" in attributes:
        dims = tuple(cast("Sequence[int]", cast("Message", attributes["origin_shape"].list).i))
    return TensorSpec(
        name=cast("str", desc.name),
        dtype=from_proto(cast("int", desc.dtype)),
        shape=None if UNKNOWN_RANK in dims else dims,
        format=form if form in LAYOUTS else ND,
    )


def read_attributes(attributes: Mapping[str, Message], *, where: str) -> dict[str, Attribute]:
    """Return attributes as Python values; without graphs, which are no values."""
    found = {
        key: read_attribute(value, where=f"{where}, attribute '{key}'")
        for key, value in attributes.items()
    }
    return {key: value for key, value in found.items() if value is not GRAPHS}


def read_attribute(attribute: Message, *, where: str) -> Attribute:
    """Return an attribute's value."""
    field = attribute.WhichOneof("value")
    if field is None:
        return None
    value = getattr(attribute, field)
    if field == "g" or (field == "list" and value.g):
        return GRAPHS
    if field == "list":
        return read_list(value, where=where)
    if field in ("list_list_int", "list_list_float"):
        inner = value.list_list_i if field == "list_list_int" else value.list_list_f
        return [list(row.list_i if field == "list_list_int" else row.list_f) for row in inner]
    return read_single(field, value, where=where)


def read_list(values: Message, *, where: str) -> list[Attribute]:
    """Return the elements of whichever field of a list is filled."""
    for field in LIST_FIELDS:
        elements = list(getattr(values, field))
        if elements:
            return [read_single(field, element, where=where) for element in elements]
    return []


def read_single(field: str, value: object, *, where: str) -> Attribute:
    """Return one value of a union's field."""
    match field:
        case "s" | "bt":
            return cast("bytes", value).decode(errors="surrogateescape")
        case "t":
            return read_tensor(cast("Message", value), where=where)
        case "td":
            return read_spec(cast("Message", value))
        case "func":
            return cast("Message", value).name
        case _:
            return value


def read_tensor(tensor: Message, *, where: str) -> torch.Tensor:
    """Return the value of a constant; of a text, which torch has no dtype for, bytes and a zero."""
    spec = read_spec(cast("Message", tensor.desc))
    data = cast("bytes", tensor.data)
    number = cast("Message", tensor.desc).dtype
    if number == TEXT:
        return torch.tensor([*data, 0], dtype=torch.uint8)
    if spec.dtype is None or spec.shape is None or any(size < 0 for size in spec.shape):
        shape = "unknown rank" if spec.shape is None else f"shape {list(spec.shape)}"
        raise GraphFormError(where=where, got=f"a constant of dtype number {number} and {shape}")
    count = math.prod(spec.shape)
    if len(data) != count * spec.dtype.itemsize:
        raise GraphFormError(
            where=where,
            got=f"a constant of shape {list(spec.shape)} with {len(data)} bytes",
            allowed=[str(count * spec.dtype.itemsize)],
        )
    if not count:
        try:
            return torch.empty(spec.shape, dtype=spec.dtype)
        except RuntimeError as error:  # a size that is too large
            raise GraphFormError(where=where, got=str(error)) from error
    return torch.frombuffer(bytearray(data), dtype=spec.dtype).reshape(spec.shape)


def put_in_order(nodes: Sequence[Node], *, where: str) -> tuple[Node, ...]:
    """Return the nodes so that each stands behind those it needs, and otherwise as they were.

    Raises
    ------
    GraphFormError
        OPW-N001.
    """
    by_name = {node.name: node for node in nodes}
    if len(by_name) != len(nodes):
        twice = next(name for name in by_name if sum(node.name == name for node in nodes) > 1)
        raise GraphFormError(where=where, got=f"two nodes called '{twice}'")
    ordered: dict[str, Node] = {}
    for start in nodes:
        waiting = [(start, iter(needs(start)))]
        entered = {start.name: None}
        while waiting:
            node, missing = waiting[-1]
            name = next((name for name in missing if name not in ordered), None)
            if name is None:
                ordered[node.name] = node
                waiting.pop()
                entered.pop(node.name)
            elif name not in by_name:
                raise GraphFormError(
                    where=str(node), got=f"an edge from '{name}', which is not in the graph"
                )
            elif name in entered:
                raise GraphFormError(where=str(node), got=f"a cycle through '{name}'")
            else:
                entered[name] = None
                waiting.append((by_name[name], iter(needs(by_name[name]))))
    for node in nodes:
        check_edges(node, by_name)
    return tuple(ordered.values())


def needs(node: Node) -> list[str]:
    """Return the nodes that have to run before this one."""
    return [*(source.node for _, source in node.inputs if source is not None), *node.after]


def check_edges(node: Node, by_name: Mapping[str, Node]) -> None:
    """Raise GraphFormError (OPW-N001) for an edge from an output that its node does not have."""
    for name, source in node.inputs:
        if source is None:
            continue
        outputs = len(by_name[source.node].outputs)
        if source.index >= outputs:
            raise GraphFormError(
                where=str(node),
                got=f"input '{name}' from output {source.index} of '{source.node}'",
                allowed=[f"0 to {outputs - 1}"],
            )
