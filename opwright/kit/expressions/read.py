"""An author's texts -> sizes, shapes and conditions as data. The grammar is Python's.

The shape of an output is written with the names that patterns bind: `"*batch, N, ceildiv(D, 16)"`.
The fields `requires` and `unspecified` are comparisons, memberships and flags.
"""

from __future__ import annotations

import ast
import dataclasses
import math
from typing import TYPE_CHECKING

from typing_extensions import assert_never

from opwright.kit.declare.errors import RuleError, UnknownNameError
from opwright.kit.declare.rules import (
    BroadcastOf,
    Cpp,
    Dims,
    EachOf,
    Like,
    ReducedOf,
    ShapeFunction,
)
from opwright.kit.declare.schema import Base
from opwright.kit.declare.schema_text import split
from opwright.kit.declare.texts import check_value
from opwright.kit.expressions import shape
from opwright.kit.expressions.conditions import Flag, MemberCheck, ValueCheck

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeGuard

    from opwright.kit.declare.rules import ShapeRule
    from opwright.kit.declare.schema import ValueType
    from opwright.kit.expressions.conditions import Check, Comparison, Condition
    from opwright.kit.expressions.scope import Scope

__all__ = [
    "read_condition",
    "read_requirement",
    "read_size",
    "resolve",
    "resolve_list",
    "size_names",
]

OPERATIONS: dict[type[ast.operator], shape.Operation] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
FUNCTIONS: dict[str, shape.Operation] = {"min": "min", "max": "max", "ceildiv": "ceildiv"}
COMPARISONS: dict[type[ast.cmpop], Comparison] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}

# The least int64 is no literal of C++.
MAX_INT = 2**63 - 1
MAX_DEPTH = 100

# Types that a membership may be about, with the types of the values.
PLAIN: dict[Base, type[int | float | str]] = {
    Base.INT: int,
    Base.SYMINT: int,
    Base.FLOAT: float,
    Base.STR: str,
}
# Types that hold the numbers in C++.
HOLDERS: dict[type[int | float | str], str] = {int: "int64", float: "double"}


# Python's grammar, and literals.


def parse(text: str, *, where: str) -> ast.expr:
    """Parse an expression with Python's grammar."""
    too_deep = RuleError(
        where=where,
        got=f"{text[:40]!r}…, more than {MAX_DEPTH} operations in each other",
        fix="compute the size in fewer steps, or write a shape function",
    )
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (RecursionError, MemoryError) as error:
        raise too_deep from error
    except SyntaxError as error:
        raise RuleError(where=where, got=repr(text)) from error
    level: list[ast.AST] = [node]
    for _ in range(MAX_DEPTH):
        level = [child for each in level for child in ast.iter_child_nodes(each)]
    if level:
        raise too_deep
    return node


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


# Names.


def select(scope: Scope, is_wanted: Callable[[ValueType], bool]) -> list[str]:
    """Return the arguments whose types are wanted."""
    return [name for name, argument in scope.arguments.items() if is_wanted(argument.type)]


def size_names(scope: Scope) -> list[str]:
    """Return all names that a size may use."""
    numbers = select(scope, lambda t: (t.base.is_integer or t.base is Base.FLOAT) and not t.is_list)
    return sorted({*scope.names, *numbers})


def one_of(
    name: str,
    allowed: Iterable[str],
    *,
    where: str,
    got: str | None = None,
    fix: str | None = None,
) -> str:
    """Return a name if it is allowed."""
    if name not in allowed:
        raise UnknownNameError(
            where=where, got=got or repr(name), allowed=allowed, near=name, fix=fix
        )
    return name


def named_size(name: str, scope: Scope, *, where: str) -> shape.Size:
    """Return what a name stands for in a size."""
    bound = scope.names.get(name)
    if isinstance(bound, shape.Span):
        got = f"{name!r}, which stands for several axes"
        raise RuleError(where=where, got=got, fix=f"write '*{name}'")
    if bound is not None:
        return bound
    allowed = size_names(scope)
    if scope.arguments[one_of(name, allowed, where=where)].type.optional:
        raise UnknownNameError(
            where=where,
            got=f"{name!r}, which may be None",
            allowed=allowed,
            fix="give the argument a default that is a number, or write a shape function",
        )
    return shape.Argument(name)


def list_name(name: str, scope: Scope, *, where: str) -> str:
    """Return a name if it is that of a list argument."""
    lists = select(scope, lambda t: t.is_list and t.base is not Base.STR)
    return one_of(name, lists, where=where)


