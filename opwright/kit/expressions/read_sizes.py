"""Expressions in an author's text -> sizes as data. The grammar is Python's."""

from __future__ import annotations

import ast
import math
from typing import TYPE_CHECKING

from opwright.kit.declare.errors import RuleError
from opwright.kit.declare.schema import Base
from opwright.kit.expressions import shape
from opwright.kit.expressions.scope import list_name, named, tensor_name, tensors_name

if TYPE_CHECKING:
    from opwright.kit.declare.schema import Schema
    from opwright.kit.expressions.scope import Scope

__all__ = ["MAX_INT", "integer", "is_whole", "parsed", "read_size", "size", "tensor_of"]


OPERATIONS: dict[type[ast.operator], shape.Operation] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}


# The least int64 is no literal of C++.
MAX_INT = 2**63 - 1
MAX_DEPTH = 100

FUNCTIONS: dict[str, shape.Operation] = {"min": "min", "max": "max", "ceildiv": "ceildiv"}


def read_size(text: str, scope: Scope, *, where: str) -> shape.Size:
    """Read one size of a shape, which is a whole number."""
    result = size(parsed(text, where=where), scope, where=where)
    if not is_whole(result, scope.schema):
        raise RuleError(where=where, got=repr(text), fix="compute a size from whole numbers")
    return result


def size(node: ast.expr, scope: Scope, *, where: str) -> shape.Size:
    """Turn an expression into a size."""
    match node:
        case ast.Constant(float(value)):
            if not math.isfinite(value):
                raise RuleError(where=where, got=repr(value), fix="write a finite number")
            return shape.Const(value)
        case ast.Constant():
            return shape.Const(integer(node, where=where))
        case ast.UnaryOp(ast.USub(), ast.Constant()):
            return shape.Const(integer(node, where=where))
        case ast.Name(name):
            return named(name, scope, where=where)
        case ast.BinOp(left, operator, right) if type(operator) in OPERATIONS:
            return binary(OPERATIONS[type(operator)], left, right, scope, where=where)
        case ast.Call(ast.Name("len"), [ast.Name(name)], []):
            return shape.Length(list_name(name, scope, where=where))
        case ast.Call(ast.Name(name), [left, right], []) if name in FUNCTIONS:
            return binary(FUNCTIONS[name], left, right, scope, where=where)
        case ast.Attribute(ast.Name() | ast.Subscript() as tensor, "ndim"):
            return shape.Rank(*tensor_of(tensor, scope, where=where))
        case ast.Subscript(ast.Attribute(ast.Name() | ast.Subscript() as tensor, "shape"), axis):
            name, index = tensor_of(tensor, scope, where=where)
            return shape.Dim(name, integer(axis, where=where), index)
        case ast.Subscript(ast.Name(name), index):
            return element(name, integer(index, where=where), scope, where=where)
    raise RuleError(
        where=where,
        got=repr(ast.unparse(node)),
        allowed=(
            *("numbers", "names", "+ - * // %", "min(a, b)", "max(a, b)", "ceildiv(a, b)"),
            *("x.shape[i]", "x.ndim", "len(list)", "list[i]"),
        ),
    )


def tensor_of(node: ast.expr, scope: Scope, *, where: str) -> tuple[str, int | None]:
    """Read a tensor: an argument, or an element of a list of tensors. Return name and index."""
    match node:
        case ast.Name(name):
            return tensor_name(name, scope, where=where), None
        case ast.Subscript(ast.Name(name), index):
            return tensors_name(name, scope, where=where), integer(index, where=where)
    raise RuleError(
        where=where,
        got=repr(ast.unparse(node)),
        allowed=("x", "xs[0]"),
        fix="name a tensor argument, or an element of a list of them",
    )


def element(name: str, index: int, scope: Scope, *, where: str) -> shape.Element:
    """Read an element of a list of int; that of a list of tensors is no size."""
    argument = scope.schema.argument(list_name(name, scope, where=where))
    if argument is not None and not argument.type.base.is_integer:
        fix = "take the elements of a list of int only"
        if argument.type.base is Base.TENSOR:
            text = f"{name}[{index}]"
            fix = f"write '*{text}.shape' for its shape, like({text!r}), or '{text}.shape[0]'"
        raise RuleError(where=where, got=f"'{name}[{index}]', an element of {argument}", fix=fix)
    return shape.Element(name, index)


def binary(
    operation: shape.Operation, left: ast.expr, right: ast.expr, scope: Scope, *, where: str
) -> shape.Binary:
    """Turn an operation into a size."""
    operands = size(left, scope, where=where), size(right, scope, where=where)
    if operation in {"//", "%", "ceildiv"} and operands[1] == shape.Const(0):
        got = f"a division by 0: {ast.unparse(left)} {operation} {ast.unparse(right)}"
        raise RuleError(where=where, got=got, fix="divide by another number")
    return shape.Binary(operation, *operands)


def is_whole(value: shape.Size, schema: Schema) -> bool:
    """Return whether nothing in a size is a float."""
    match value:
        case shape.Const(number):
            return isinstance(number, int)
        case shape.Argument(name):
            argument = schema.argument(name)
            return argument is not None and argument.type.base.is_integer
        case shape.Binary(_, left, right):
            return is_whole(left, schema) and is_whole(right, schema)
        case _:
            return True


def parsed(text: str, *, where: str) -> ast.expr:
    """Parse an expression with Python's grammar."""
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (RecursionError, MemoryError) as error:
        raise too_deep(text, where=where) from error
    except SyntaxError as error:
        raise RuleError(where=where, got=repr(text)) from error
    level: list[ast.AST] = [node]
    for _ in range(MAX_DEPTH):
        level = [child for each in level for child in ast.iter_child_nodes(each)]
    if level:
        raise too_deep(text, where=where)
    return node


def too_deep(text: str, *, where: str) -> RuleError:
    """Return the error for an expression that nothing could walk through."""
    return RuleError(
        where=where,
        got=f"{text[:40]!r}…, more than {MAX_DEPTH} operations in each other",
        fix="compute the size in fewer steps, or write a shape function",
    )


def integer(node: ast.expr, *, where: str) -> int:
    """Return the value of an integer literal, which may have a sign."""
    try:
        value = ast.literal_eval(node)
    except ValueError as error:
        raise RuleError(where=where, got=repr(ast.unparse(node)), fix="write a number") from error
    if not isinstance(value, int) or isinstance(value, bool):
        raise RuleError(where=where, got=repr(value), fix="write a whole number")
    if abs(value) > MAX_INT:
        raise RuleError(
            where=where, got=f"{value}, which int64 cannot hold", fix="write a lesser one"
        )
    return value
