"""GraphDef messages -> vertices."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from opwright.aclnn.dtypes import CANN_DTYPES, DTYPE_NUMBERS
from opwright.graph_report.compiled.ge_proto import import_generated
from opwright.graph_report.compiled.model import Link, Vertex
from opwright.graph_report.text import size_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from opwright.graph_report.compiled.ge_proto import Message

__all__ = ["MARKS", "fx_targets", "read_attributes", "read_vertices"]

# Notes that scopes of TorchAir leave at a node -> their meaning.
MARKS = {
    "_user_stream_label": "stream",
    "_user_stream_priority": "stream priority",
    "_super_kernel_scope": "super kernel",
    "_super_kernel_options": "super kernel options",
    "_op_aicore_num": "AI cores",
    "_op_vectorcore_num": "vector cores",
    "_op_exec_never_timeout": "never times out",
    "_enable_inner_parallel": "inner parallel",
}
# Notes for TorchAir itself: names of inputs and outputs a second time, and the FX tensor,
# which the drawing shows in its own way.
HIDDEN = {
    "_input_name_key",
    "_input_name_value",
    "_output_name_key",
    "_output_name_value",
    "_fx_tensor_name",
    "_is_unfed_optional",
}
INPUTS = ("Data", "RefData", "Variable", "ConstPlaceHolder")
CONSTANTS = ("Const", "Constant")
OUTPUT = "NetOutput"
# ge::DataType, which attributes use.
RUNTIME_NAMES = {number: name for name, number in DTYPE_NUMBERS.items() if name}
DTYPE_NAMES = {"dtype", "dst_type"}  # attributes that are numbers of dtypes
READABLE = "_readable_value"  # what TorchAir notes of a constant
UNKNOWN_RANK = -2
MOST_ELEMENTS = 8  # of a list that is shown
MOST_CHARACTERS = 200
# TorchAir's note of Meta's tensor: "Tensor(dtype=torch.float32, shape=torch.Size([2, s0])".
META_TENSOR = re.compile(r"Tensor\(dtype=torch\.(\w+), shape=(?:torch\.Size\()?\[(.*?)\]")
META_NUMBER = re.compile(r"<class 'torch\.Sym(\w+)'>\((.*)\)")
META_LIST = re.compile(r"<class 'list'>\((\[.*\])\)")


def read_vertices(graph: Message, inferred: Mapping[str, str]) -> tuple[Vertex, ...]:
    """Return the nodes of a graph as they stand in it.

    Parameters
    ----------
    inferred
        Dtypes and shapes that the engine found, by output, as in "Relu:0".
    """
    outputs = {op.name: list(output_texts(op, inferred)) for op in graph.op}
    return tuple(read_vertex(op, outputs) for op in graph.op)


def output_texts(op: Message, inferred: Mapping[str, str]) -> Iterable[str]:
    """Yield dtype and shape of each output of a node.

    What a converter puts in between has a descriptor that says nothing yet: GE infers it.
    """
    for place, desc in enumerate(op.output_desc):
        if op.type in CONSTANTS:
            yield dtype_text(op.attr["value"].t.desc.dtype) + shape_text(
                list(op.attr["value"].t.desc.shape.dim)
            )
        elif "_meta" in desc.attr or op.type in INPUTS:
            yield tensor_text(desc)
        else:
            yield inferred.get(f"{op.name}:{place}", "")


def read_vertex(op: Message, outputs: Mapping[str, list[str]]) -> Vertex:
    """Return a node; `outputs` has the tensors of all."""
    attributes = read_attributes(op.attr)
    if op.type in CONSTANTS and READABLE in op.attr:
        attributes = (("value", shorten(" ".join(text_of(op.attr[READABLE].s).split()))),)
    if op.subgraph_name:
        attributes = (("calls", ", ".join(op.subgraph_name)), *attributes)
    return Vertex(
        name=op.name,
        type=op.type,
        inputs=tuple(read_links(op, outputs)),
        outputs=() if op.type == OUTPUT else tuple(outputs[op.name]),
        attributes=tuple(each for each in attributes if each[0] not in MARKS),
        marks=tuple((MARKS[name], value) for name, value in attributes if value and name in MARKS),
        fx=tuple(dict(fx_notes(op))),
        is_input=op.type in INPUTS,
        is_output=op.type == OUTPUT,
    )


def read_links(op: Message, outputs: Mapping[str, list[str]]) -> Iterable[Link]:
    """Yield the inputs of a node. Those that order have no descriptor."""
    names = iter([desc.name for desc in op.input_desc])
    for edge in op.input:
        source, _, index = edge.rpartition(":")
        place = int(index) if re.fullmatch(r"-?\d+", index) else 0
        if not edge:
            yield Link(name=next(names, ""), source=None)
        elif place < 0:
            yield Link(name="", source=source, index=-1)
        else:
            tensors = outputs.get(source, [])
            tensor = tensors[place] if place < len(tensors) else ""
            yield Link(name=next(names, ""), source=source or edge, index=place, tensor=tensor)


def fx_targets(graph: Message) -> dict[str, str]:
    """Return FX node -> its target, of those whose results TorchAir noted in the graph."""
    return dict(each for op in graph.op for each in fx_notes(op))


def fx_notes(op: Message) -> Iterable[tuple[str, str]]:
    """Yield the FX nodes of which a node computes an output: name and target."""
    for desc in op.output_desc:
        if "_fx_tensor_name" in desc.attr:
            name, _, rest = text_of(desc.attr["_fx_tensor_name"].s).partition("-")
            yield name, rest.rpartition(".OUTPUT.")[0]


def tensor_text(desc: Message) -> str:
    """Write a descriptor, and how Meta's tensor is, where TorchAir noted that."""
    note = text_of(desc.attr["_meta"].s) if "_meta" in desc.attr else ""
    if found := META_TENSOR.match(note):
        return f"{found[1]}[{found[2]}]"
    if found := META_NUMBER.match(note):
        return f"{found[1].lower()} {found[2]}"
    dtype = dtype_text(desc.dtype)
    if found := META_LIST.match(note):
        return f"{dtype}{found[1]}".strip()
    return dtype + shape_text(list(desc.shape.dim))