def index_of(node: ast.expr, scope: Scope, *, where: str) -> shape.Index:
    """Read the index of an element: a number, or the place in a list of results."""
    if scope.is_list and isinstance(node, ast.Name) and node.id == "i":
        return "i"
    return integer(node, where=where)


def tensor_of(node: ast.expr, scope: Scope, *, where: str) -> tuple[str, shape.Index | None]:
    """Read a tensor: an argument, or an element of a list of tensors. Return name and index."""
    match node:
        case ast.Name(name):
            tensors = select(scope, lambda t: t.is_tensor and not t.optional)
            absent = name in select(scope, lambda t: t.is_tensor and t.optional)
            got = f"{name!r}, which may be None" if absent else None
            fix = "name a tensor argument that is always there"
            return one_of(name, tensors, where=where, got=got, fix=fix), None
        case ast.Subscript(ast.Name(name), index):
            lists = select(
                scope,
                lambda t: t.has_tensors and t.is_list and not (t.optional or t.optional_elements),
            )
            got = f"an element of {name!r}"
            fix = "name a list of tensors that are always there (Tensor[])"
            listed = one_of(name, lists, where=where, got=got, fix=fix)
            return listed, index_of(index, scope, where=where)
    raise RuleError(
        where=where,
        got=repr(ast.unparse(node)),
        allowed=("x", "xs[0]"),
        fix="name a tensor argument, or an element of a list of them",
    )


# Sizes.


def read_size(text: str, scope: Scope, *, where: str) -> shape.Size:
    """Read one size of a shape, which is a whole number.

    Raises
    ------
    RuleError, UnknownNameError
        OPW-D004, OPW-D003.
    """
    result = size(parse(text, where=where), scope, where=where)
    if not is_whole(result, scope):
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
        case ast.UnaryOp(ast.USub(), operand):
            return negative(size(operand, scope, where=where))
        case ast.Name(name):
            return named_size(name, scope, where=where)
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
            return element(name, index_of(index, scope, where=where), scope, where=where)
    raise RuleError(
        where=where,
        got=repr(ast.unparse(node)),
        allowed=(
            *("numbers", "names", "-a", "+ - * // %"),
            *("min(a, b)", "max(a, b)", "ceildiv(a, b)"),
            *("x.shape[i]", "x.ndim", "len(list)", "list[i]"),
        ),
    )


def negative(value: shape.Size) -> shape.Size:
    """Return a size with the other sign.

    >>> negative(shape.Const(2)), negative(shape.Argument("k"))
    (Const(value=-2), Binary(operation='-', left=Const(value=0), right=Argument(name='k')))
    """
    if isinstance(value, shape.Const):
        return shape.Const(-value.value)
    return shape.Binary("-", shape.Const(0), value)


def element(name: str, index: shape.Index, scope: Scope, *, where: str) -> shape.Element:
    """Read an element of a list of int; that of a list of tensors is no size."""
    argument = scope.arguments[list_name(name, scope, where=where)]
    if not argument.type.base.is_integer:
        fix = "take the elements of a list of int only"
        if argument.type.has_tensors:
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


def is_whole(value: shape.Size, scope: Scope) -> bool:
    """Return whether nothing in a size is a float."""
    match value:
        case shape.Const(number):
            return isinstance(number, int)
        case shape.Argument(name):
            return scope.arguments[name].type.base.is_integer
        case shape.Binary(_, left, right):
            return is_whole(left, scope) and is_whole(right, scope)
        case _:
            return True


# Shapes of outputs.


def resolve(rule: ShapeRule, scope: Scope, *, where: str) -> shape.Shape | ShapeFunction | Cpp:
    """Turn the shape rule of an output into data; functions and C++ stay what they are.

    Raises
    ------
    RuleError, UnknownNameError
        OPW-D004, OPW-D003.
    """
    match rule:
        case Like(tensor):
            return (whole(tensor, scope, where=where),)
        case BroadcastOf(tensors):
            if not tensors:
                raise RuleError(where=where, got="broadcast()", fix="name the tensors")
            return (shape.Broadcast(tuple((whole(t, scope, where=where),) for t in tensors)),)
        case ReducedOf(tensor, dim, keepdim):
            of = whole(tensor, scope, where=where)
            check_option(dim, "int", select(scope, lambda t: t.base.is_integer), where=where)
            check_option(keepdim, "bool", select(scope, lambda t: t.base is Base.BOOL), where=where)
            return (shape.Reduced(of.tensor, dim, keepdim, of.index),)
        case Dims(text):
            return tuple(read_item(part, scope, where=where) for part in split(text))
        case EachOf():
            fix = "write the shape of one tensor; each() is for a list of results: Tensor[]"
            raise RuleError(where=where, got=f"each({rule.count!r}, ...)", fix=fix)
        case ShapeFunction() | Cpp():
            return rule
        case _:
            assert_never(rule)


