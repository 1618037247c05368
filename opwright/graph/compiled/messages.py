"""Files with a GE graph -> ge.proto messages, with the protobuf classes of the wheel's TorchAir.

TorchAir's package needs torch_npu and CANN's libraries; its generated module alone needs neither.
"""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format
from google.protobuf.message import DecodeError

from opwright.graph.errors import GeDumpError

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["SUFFIXES", "Message", "read_messages"]

Message = Any  # generated classes; protobuf ships no types for them

MODULE = "ge_ir_by_protoc_3_19_pb2"
FOLDER = ("dynamo", "torchair", "_ge_concrete_graph")
SERIALIZED = (".air", ".pb")
TEXT = ".txt"
TENSORBOARD = ".pbtxt"
SUFFIXES = (*SERIALIZED, TEXT, TENSORBOARD)


@cache
def generated() -> ModuleType:
    """Return TorchAir's generated module."""
    name = f"torchair._ge_concrete_graph.{MODULE}"
    if name in sys.modules:
        return sys.modules[name]
    wheel = importlib.util.find_spec("torch_npu")
    assert wheel is not None
    assert wheel.origin is not None
    file = Path(wheel.origin).parent.joinpath(*FOLDER, f"{MODULE}.py")
    spec = importlib.util.spec_from_file_location(MODULE, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read_messages(file: Path) -> tuple[Message, ...]:
    """Return the GraphDef messages of a file.

    A serialized model is what ge::Graph::SaveToFile and `torchair.dynamo_export` write; text is
    what TorchAir's option `debug.graph_dump` writes with type "txt" or "pbtxt".

    Raises
    ------
    GeDumpError
        OPW-G005.
    """
    try:
        data = file.read_bytes()
    except OSError as error:
        raise GeDumpError(where=str(file), got=str(error)) from error
    try:
        if file.suffix == TENSORBOARD:
            graphs = (from_tensorboard(data.decode(), file.stem),)
        elif file.suffix == TEXT:
            graphs = (text_format.Parse(data.decode(), generated().GraphDef()),)
        else:
            model = generated().ModelDef()
            model.ParseFromString(data)
            graphs = tuple(model.graph)
    except (DecodeError, text_format.ParseError, UnicodeDecodeError) as error:
        raise GeDumpError(where=str(file), got=f"{error!s:.200}") from error
    if not any(len(graph.op) for graph in graphs):
        raise GeDumpError(where=str(file), got="no graph with nodes in it")
    return graphs


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


def from_tensorboard(text: str, name: str) -> Message:
    """Return the graph of a text for TensorBoard, whose attributes are texts of messages."""
    drawn = text_format.Parse(text, tensorboard_graph()())
    graph = generated().GraphDef(name=name)
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
