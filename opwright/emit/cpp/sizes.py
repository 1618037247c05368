"""Shape and dtype rules as C++ expressions, for sizes that may be symbolic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, assert_never

from opwright.declare.rules import Cpp, DtypeArgument, DtypeSet, Promoted, SameDtype, ShapeFunction
from opwright.declare.schema import Base
from opwright.declare.shape import (
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
)
from opwright.emit.cpp.errors import CppRuleError
from opwright.emit.cpp.names import safe
from opwright.emit.cpp.types import DTYPES

if TYPE_CHECKING:
    from opwright.declare.rules import DtypeRule
    from opwright.declare.schema import Schema
    from opwright.declare.shape import Item, Shape, Size

__all__ = ["Value", "dtype", "shape", "size", "span", "tensor_member"]


@dataclass(frozen=True, slots=True)
class Value:
    """An expression.

    Parameters
    ----------
    kind
        int is int64_t, size is c10::SymInt, float is double.
    compound
        Whether it needs parentheses as an operand.
    """

    text: str
    kind: Literal["int", "size", "float"]
    compound: bool = False

    @property
    def operand(self) -> str:
        """The text as an operand."""
        return f"({self.text})" if self.compound else self.text

    @property
    def as_size(self) -> str:
        """The text as a c10::SymInt."""
        return self.operand if self.kind == "size" else f"c10::SymInt({self.text})"


def tensor_member(schema: Schema, name: str) -> str:
    """Return a tensor argument up to the name of a member: `x.` or `mask->`."""
    argument = schema.argument(name)
    return f"{safe(name)}{'->' if argument is not None and argument.type.optional else '.'}"


def list_value(schema: Schema, name: str) -> str:
    """Return a list argument as an operand."""
    argument = schema.argument(name)
    optional = argument is not None and argument.type.optional
    return f"(*{safe(name)})" if optional else safe(name)


def size(rule: Size, schema: Schema) -> Value:
    """Return one size."""
    match rule:
        case Const(value):
            return Value(str(value), "int")
        case Dim(tensor, axis):
            return Value(f"{tensor_member(schema, tensor)}sym_size({axis})", "size")
        case Rank(tensor):
            return Value(f"{tensor_member(schema, tensor)}dim()", "int")
        case Argument(name):
            return argument_value(schema, name)
        case Length(name):
            return Value(f"static_cast<int64_t>({list_value(schema, name)}.size())", "int")
        case Element(name, index):
            return element(schema, name, index)
        case Binary(operation, left, right):
            return binary(operation, size(left, schema), size(right, schema))
        case _:
            assert_never(rule)


def argument_value(schema: Schema, name: str) -> Value:
    """Return the value of a number that is an argument."""
    argument = schema.argument(name)
    base = argument.type.base if argument is not None else Base.INT
    match base:
        case Base.SYMINT:
            return Value(safe(name), "size")
        case Base.FLOAT:
            return Value(safe(name), "float")
        case _:
            return Value(safe(name), "int")


def element(schema: Schema, name: str, index: int) -> Value:
    """Return an element of a list; a negative index counts from the end."""
    argument = schema.argument(name)
    symbolic = argument is not None and argument.type.base is Base.SYMINT
    values = list_value(schema, name)
    return Value(f"element({values}, {index})", "size" if symbolic else "int")


def binary(operation: str, left: Value, right: Value) -> Value:
    """Return an operation; C++ has none of its own that divides as Python does."""
    if "float" in {left.kind, right.kind}:
        return Value(f"{left.operand} {operation} {right.operand}", "float", compound=True)
    match operation:
        case "+" | "-" | "*" if left.kind == right.kind == "int":
            return Value(f"{left.operand} {operation} {right.operand}", "int", compound=True)
        case "+" | "-" | "*":
            return Value(f"{left.as_size} {operation} {right.operand}", "size", compound=True)
        case "min" | "max":
            return Value(f"{left.as_size}.{operation}({right.text})", "size")
        case "//":
            return Value(f"floor_divide({left.text}, {right.text})", "size")
        case "ceildiv":
            return Value(f"ceil_divide({left.text}, {right.text})", "size")
        case _:
            return Value(f"modulo({left.text}, {right.text})", "size")


def span(rule: Span, schema: Schema) -> str:
    """Return some sizes of a tensor, as c10::SymIntArrayRef."""
    sizes = f"{tensor_member(schema, rule.tensor)}sym_sizes()"
    if rule.start == 0 and rule.stop is None:
        return sizes
    stop = "" if rule.stop is None else f", {rule.stop}"
    return f"part({sizes}, {rule.start}{stop})"


def shape(rule: Shape | ShapeFunction | Cpp | None, schema: Schema, *, where: str) -> str:
    """Return the sizes of an output, as what initializes a c10::SymIntArrayRef.

    Raises
    ------
    CppRuleError
        OPW-E102.
    """
    if isinstance(rule, Cpp):
        return f"c10::SymDimVector({rule.text})"
    if rule is None or isinstance(rule, ShapeFunction):
        raise CppRuleError(where=where, got="a Python function that branches on sizes")
    if all(not isinstance(item, Span | Sizes | Broadcast | Reduced) for item in rule):
        return f"{{{', '.join(item_sizes(rule, schema))}}}"
    if len(rule) == 1:
        return several(rule[0], schema)
    return f"join({{{', '.join(parts(rule, schema))}}})"


def item_sizes(rule: Shape, schema: Schema) -> list[str]:
    """Return the sizes of items that are one size each."""
    return [
        size(item, schema).text
        for item in rule
        if not isinstance(item, Span | Sizes | Broadcast | Reduced)
    ]


def is_several(item: Item) -> bool:
    """Tell whether an item stands for several sizes."""
    return isinstance(item, Span | Sizes | Broadcast | Reduced)


def parts(rule: Shape, schema: Schema) -> list[str]:
    """Return the parts of a shape: runs of single sizes, and what stands for several."""
    result: list[str] = []
    run: list[Item] = []
    for item in rule:
        if is_several(item):
            if run:
                result.append(f"{{{', '.join(item_sizes(tuple(run), schema))}}}")
                run = []
            result.append(several(item, schema))
        else:
            run.append(item)
    if run:
        result.append(f"{{{', '.join(item_sizes(tuple(run), schema))}}}")
    return result


def several(item: Item, schema: Schema) -> str:
    """Return what stands for several sizes."""
    match item:
        case Span():
            return span(item, schema)
        case Sizes(name):
            argument = schema.argument(name)
            values = list_value(schema, name)
            symbolic = argument is not None and argument.type.base is Base.SYMINT
            return values if symbolic else f"c10::fromIntArrayRefSlow({values})"
        case Broadcast(shapes):
            each = [", ".join(parts(one, schema)) for one in shapes]
            return f"broadcast({{{', '.join(each)}}})"
        case Reduced(tensor, dims, keepdim):
            keep = safe(keepdim) if keepdim else "false"
            sizes = f"{tensor_member(schema, tensor)}sym_sizes()"
            return f"reduced({sizes}, {reduced_axes(schema, dims)}, {keep})"
        case _:
            return f"{{{size(item, schema).text}}}"


def reduced_axes(schema: Schema, dims: str | None) -> str:
    """Return the axes of a reduction as at::OptionalIntArrayRef."""
    if dims is None:
        return "std::nullopt"
    argument = schema.argument(dims)
    if argument is not None and not argument.type.is_list and argument.type.optional:
        return f"{safe(dims)}.has_value() ? at::OptionalIntArrayRef(*{safe(dims)}) : std::nullopt"
    return safe(dims)


def dtype(rule: DtypeRule | None, schema: Schema, *, where: str) -> str:
    """Return the dtype of an output.

    Raises
    ------
    CppRuleError
        OPW-E102.
    """
    match rule:
        case DtypeSet(names):
            return f"at::ScalarType::{DTYPES[names[0]]}"
        case SameDtype(tensor):
            return dtype_like(schema, tensor)
        case Promoted(tensors):
            return f"at::native::result_type({{{', '.join(safe(name) for name in tensors)}}})"
        case DtypeArgument(name, otherwise):
            return f"{safe(name)}.value_or({dtype(otherwise, schema, where=where)})"
        case Cpp(text):
            return text
        case None:
            raise CppRuleError(
                where=where, got="no dtype", fix="say what dtype the output has, in dtypes={...}"
            )
        case _:
            assert_never(rule)


def dtype_like(schema: Schema, name: str) -> str:
    """Return the dtype of a tensor argument, or of the first tensor of a list."""
    argument = schema.argument(name)
    if argument is not None and argument.type.is_list:
        return f"{safe(name)}.front().scalar_type()"
    return f"{tensor_member(schema, name)}scalar_type()"