def resolve_list(rule: ShapeRule, scope: Scope, *, where: str) -> tuple[shape.Size, shape.Shape]:
    """Turn the shape rule of a list of results into data: their number, and the shape of each.

    Raises
    ------
    RuleError, UnknownNameError
        OPW-D004, OPW-D003.
    """
    lists = select(scope, lambda t: t.has_tensors and t.is_list)
    if isinstance(rule, Like) and rule.tensor in lists:
        rule = EachOf(f"len({rule.tensor})", Like(f"{rule.tensor}[i]"))
    if not isinstance(rule, EachOf):
        raise RuleError(
            where=where,
            got="a rule that does not say how many tensors there are",
            allowed=('each("n", "N, D")', 'each("len(sizes)", "sizes[i], D")', 'like("xs")'),
            fix="say how many tensors there are, and the shape of each",
        )
    if "i" in scope.arguments:
        fix = "rename the argument: in each(), i is a place in the list of results"
        raise RuleError(where=where, got="an argument 'i'", fix=fix)
    count = read_size(rule.count, scope, where=where)
    found = resolve(rule.shape, dataclasses.replace(scope, is_list=True), where=where)
    assert isinstance(found, tuple), "EachOf has no function and no C++"
    return count, found


def whole(tensor: str, scope: Scope, *, where: str) -> shape.Span:
    """Return all axes of a tensor: an argument (`x`), or an element of a list (`xs[0]`)."""
    name, index = tensor_of(parse(tensor, where=where), scope, where=where)
    return shape.Span(name, index=index)


def check_option(name: str | None, kind: str, allowed: list[str], *, where: str) -> None:
    """Raise unless a name is None or that of an argument of the wanted type (list or not)."""
    if name is not None:
        one_of(name, allowed, where=where, fix=f"name an argument of type {kind}, or leave it out")


def read_item(part: str, scope: Scope, *, where: str) -> shape.Item:
    """Read one item of an output's shape."""
    if not part.startswith("*"):
        return read_size(part, scope, where=where)
    match parse(part[1:], where=where):
        case ast.Name(name):
            bound = scope.names.get(name)
            if isinstance(bound, shape.Span):
                return bound
            spans = [n for n, value in scope.names.items() if isinstance(value, shape.Span)]
            lists = select(scope, lambda t: t.base.is_integer and t.is_list)
            return shape.Sizes(one_of(name, [*spans, *lists], where=where, got=repr(part)))
        case ast.Attribute(ast.Name() | ast.Subscript() as tensor, "shape"):
            name, index = tensor_of(tensor, scope, where=where)
            return shape.Span(name, index=index)
        case ast.Subscript(
            ast.Attribute(ast.Name() | ast.Subscript() as tensor, "shape"),
            ast.Slice(start, stop, None),
        ):
            name, index = tensor_of(tensor, scope, where=where)
            first = 0 if start is None else integer(start, where=where)
            last = None if stop is None else integer(stop, where=where)
            return shape.Span(name, first, last, index)
    raise RuleError(
        where=where,
        got=repr(part),
        allowed=("*name", "*x.shape", "*x.shape[a:b]", "*int_list"),
        fix="spread a named part, a tensor's shape or an int list",
    )


# Conditions.


def read_requirement(text: str, scope: Scope, *, where: str) -> tuple[Check, ...]:
    """Read what has to hold for the arguments: a comparison, a chain of them, or a membership.

    Raises
    ------
    RuleError, UnknownNameError
        OPW-D004, OPW-D003.

    Examples
    --------
    >>> from opwright.kit.declare.schema_text import parse_schema
    >>> from opwright.kit.expressions.scope import Scope
    >>> schema = parse_schema("f(Tensor x, int k, str mode) -> Tensor", where="")
    >>> scope = Scope(arguments={a.name: a for a in schema.arguments})
    >>> len(read_requirement("0 < k <= x.shape[-1]", scope, where=""))
    2
    >>> read_requirement("mode in ('sum', 'mean')", scope, where="")[0].values
    ('sum', 'mean')
    """
    match parse(text, where=where):
        case ast.Compare(ast.Name(name), [ast.In()], [ast.Tuple(values) | ast.List(values)]):
            return (member(name, values, text, scope, where=where),)
        case ast.Compare(ast.Name(name), [ast.Eq()], [ast.Constant(str()) as value]):
            return (member(name, [value], text, scope, where=where),)
        case ast.Compare(first, operators, rest) if all(type(o) in COMPARISONS for o in operators):
            sizes = [size(node, scope, where=where) for node in (first, *rest)]
            for operand in sizes:
                check_operations(operand, scope, text, where=where)
            pairs = zip(sizes, operators, sizes[1:], strict=False)
            return tuple(
                ValueCheck(left=left, comparison=COMPARISONS[type(o)], right=right, pattern=text)
                for left, o, right in pairs
            )
    raise RuleError(
        where=where,
        got=repr(text),
        allowed=("0 < k <= N", "k % 8 == 0", "mode in ('sum', 'mean')"),
        fix="compare sizes and numbers, or give the values that an argument may have",
    )


