"""C++ expressions of op-plugin's YAML -> rules, where the translation is exact; else `cpp(...)`."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from opwright.kit.declare.dtypes import SCALAR_TYPES
from opwright.kit.declare.rules import (
    BroadcastOf,
    Cpp,
    Dims,
    DtypeArgument,
    DtypeSet,
    Like,
    Promoted,
    ReducedOf,
    SameDtype,
)
from opwright.kit.declare.schema_text import split

if TYPE_CHECKING:
    from opwright.kit.declare.rules import DtypeRule, ShapeRule
    from opwright.kit.declare.schema import Schema

__all__ = ["read_dtype", "read_size"]

# at::k<Name> and at::ScalarType::<Name> -> torch's names.
BY_SCALAR_TYPE = {name: dtype for dtype, name in SCALAR_TYPES.items()}

NAME = re.compile(r"[A-Za-z_]\w*")
CALL = re.compile(r"(?:op_infer::)?(?P<function>\w+)\((?P<arguments>.*)\)", re.DOTALL)
BRACES = re.compile(
    r"(?:(?:c10::)?SmallVector<int64_t, (?:op_infer::)?\w+>)?\s*\{(?P<sizes>[^{}]*)\}"
)
EMPTY = re.compile(r"(?:at|c10)::(?:ArrayRef<int64_t>|IntArrayRef)(?:\(\)|\{\})")
SIZES = re.compile(r"(?P<name>[A-Za-z_]\w*)\.sizes\(\)")
DTYPE_OF = re.compile(
    r"(?P<name>[A-Za-z_]\w*)\.scalar_type\(\)"
    r"|c10::typeMetaToScalarType\((?P<meta>[A-Za-z_]\w*)\.dtype\(\)\)"
)
CONSTANT = re.compile(r"(?:at|c10)::(?:k(?P<short>\w+)|ScalarType::(?P<long>\w+))")
PROMOTE = re.compile(r"at::(?:native::)?result_type\((?P<arguments>.*)\)")
VALUE_OR = re.compile(
    r"(?P<name>\w+)\.has_value\(\) \? (?P=name)\.value\(\) : (?P<rest>.+)"
    r"|(?P<other>\w+)\.value_or\((?P<value>.+)\)"
)


class Inexact(Exception):  # noqa: N818 - no error: the expression then stays C++
    """The expression has no exact translation."""


def tensors(schema: Schema) -> frozenset[str]:
    """Return the tensor arguments that are always there."""
    return frozenset(a.name for a in schema.arguments if a.type.is_tensor and not a.type.optional)


def read_size(text: str, schema: Schema) -> ShapeRule:
    """Read the size of an output."""
    plain = text.strip()
    try:
        return exact_size(plain, schema)
    except Inexact:
        return Cpp(plain)


def exact_size(text: str, schema: Schema) -> ShapeRule:
    """Read a size whose translation is exact."""
    known = tensors(schema)
    whole = SIZES.fullmatch(text)
    name = whole["name"] if whole else text
    if name in known:
        return Like(name)
    if EMPTY.fullmatch(text):
        return Dims("")
    if braces := BRACES.fullmatch(text):
        return Dims(", ".join(read_dim(part, schema) for part in split(braces["sizes"])))
    call = CALL.fullmatch(text)
    if call and call["function"] == "broadcast_ops_npu_output_size":
        return BroadcastOf(tuple(broadcast_tensors(text, known)))
    if call and call["function"] == "reduce_ops_npu_output_size":
        return read_reduced(call["arguments"], schema)
    raise Inexact


def broadcast_tensors(text: str, known: frozenset[str]) -> list[str]:
    """Return the tensors of nested broadcasts; broadcasting is associative."""
    whole = SIZES.fullmatch(text)
    name = whole["name"] if whole else text
    if name in known:
        return [name]
    call = CALL.fullmatch(text)
    if call is None or call["function"] != "broadcast_ops_npu_output_size":
        raise Inexact
    return [name for part in split(call["arguments"]) for name in broadcast_tensors(part, known)]


def read_reduced(text: str, schema: Schema) -> ReducedOf:
    """Read the arguments of a reduction."""
    parts = [part.strip() for part in re.split(r",(?![^{]*\})", text)]
    if len(parts) != 3 or parts[0] not in tensors(schema):  # noqa: PLR2004 - tensor, dims, keepdim
        raise Inexact
    tensor, dim_text, keep_text = parts
    keepdim = None if keep_text == "false" else keep_text
    argument = schema.argument(keepdim) if keepdim else None
    if keepdim and (argument is None or str(argument.type) != "bool"):
        raise Inexact
    if dim_text == f"get_dimlist_for_tensor({tensor})":
        return ReducedOf(tensor, None, keepdim)
    braced = dim_text.startswith("{")
    dim = schema.argument(dim_text.strip("{} "))
    if dim is None or not dim.type.base.is_integer or dim.type.optional:
        raise Inexact
    if dim.type.is_list == braced:
        raise Inexact
    return ReducedOf(tensor, dim.name, keepdim)


def read_dim(text: str, schema: Schema) -> str:
    """Read one size, in C++, and return it as a shape rule writes it."""
    plain = re.sub(r"\b(\d+)[lLuU]+\b", r"\1", text)
    plain = re.sub(r"\bstd::(min|max)(?:<int64_t>)?\(", r"\1(", plain)
    plain = re.sub(r"\bc10::div_floor_integer\(", "floordiv(", plain)
    plain = re.sub(r"\bstatic_cast<int64_t>\(", "(", plain)
    try:
        node = ast.parse(plain.strip(), mode="eval").body
    except SyntaxError as error:
        raise Inexact from error
    return ast.unparse(dim_node(node, schema))


def dim_node(node: ast.expr, schema: Schema) -> ast.expr:
    """Turn a C++ expression, which Python's grammar also reads, into that of a shape rule."""
    match node:
        case ast.Constant(int()) | ast.UnaryOp(ast.USub(), ast.Constant(int())):
            return node
        case ast.Name(name) if is_integer(name, schema, is_list=False):
            return node
        case ast.Subscript(ast.Name(name), ast.Constant(int())) if is_integer(
            name, schema, is_list=True
        ):
            return node
        case ast.BinOp(left, ast.Div(), right):
            return division(left, right, schema)
        case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult() as operator, right):
            return ast.BinOp(dim_node(left, schema), operator, dim_node(right, schema))
        case ast.BinOp(left, ast.Mod() as operator, right) if not has_minus(node):
            return ast.BinOp(dim_node(left, schema), operator, dim_node(right, schema))
        case ast.Call(ast.Name("min" | "max") as function, [left, right], []):
            return ast.Call(function, [dim_node(left, schema), dim_node(right, schema)], [])
        case ast.Call(ast.Name("floordiv"), [left, right], []):
            return ast.BinOp(dim_node(left, schema), ast.FloorDiv(), dim_node(right, schema))
        case ast.Call(ast.Attribute(ast.Name(name), method), arguments, []):
            return method_node(name, method, arguments, schema)
    raise Inexact


