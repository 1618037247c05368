"""Graphs for TensorBoard, as TorchAir writes them -> messages of ge.proto."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

from opwright.graph_report.compiled.ge_proto import import_generated

if TYPE_CHECKING:
    from opwright.graph_report.compiled.ge_proto import Message

__all__ = ["from_tensorboard"]


def from_tensorboard(text: str, name: str) -> Message:
    """Return the graph of a text for TensorBoard, whose attributes are texts of messages."""
    drawn = text_format.Parse(text, tensorboard_graph()())
    graph = import_generated().GraphDef(name=name)
    for node in drawn.node:
        op = graph.op.add(name=node.name, type=node.op)
        op.input.extend(f"{each[1:]}:-1" if each.startswith("^") else each for each in node.input)
        for attribute in node.attr:
            value = attribute.value.s.decode()
            target = (
                op.input_desc.add()
                if attribute.key.startswith("[i]")
                else op.output_desc.add()
                if attribute.key.startswith("[o]")
                else op.attr[attribute.key]
            )
            text_format.Parse(value, target)
    return graph


@cache
def tensorboard_graph() -> type[Message]:
    """Return the class of the graph that TensorBoard shows, as far as TorchAir writes it."""
    text, message = (
        descriptor_pb2.FieldDescriptorProto.TYPE_STRING,
        descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE,
    )
    octets = descriptor_pb2.FieldDescriptorProto.TYPE_BYTES
    forms = {
        "Graph": (("node", message, "Node"),),
        "Node": (
            ("name", text, ""),
            ("op", text, ""),
            ("input", text, ""),
            ("attr", message, "Attribute"),
        ),
        "Attribute": (("key", text, ""), ("value", message, "Value")),
        "Value": (("s", octets, ""),),
    }
    repeated = {"node", "input", "attr"}
    package = "opwright.tensorboard"
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package)
    for name, fields in forms.items():
        form = file.message_type.add(name=name)
        for number, (field, kind, of) in enumerate(fields, start=1):
            # 1: optional, 3: repeated
            added = form.field.add(
                name=field, number=number, type=kind, label=3 if field in repeated else 1
            )
            if of:
                added.type_name = f".{package}.{of}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found: type[Message] = message_factory.GetMessageClass(
        pool.FindMessageTypeByName(f"{package}.Graph")
    )
    return found