def read_condition(text: str, scope: Scope, *, where: str) -> tuple[Condition, ...]:
    """Read when something is so: a bool, `not` and one, or what a requirement may be.

    Raises
    ------
    RuleError, UnknownNameError
        OPW-D004, OPW-D003.

    Examples
    --------
    >>> from opwright.kit.declare.schema_text import parse_schema
    >>> from opwright.kit.expressions.scope import Scope
    >>> schema = parse_schema("f(Tensor x, bool[2] mask) -> Tensor", where="")
    >>> scope = Scope(arguments={a.name: a for a in schema.arguments})
    >>> read_condition("not mask[0]", scope, where="")
    (Flag(argument='mask', wanted=False, index=0),)
    """
    match parse(text, where=where):
        case ast.Compare():
            return read_requirement(text, scope, where=where)
        case ast.UnaryOp(ast.Not(), operand):
            wanted, node = False, operand
        case node:
            wanted = True
    match node:
        case ast.Name(name):
            index = None
        case ast.Subscript(ast.Name(name), at):
            index = integer(at, where=where)
        case _:
            raise RuleError(
                where=where,
                got=repr(text),
                allowed=(
                    "training",
                    "not training",
                    "mask[0]",
                    "k == 0",
                    "mode in ('sum', 'mean')",
                ),
                fix="name a bool argument, with 'not' if you like, or compare sizes and numbers",
            )
    flags = select(
        scope,
        lambda t: t.base is Base.BOOL and t.is_list == (index is not None) and not t.optional,
    )
    fix = "name a bool argument that is never None, or compare numbers"
    one_of(name, flags, where=where, got=repr(text), fix=fix)
    return (Flag(argument=name, wanted=wanted, index=index),)


def check_operations(value: shape.Size, scope: Scope, text: str, *, where: str) -> None:
    """Raise if an operation of whole numbers has a float as operand."""
    if not isinstance(value, shape.Binary):
        return
    for operand in (value.left, value.right):
        if value.operation not in {"+", "-", "*"} and not is_whole(operand, scope):
            raise RuleError(
                where=where,
                got=f"{value.operation!r} of floats in {text!r}",
                allowed=("+", "-", "*"),
                fix="use these with floats, the others with whole numbers only",
            )
        check_operations(operand, scope, text, where=where)


def member(
    name: str, values: list[ast.expr], text: str, scope: Scope, *, where: str
) -> MemberCheck:
    """Read a membership."""
    plain = select(scope, lambda t: t.base in PLAIN and not t.is_list)
    fix = "name an argument that is a number or a string"
    base = scope.arguments[one_of(name, plain, where=where, fix=fix)].type.base
    literals: list[int | float | str] = []
    for each in values:
        value = literal(each)
        if not is_value(value, PLAIN[base]):
            held = "" if base is Base.STR else f" that {HOLDERS[PLAIN[base]]} holds"
            raise RuleError(
                where=where, got=repr(text), fix=f"give values of type {base.value}{held}"
            )
        if isinstance(value, str):
            check_value(value, where=where)
        literals.append(value)
    return MemberCheck(argument=name, values=tuple(literals), pattern=text)


def literal(node: ast.expr) -> object:
    """Return the value of a literal, which may have a sign; None for anything else."""
    match node:
        case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as value)):
            return None if isinstance(value, bool) else -value
        case ast.Constant(value):
            return value
    return None


def is_value(value: object, kind: type[int | float | str]) -> TypeGuard[int | float | str]:
    """Return whether a literal is of a type, and C++ can hold it."""
    if not isinstance(value, kind) or isinstance(value, bool):
        return False
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, str) or abs(value) <= MAX_INT
