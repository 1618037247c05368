"""Expressions and rules -> Python, for sizes that may be symbolic.

The text names the arguments, `torch`, and helpers: `as_list`, `broadcast`, `reduced`, `tensors_in`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import assert_never

from opwright.kit.declare.rules import Cpp, DtypeArgument, DtypeSet, Promoted, SameDtype
from opwright.kit.expressions.shape import (
    Argument,
    Binary,
    Broadcast,
    Const,
    Dim,
    Element,
    Length,
    Rank,
    Reduced,
    Sizes,
    Span,
    tensor_text,
)

if TYPE_CHECKING:
    from opwright.kit.declare.rules import DtypeRule
    from opwright.kit.declare.schema import Schema
    from opwright.kit.expressions.shape import Item, Shape, Size

__all__ = ["dtype_text", "shape_text", "size_text", "slice_text", "span_text"]


def dtype_text(rule: DtypeRule, schema: Schema) -> str:
    """Return a dtype."""
    match rule:
        case DtypeSet(names):
            return f"torch.{names[0]}"
        case SameDtype(tensor, True):
            return f"{tensor}[i].dtype"
        case SameDtype(tensor):
            kind = schema.type_of(tensor)
            return f"tensors_in({tensor})[0].dtype" if kind.is_list else f"{tensor}.dtype"
        case DtypeArgument(name, otherwise) if otherwise is not None:
            return f"{dtype_text(otherwise, schema)} if {name} is None else {name}"
        case DtypeArgument(name):
            return name
        case Promoted() | Cpp():
            raise AssertionError(rule)  # emit_cpp refused them for the stable ABI
        case _:
            assert_never(rule)


def shape_text(shape: Shape, schema: Schema) -> str:
    """Return a shape."""
    match shape:
        case (Span(start=0, stop=None) as item,):
            return f"{tensor_text(item)}.shape"
        case (Broadcast() | Reduced() as item,):
            return item_text(item, schema).removeprefix("*")
        case (item,):
            return f"({item_text(item, schema)},)"
        case _:
            return f"({', '.join(item_text(item, schema) for item in shape)})"


def item_text(item: Item, schema: Schema) -> str:
    """Return one item of a shape."""
    match item:
        case Span():
            return f"*{span_text(item)}"
        case Sizes(name):
            return f"*as_list({name})"
        case Broadcast(shapes):
            return f"*broadcast({', '.join(shape_text(each, schema) for each in shapes)})"
        case Reduced(dims=dims, keepdim=keepdim):
            keep = f", keepdim={keepdim}" if keepdim else ""
            return f"*reduced({tensor_text(item)}, {dims or 'None'}{keep})"
        case _:
            return size_text(item, schema)


def span_text(span: Span) -> str:
    """Return several axes of a tensor."""
    return f"{tensor_text(span)}.shape{slice_text(span)}"


def slice_text(span: Span) -> str:
    """Return the slice of a tensor's shape; nothing for all of it."""
    if span.start == 0 and span.stop is None:
        return ""
    return f"[{span.start or ''}:{'' if span.stop is None else span.stop}]"


def size_text(size: Size, schema: Schema) -> str:
    """Return one size."""
    match size:
        case Const(value):
            return str(value)
        case Dim(axis=axis):
            return f"{tensor_text(size)}.shape[{axis}]"
        case Rank():
            return f"len({tensor_text(size)}.shape)"
        case Argument(name):
            return name
        case Length(name):
            return f"len({name})"
        case Element(name, index):
            is_flexible = schema.type_of(name).length is not None
            return f"as_list({name})[{index}]" if is_flexible else f"{name}[{index}]"
        case Binary("min" | "max" as operation, left, right):
            both = f"{size_text(left, schema)}, {size_text(right, schema)}"
            return f"torch.sym_{operation}({both})"
        case Binary("+", Binary("+") as left, right):  # brackets that nobody needs
            return f"{size_text(left, schema)[:-1]} + {size_text(right, schema)})"
        case Binary("ceildiv", left, right):
            one, another = size_text(left, schema), size_text(right, schema)
            return f"(({one} + {another} - 1) // {another})"
        case Binary("-", Const(0), right):
            return f"-{size_text(right, schema)}"
        case Binary(operation, left, right):
            return f"({size_text(left, schema)} {operation} {size_text(right, schema)})"
        case _:
            assert_never(size)
