"""Expressions in an author's text -> sizes as data. The grammar is Python's."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from opwright.declare import shape
from opwright.declare.errors import RuleError
from opwright.declare.scope import list_name, named, tensor_name

if TYPE_CHECKING:
    from opwright.declare.schema import Schema
    from opwright.declare.scope import Scope

__all__ = ["integer", "is_whole", "parsed", "read_size", "size"]


OPERATIONS: dict[type[ast.operator], shape.Operation] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}


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
            return shape.Const(value)
        case ast.Constant():
            return shape.Const(integer(node, where=where))
        case ast.UnaryOp(ast.USub(), ast.Constant()):
            return shape.Const(integer(node, where=where))
        case ast.Name(name):
            return named(name, scope, where=where)
        case ast.BinOp(left, operator, right) if type(operator) in OPERATIONS:
            return shape.Binary(
                OPERATIONS[type(operator)],
                size(left, scope, where=where),
                size(right, scope, where=where),
            )
        case ast.Call(ast.Name("len"), [ast.Name(name)], []):
            return shape.Length(list_name(name, scope, where=where))
        case ast.Call(ast.Name(name), [left, right], []) if name in FUNCTIONS:
            return shape.Binary(
                FUNCTIONS[name], size(left, scope, where=where), size(right, scope, where=where)
            )
        case ast.Attribute(ast.Name(tensor), "ndim"):
            return shape.Rank(tensor_name(tensor, scope, where=where))
        case ast.Subscript(ast.Attribute(ast.Name(tensor), "shape"), index):
            return shape.Dim(tensor_name(tensor, scope, where=where), integer(index, where=where))
        case ast.Subscript(ast.Name(name), index):
            return shape.Element(list_name(name, scope, where=where), integer(index, where=where))
    raise RuleError(
        where=where,
        got=repr(ast.unparse(node)),
        allowed=(
            *("numbers", "names", "+ - * // %", "min(a, b)", "max(a, b)", "ceildiv(a, b)"),
            *("x.shape[i]", "x.ndim", "len(list)", "list[i]"),
        ),
    )


def is_whole(value: shape.Size, schema: Schema) -> bool:
    """Tell whether nothing in a size is a float."""
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
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise RuleError(where=where, got=repr(text)) from error


def integer(node: ast.expr, *, where: str) -> int:
    """Return the value of an integer literal, which may have a sign."""
    try:
        value = ast.literal_eval(node)
    except ValueError as error:
        raise RuleError(where=where, got=repr(ast.unparse(node)), fix="write a number") from error
    if not isinstance(value, int):
        raise RuleError(where=where, got=repr(value), fix="write a whole number")
    return value