def dtype_text(number: int) -> str:
    """Name a dtype of a descriptor; empty if it is left open."""
    names = import_generated().DataType
    if number not in names.values():
        return f"dtype {number}"
    name = str(names.Name(number)).removeprefix("DT_")
    return "" if name == "UNDEFINED" else CANN_DTYPES.get(name, name.lower())


def shape_text(dims: list[int]) -> str:
    """Write a shape.

    >>> shape_text([2, -1]), shape_text([-2])
    ('[2, ?]', '[...]')
    """
    if UNKNOWN_RANK in dims:
        return "[...]"
    return f"[{', '.join('?' if dim < 0 else str(dim) for dim in dims)}]"


def read_attributes(attributes: Mapping[str, Message]) -> tuple[tuple[str, str], ...]:
    """Return attributes as text, by name."""
    return tuple(
        (name, attribute_text(name, attributes[name]))
        for name in sorted(attributes)
        if name not in HIDDEN
    )


def attribute_text(name: str, attribute: Message) -> str:
    """Write the value of an attribute."""
    field = attribute.WhichOneof("value")
    if field is None:
        return ""
    value = getattr(attribute, field)
    match field:
        case "list":
            return list_text(value)
        case "i" if name in DTYPE_NAMES:
            return runtime_dtype_text(value)
        case "list_list_int":
            return str([list(row.list_i) for row in value.list_list_i])
        case "list_list_float":
            return str([[number_text(each) for each in row.list_f] for row in value.list_list_f])
        case _:
            return shorten(value_text(field, value))


def list_text(values: Message) -> str:
    """Write a list: whichever of its fields is filled."""
    for field in ("s", "i", "f", "b", "dt", "td", "t", "g"):
        elements = list(getattr(values, field))
        if elements:
            shown = [value_text(field, each) for each in elements[:MOST_ELEMENTS]]
            more = [f"... {len(elements)} in all"] if len(elements) > MOST_ELEMENTS else []
            return f"[{', '.join([*shown, *more])}]"
    return "[]"


def value_text(field: str, value: Message) -> str:
    """Write one value of a union's field."""
    match field:
        case "s" | "bt":
            return text_of(value)
        case "f":
            return number_text(value)
        case "t":
            data = size_text(len(value.data))
            return f"{dtype_text(value.desc.dtype)}{shape_text(list(value.desc.shape.dim))}, {data}"
        case "g":
            return f"graph '{value.name}' with {len(value.op)} nodes"
        case "td":
            return tensor_text(value)
        case "func":
            return str(value.name)
        case "dt":
            return runtime_dtype_text(value)
        case _:
            return str(value)


def runtime_dtype_text(number: int) -> str:
    """Name a dtype of an attribute.

    >>> runtime_dtype_text(0), runtime_dtype_text(27), runtime_dtype_text(99)
    ('float32', 'bfloat16', 'dtype 99')
    """
    name = RUNTIME_NAMES.get(number, f"dtype {number}")
    return CANN_DTYPES.get(name, name.lower())


def number_text(value: float) -> str:
    """Write a number of 32 bits with as many digits as it has.

    >>> number_text(0.10000000149011612), number_text(float("inf"))
    ('0.1', 'inf')
    """
    return f"{value:.7g}" if math.isfinite(value) else str(value)


def shorten(text: str) -> str:
    """Return the text, or how it begins."""
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 3] + "..."


def text_of(data: bytes) -> str:
    """Decode a string of a message."""
    return data.decode(errors="backslashreplace")
