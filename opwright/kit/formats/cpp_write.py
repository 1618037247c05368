"""Rules -> the C++ expressions of op-plugin's YAML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import assert_never

from opwright.kit.declare.dtypes import SCALAR_TYPES
from opwright.kit.declare.rules import (
    BroadcastOf,
    Cpp,
    Dims,
    DtypeArgument,
    DtypeSet,
    EachOf,
    Like,
    Promoted,
    ReducedOf,
    SameDtype,
    ShapeFunction,
)
from opwright.kit.expressions import shape
from opwright.kit.expressions.patterns import bind
from opwright.kit.expressions.read import resolve
from opwright.kit.expressions.trace import lower
from opwright.kit.formats.errors import NotWritableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.kit.declare.operator import Operator
    from opwright.kit.declare.rules import DtypeRule, ShapeRule
    from opwright.kit.declare.schema import Schema

__all__ = ["dtype_text", "size_text"]


def size_text(rule: ShapeRule, operator: Operator, *, where: str) -> str:
    """Write the shape of an output.

    Raises
    ------
    NotWritableError
        OPW-S006: a function that branches on sizes.
    """
    schema = operator.schema
    match rule:
        case Like(tensor):
            return tensor
        case BroadcastOf(tensors):
            return broadcast_text([f"{tensors[0]}.sizes()"] if len(tensors) == 1 else tensors)
        case ReducedOf():
            return write_reduction(shape.Reduced(rule.tensor, rule.dim, rule.keepdim), schema)
        case Cpp(text):
            return text
        case EachOf():
            raise NotWritableError(
                where=where,
                got=f"each({rule.count!r}, ...): a list of results",
                fix="write its adapter by hand: op-plugin's generator allocates single tensors",
            )
        case Dims() | ShapeFunction():
            return shape_text(resolve_rule(rule, operator, where=where), schema)
        case _:
            assert_never(rule)


def resolve_rule(rule: Dims | ShapeFunction, operator: Operator, *, where: str) -> shape.Shape:
    """Return a rule as data."""
    schema = operator.schema
    patterns = {
        name: given
        for name, given in operator.shapes.items()
        if isinstance(given, Dims) and (a := schema.argument(name)) and not a.is_written
    }
    scope, _ = bind(schema, patterns, where=where)
    if isinstance(rule, ShapeFunction):
        lowered = lower(rule, scope)
        if lowered is None:
            raise NotWritableError(
                where=where,
                got=f"the shape function {getattr(rule.function, '__name__', rule.function)!r}",
                fix="write the shape as a text, or as cpp(...)",
            )
        return lowered
    found = resolve(rule, scope, where=where)
    assert isinstance(found, tuple), "the text of a rule is always data"
    return found


def broadcast_text(shapes: Sequence[str]) -> str:
    """Write a broadcast of several shapes by the function for two."""
    text, *rest = shapes
    for other in rest:
        text = f"broadcast_ops_npu_output_size({text}, {other})"
    return text


def write_reduction(item: shape.Reduced, schema: Schema) -> str:
    """Write a reduction."""
    argument = schema.argument(item.dims) if item.dims else None
    dims = f"get_dimlist_for_tensor({item.tensor})"
    if argument is not None:
        is_list, optional = argument.type.is_list, argument.type.optional
        if optional and is_list:
            dims = f"{item.dims}.value_or(at::IntArrayRef{{}})"
        elif optional:
            dims = f"{item.dims}.has_value() ? at::IntArrayRef({{{item.dims}.value()}})"
            dims += " : at::IntArrayRef{}"
        else:
            dims = argument.name if is_list else f"{{{argument.name}}}"
    return (
        f"reduce_ops_npu_output_size({shape.tensor_text(item)}, {dims}, {item.keepdim or 'false'})"
    )


def shape_text(items: shape.Shape, schema: Schema) -> str:
    """Write a shape: a list in braces where all items are sizes, else a function that appends."""
    if all(is_size(item) for item in items):
        return "{" + ", ".join(one(item, schema) for item in items) + "}" if items else NO_SIZES
    match items:
        case (shape.Span(start=0, stop=None) as span,):
            return f"{shape.tensor_text(span)}.sizes()"
        case (shape.Sizes(name),):
            return name
        case (shape.Broadcast() | shape.Reduced() as item,):
            return write_whole(item, schema)
    result = "sizes"
    while schema.argument(result) is not None:
        result += "_"
    lines = " ".join(append(item, result, schema) for item in items)
    body = f"c10::SmallVector<int64_t, op_infer::SIZE> {result}; {lines} return {result};"
    return f"[&]() {{ {body} }}()"


NO_SIZES = "c10::SmallVector<int64_t, op_infer::SIZE>{}"


def is_size(item: shape.Item) -> bool:
    """Whether an item is one size."""
    return not isinstance(item, shape.Span | shape.Sizes | shape.Broadcast | shape.Reduced)


def one(item: shape.Item, schema: Schema) -> str:
    """Write an item that is one size."""
    assert not isinstance(item, shape.Span | shape.Sizes | shape.Broadcast | shape.Reduced)
    return size(item, schema)


def write_whole(item: shape.Broadcast | shape.Reduced, schema: Schema) -> str:
    """Write an item that is computed by a function of op-plugin."""
    if isinstance(item, shape.Reduced):
        return write_reduction(item, schema)
    parts = [shape_text(each, schema) for each in item.shapes]
    return broadcast_text(
        [f"at::IntArrayRef({part})" if part.startswith("{") else part for part in parts]
    )


def append(item: shape.Item, result: str, schema: Schema) -> str:
    """Write the statement that appends an item to the result."""
    match item:
        case shape.Span(start=start, stop=stop):
            tensor = shape.tensor_text(item)
            first = f"{start}" if start >= 0 else f"{tensor}.dim() - {-start}"
            last = f"{tensor}.dim()"
            if stop is not None:
                last = f"{stop}" if stop >= 0 else f"{tensor}.dim() - {-stop}"
            head = f"for (int64_t i = {first}; i < {last}; ++i)"
            return f"{head} {{ {result}.push_back({tensor}.size(i)); }}"
        case shape.Sizes(name):
            return f"{result}.append({name}.begin(), {name}.end());"
        case shape.Broadcast() | shape.Reduced():
            text = write_whole(item, schema)
            return f"for (auto each : {text}) {{ {result}.push_back(each); }}"
        case _:
            return f"{result}.push_back({size(item, schema)});"


PRECEDENCE = {"+": 1, "-": 1, "*": 2, "//": 2, "%": 2}


def size(node: shape.Size, schema: Schema) -> str:
    """Write one size."""
    match node:
        case shape.Const(value):
            return f"{value}L"
        case shape.Dim(axis=axis):
            return f"{shape.tensor_text(node)}.size({axis})"
        case shape.Rank():
            return f"{shape.tensor_text(node)}.dim()"
        case shape.Argument(name):
            return name
        case shape.Length(name):
            return f"static_cast<int64_t>({name}.size())"
        case shape.Element(name, index):
            return f"{name}[{index}]"
        case shape.Binary():
            return binary(node, schema)
        case _:
            assert_never(node)


def binary(node: shape.Binary, schema: Schema) -> str:
    """Write an operation; quotients round down as sizes do, also of negative values."""
    operation = node.operation
    left, right = size(node.left, schema), size(node.right, schema)
    if operation in {"min", "max"}:
        return f"std::{operation}<int64_t>({left}, {right})"
    if operation == "ceildiv" and may_be_negative(node):
        return f"-c10::div_floor_integer(-({left}), {right})"
    if operation == "ceildiv":
        return (
            f"({operand(node.left, '+', schema)} + {operand(node.right, '-', schema)} - 1) / "
            + (operand(node.right, "//", schema, is_right=True))
        )
    if operation == "//" and may_be_negative(node):
        return f"c10::div_floor_integer({left}, {right})"
    if operation == "%" and may_be_negative(node):
        return f"(({left}) % ({right}) + ({right})) % ({right})"
    symbol = "/" if operation == "//" else operation
    left = operand(node.left, operation, schema)
    return f"{left} {symbol} {operand(node.right, operation, schema, is_right=True)}"


def operand(node: shape.Size, operation: str, schema: Schema, *, is_right: bool = False) -> str:
    """Write an operand, in parentheses where the operation binds closer."""
    text = size(node, schema)
    if not isinstance(node, shape.Binary):
        return text
    inner = PRECEDENCE.get(node.operation, 2 if node.operation == "ceildiv" else 3)
    outer = PRECEDENCE[operation]
    return f"({text})" if inner < outer or (is_right and inner == outer) else text


def may_be_negative(node: shape.Size) -> bool:
    """Whether a value may be negative: sizes are not, differences may be."""
    match node:
        case shape.Const(value):
            return value < 0
        case shape.Binary("-", _, _):
            return True
        case shape.Binary(_, left, right):
            return may_be_negative(left) or may_be_negative(right)
        case _:
            return False


def dtype_text(rule: DtypeRule) -> str:
    """Write the dtype of an output."""
    match rule:
        case SameDtype(tensor):
            return tensor
        case DtypeSet(names):
            return f"at::k{SCALAR_TYPES[names[0]]}"
        case Promoted(tensors):
            inside = ", ".join(tensors)
            return f"at::native::result_type({inside if len(tensors) == 2 else f'{{{inside}}}'})"  # noqa: PLR2004
        case DtypeArgument(name, otherwise) if otherwise is not None:
            return f"{name}.has_value() ? {name}.value() : {dtype_value(otherwise)}"
        case DtypeArgument(name):
            return name
        case Cpp(text):
            return text
        case _:
            assert_never(rule)


def dtype_value(rule: DtypeRule) -> str:
    """Write a dtype inside of an expression, where the name of a tensor does not stand for one."""
    text = dtype_text(rule)
    return f"{text}.scalar_type()" if isinstance(rule, SameDtype) else text