def method_node(name: str, method: str, arguments: list[ast.expr], schema: Schema) -> ast.expr:
    """Read a method of a tensor or list."""
    is_tensor = name in tensors(schema)
    match method, arguments:
        case "dim", [] if is_tensor:
            return ast.Attribute(ast.Name(name), "ndim")
        case "size", [axis] if is_tensor and re.fullmatch(r"-?\d+", ast.unparse(axis)):
            return ast.Subscript(ast.Attribute(ast.Name(name), "shape"), axis)
        case "size", [] if is_integer(name, schema, is_list=True):
            return ast.Call(ast.Name("len"), [ast.Name(name)], [])
    raise Inexact


def is_integer(name: str, schema: Schema, *, is_list: bool) -> bool:
    """Whether an argument is an int (or a list of ints) that is always there."""
    argument = schema.argument(name)
    return (
        argument is not None
        and argument.type.base.is_integer
        and argument.type.is_list == is_list
        and not argument.type.optional
    )


def has_minus(node: ast.expr) -> bool:
    """Whether a value may be negative: C++ rounds such a quotient towards zero, sizes do not."""
    return any(isinstance(part, ast.Sub | ast.USub) for part in ast.walk(node))


def division(left: ast.expr, right: ast.expr, schema: Schema) -> ast.expr:
    """Read a quotient: (a + b - 1) / b rounds up, of what is not negative it rounds down."""
    match left:
        case ast.BinOp(ast.BinOp(value, ast.Add(), divisor), ast.Sub(), ast.Constant(1)) if (
            ast.unparse(divisor) == ast.unparse(right) and not has_minus(value)
        ):
            parts = [dim_node(value, schema), dim_node(right, schema)]
            return ast.Call(ast.Name("ceildiv"), parts, [])
    if has_minus(left) or has_minus(right):
        raise Inexact
    return ast.BinOp(dim_node(left, schema), ast.FloorDiv(), dim_node(right, schema))


def read_dtype(text: str, schema: Schema) -> DtypeRule:
    """Read the dtype of an output."""
    plain = text.strip()
    known = tensors(schema)
    if plain in known:
        return SameDtype(plain)
    given = schema.argument(plain)
    if given is not None and str(given.type) == "ScalarType":
        return DtypeArgument(plain)
    if match := DTYPE_OF.fullmatch(plain):
        name = match["name"] or match["meta"]
        return SameDtype(name) if name in known else Cpp(plain)
    if match := CONSTANT.fullmatch(plain):
        dtype = BY_SCALAR_TYPE.get(match["short"] or match["long"])
        return DtypeSet((dtype,)) if dtype else Cpp(plain)
    if match := PROMOTE.fullmatch(plain):
        names = tuple(split(match["arguments"].strip("{} ")))
        return Promoted(names) if names and known.issuperset(names) else Cpp(plain)
    if match := VALUE_OR.fullmatch(plain):
        argument = schema.argument(match["name"] or match["other"])
        if argument is not None and str(argument.type) == "ScalarType?":
            rest = read_dtype(match["rest"] or match["value"], schema)
            if isinstance(rest, SameDtype | DtypeSet):
                return DtypeArgument(argument.name, rest)
    # A list of tensors stands for its first one.
    lists = [a.name for a in schema.arguments if a.type.has_tensors and a.type.is_list]
    if plain.removesuffix("[0]") in lists and plain.endswith("[0]"):
        return Cpp(f"{plain}.scalar_type()")
    return Cpp(plain)
