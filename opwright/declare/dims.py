"""Shape texts with named dimensions -> shapes as data, and the checks that the names imply.

A pattern says what axes a tensor argument has: `"*batch, N, D"`. The first tensor that has a name
binds it; where the name comes again, the sizes must be equal. The shape of an output is written
with these names: `"*batch, N, ceildiv(D, 16)"`.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, assert_never

from opwright.declare import shape
from opwright.declare.errors import RuleError, UnknownNameError
from opwright.declare.rules import BroadcastOf, Cpp, Dims, Like, ReducedOf, ShapeFunction
from opwright.declare.schema import Base, split
from opwright.errors import nearest_first

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from opwright.declare.rules import ShapeRule
    from opwright.declare.schema import Schema

__all__ = [
    "Check",
    "Comparison",
    "MemberCheck",
    "RankCheck",
    "Scope",
    "SizeCheck",
    "SpanCheck",
    "ValueCheck",
    "arguments_of_check",
    "arguments_of_size",
    "bind",
    "read_requirement",
    "resolve",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankCheck:
    """A tensor has this number of axes, or at least this number.

    Parameters
    ----------
    pattern
        The author's text, for messages.
    """

    tensor: str
    rank: int
    at_least: bool
    pattern: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeCheck:
    """An axis of a tensor has this size."""

    tensor: str
    axis: int
    size: shape.Size
    pattern: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanCheck:
    """Several axes of a tensor have the sizes of those of another one."""

    span: shape.Span
    other: shape.Span
    pattern: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueCheck:
    """A comparison of two values holds."""

    left: shape.Size
    comparison: Comparison
    right: shape.Size
    pattern: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberCheck:
    """An argument that is no tensor has one of these values; None passes if it is optional."""

    argument: str
    values: tuple[int | float | str, ...]
    pattern: str


Comparison: TypeAlias = Literal["<", "<=", ">", ">=", "==", "!="]
Check: TypeAlias = RankCheck | SizeCheck | SpanCheck | ValueCheck | MemberCheck


def arguments_of_check(check: Check) -> set[str]:
    """Return the arguments that a check is about; it holds where one of them is not given."""
    match check:
        case RankCheck(tensor=tensor):
            return {tensor}
        case SizeCheck(tensor=tensor, size=expected):
            return {tensor} | arguments_of_size(expected)
        case SpanCheck(span=span, other=other):
            return {span.tensor, other.tensor}
        case ValueCheck(left=left, right=right):
            return arguments_of_size(left) | arguments_of_size(right)
        case MemberCheck(argument=argument):
            return {argument}
        case _:
            assert_never(check)


def arguments_of_size(value: shape.Size) -> set[str]:
    """Return the arguments that a size is computed from.

    >>> sorted(arguments_of_size(shape.Binary("//", shape.Dim("x", -1), shape.Argument("k"))))
    ['k', 'x']
    """
    match value:
        case shape.Const():
            return set()
        case shape.Dim(name) | shape.Rank(name) | shape.Argument(name):
            return {name}
        case shape.Length(name) | shape.Element(name):
            return {name}
        case shape.Binary(_, left, right):
            return arguments_of_size(left) | arguments_of_size(right)
        case _:
            assert_never(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a rule may name.

    Parameters
    ----------
    schema
        The operator's schema.
    names
        Dimensions that are bound by tensors that are always there.
    ranks
        For each tensor with a pattern the number of its axes; None if it is open.
    """

    schema: Schema
    names: Mapping[str, shape.Size | shape.Span] = field(default_factory=dict)
    ranks: Mapping[str, int | None] = field(default_factory=dict)

    def known(self) -> tuple[str, ...]:
        """Return all names that a size may use."""
        numbers = (
            a.name
            for a in self.schema.arguments
            if (a.type.base.is_integer or a.type.base is Base.FLOAT) and not a.type.is_list
        )
        return tuple(sorted({*self.names, *numbers}))


def bind(
    schema: Schema, patterns: Mapping[str, Dims], *, where: str
) -> tuple[Scope, tuple[Check, ...]]:
    """Bind the names of the patterns of tensor arguments.

    Parameters
    ----------
    patterns
        By name of a tensor argument; in the order of the schema, whatever the order of the mapping.

    Returns
    -------
    scope, checks
        What later rules may name, and what has to hold for the arguments.

    Raises
    ------
    RuleError, UnknownNameError
        OPW-D004, OPW-D003.
    """
    names: dict[str, shape.Size | shape.Span] = {}
    ranks: dict[str, int | None] = {}
    checks: list[Check] = []
    # Tensors that may be absent come last: what they alone bind cannot be used by an output.
    ordered = sorted(
        (a for a in schema.arguments if a.name in patterns), key=lambda a: a.type.optional
    )
    for argument in ordered:
        pattern = patterns[argument.name]
        place = f"{where}, shape of {argument.name!r}"
        parts = split(pattern.text)
        stars = [index for index, part in enumerate(parts) if part.startswith("*")]
        if len(stars) > 1:
            raise RuleError(where=place, got=repr(pattern.text), fix="write one '*name' at most")
        ranks[argument.name] = None if stars else len(parts)
        checks.append(
            RankCheck(
                tensor=argument.name,
                rank=len(parts) - len(stars),
                at_least=bool(stars),
                pattern=pattern.text,
            )
        )
        own = dict(names) if argument.type.optional else names
        for index, part in enumerate(parts):
            after = bool(stars) and index > stars[0]
            axis = index - len(parts) if after else index
            if part.startswith("*"):
                stop = index + 1 - len(parts)
                span = shape.Span(argument.name, index, stop or None)
                checks += bind_span(own, part[1:].strip(), span, pattern.text, where=place)
            else:
                scope = Scope(schema=schema, names=own, ranks=ranks)
                checks += bind_size(
                    scope, own, part, shape.Dim(argument.name, axis), pattern.text, where=place
                )
    return Scope(schema=schema, names=names, ranks=ranks), tuple(checks)


def bind_span(
    names: dict[str, shape.Size | shape.Span],
    name: str,
    span: shape.Span,
    pattern: str,
    *,
    where: str,
) -> Iterable[Check]:
    """Bind `*name`, or check it against an earlier one."""
    if not name.isidentifier():
        raise RuleError(where=where, got=repr(f"*{name}"), fix="write a name behind '*'")
    known = names.setdefault(name, span)
    if not isinstance(known, shape.Span):
        raise RuleError(
            where=where,
            got=f"'*{name}', while {name!r} is one axis elsewhere",
            fix="use another name",
        )
    if known == span or name == "_":
        return ()
    return (SpanCheck(span=span, other=known, pattern=pattern),)


def bind_size(
    scope: Scope,
    names: dict[str, shape.Size | shape.Span],
    part: str,
    dim: shape.Dim,
    pattern: str,
    *,
    where: str,
) -> Iterable[Check]:
    """Bind a name to an axis, or check the axis against what the part says."""
    if part == "_":
        return ()
    if part.isidentifier() and part not in scope.known():
        if scope.schema.argument(part) is not None:
            raise RuleError(
                where=where,
                got=f"{part!r}, which is an argument but no int",
                allowed=scope.known(),
                fix="name the axis differently",
            )
        names[part] = dim
        return ()
    expected = read_size(part, scope, where=where)
    return (SizeCheck(tensor=dim.tensor, axis=dim.axis, size=expected, pattern=pattern),)


def resolve(rule: ShapeRule, scope: Scope, *, where: str) -> shape.Shape | ShapeFunction | Cpp:
    """Turn the shape rule of an output into data; functions and C++ stay what they are.

    Raises
    ------
    RuleError, UnknownNameError
        OPW-D004, OPW-D003.
    """
    match rule:
        case Like(tensor):
            return (shape.Span(tensor_name(tensor, scope, where=where)),)
        case BroadcastOf(tensors):
            if not tensors:
                raise RuleError(where=where, got="broadcast()", fix="name the tensors")
            whole = [(shape.Span(tensor_name(name, scope, where=where)),) for name in tensors]
            return (shape.Broadcast(tuple(whole)),)
        case ReducedOf(tensor, dim, keepdim):
            tensor_name(tensor, scope, where=where)
            for name, wanted in ((dim, "int"), (keepdim, "bool")):
                check_argument(name, wanted, scope, where=where)
            return (shape.Reduced(tensor, dim, keepdim),)
        case Dims(text):
            return tuple(read_item(part, scope, where=where) for part in split(text))
        case ShapeFunction() | Cpp():
            return rule
        case _:
            assert_never(rule)


COMPARISONS: dict[type[ast.cmpop], Comparison] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


def read_requirement(text: str, scope: Scope, *, where: str) -> tuple[Check, ...]:
    """Read what has to hold for the arguments: a comparison, a chain of them, or a membership.

    Raises
    ------
    RuleError, UnknownNameError
        OPW-D004, OPW-D003.

    Examples
    --------
    >>> from opwright.declare.schema import parse_schema
    >>> scope = Scope(schema=parse_schema("f(Tensor x, int k, str mode) -> Tensor", where=""))
    >>> len(read_requirement("0 < k <= x.shape[-1]", scope, where=""))
    2
    >>> read_requirement("mode in ('sum', 'mean')", scope, where="")[0].values
    ('sum', 'mean')
    """
    match parsed(text, where=where):
        case ast.Compare(ast.Name(name), [ast.In()], [ast.Tuple() | ast.List() as values]):
            return (member(name, values, text, scope, where=where),)
        case ast.Compare(ast.Name(name), [ast.Eq()], [ast.Constant(str()) as value]):
            return (member(name, ast.Tuple([value]), text, scope, where=where),)
        case ast.Compare(first, operators, rest) if all(type(o) in COMPARISONS for o in operators):
            sizes = [size(node, scope, where=where) for node in (first, *rest)]
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


def member(
    name: str, values: ast.Tuple | ast.List, text: str, scope: Scope, *, where: str
) -> MemberCheck:
    """Read a membership."""
    given = scope.schema.argument(name)
    plain = [a.name for a in scope.schema.arguments if a.type.base in PLAIN and not a.type.is_list]
    if given is None or name not in plain:
        raise UnknownNameError(
            where=where,
            got=repr(name),
            allowed=nearest_first(name, plain),
            fix="name an argument that is a number or a string",
        )
    literals: list[int | float | str] = []
    for element in values.elts:
        kind = given.type.base
        if not isinstance(element, ast.Constant) or not isinstance(element.value, PLAIN[kind]):
            raise RuleError(where=where, got=repr(text), fix=f"give values of type {kind.value}")
        literals.append(element.value)
    return MemberCheck(argument=name, values=tuple(literals), pattern=text)


# What a membership may be about, with the types of the values.
PLAIN: dict[Base, type[int | float | str]] = {
    Base.INT: int,
    Base.SYMINT: int,
    Base.FLOAT: float,
    Base.STR: str,
}


def tensor_name(name: str, scope: Scope, *, where: str) -> str:
    """Return a name if it is that of a tensor argument that is always there."""
    tensors = [a.name for a in scope.schema.arguments if a.type.is_tensor and not a.type.optional]
    if name not in tensors:
        argument = scope.schema.argument(name)
        absent = argument is not None and argument.type.is_tensor
        raise UnknownNameError(
            where=where,
            got=f"{name!r}, which may be None" if absent else repr(name),
            allowed=nearest_first(name, tensors),
            fix="name a tensor argument that is always there",
        )
    return name


def check_argument(name: str | None, wanted: str, scope: Scope, *, where: str) -> None:
    """Raise unless a name is None or that of an argument of the wanted type (list or not)."""
    allowed = [
        a.name
        for a in scope.schema.arguments
        if a.type.base.value == wanted or (wanted == "int" and a.type.base.is_integer)
    ]
    if name is not None and name not in allowed:
        raise UnknownNameError(
            where=where,
            got=repr(name),
            allowed=nearest_first(name, allowed),
            fix=f"name an argument of type {wanted}, or leave it out",
        )


def read_item(part: str, scope: Scope, *, where: str) -> shape.Item:
    """Read one item of an output's shape."""
    if not part.startswith("*"):
        return read_size(part, scope, where=where)
    node = parsed(part[1:], where=where)
    match node:
        case ast.Name(name):
            bound = scope.names.get(name)
            if isinstance(bound, shape.Span):
                return bound
            argument = scope.schema.argument(name)
            if argument is not None and argument.type.base.is_integer and argument.type.is_list:
                return shape.Sizes(name)
            spans = [known for known, value in scope.names.items() if isinstance(value, shape.Span)]
            lists = [
                a.name for a in scope.schema.arguments if a.type.base.is_integer and a.type.is_list
            ]
            raise UnknownNameError(
                where=where, got=repr(part), allowed=nearest_first(name, [*spans, *lists])
            )
        case ast.Attribute(ast.Name(tensor), "shape"):
            return shape.Span(tensor_name(tensor, scope, where=where))
        case ast.Subscript(ast.Attribute(ast.Name(tensor), "shape"), ast.Slice(start, stop, None)):
            return shape.Span(
                tensor_name(tensor, scope, where=where),
                0 if start is None else integer(start, where=where),
                None if stop is None else integer(stop, where=where),
            )
    raise RuleError(
        where=where,
        got=repr(part),
        allowed=("*name", "*x.shape", "*x.shape[a:b]", "*int_list"),
        fix="spread a named part, a tensor's shape or an int list",
    )


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


def named(name: str, scope: Scope, *, where: str) -> shape.Size:
    """Return what a name stands for."""
    bound = scope.names.get(name)
    if isinstance(bound, shape.Span):
        raise RuleError(
            where=where, got=f"{name!r}, which stands for several axes", fix=f"write '*{name}'"
        )
    if bound is not None:
        return bound
    if name in scope.known():
        argument = scope.schema.argument(name)
        if argument is not None and argument.type.optional:
            raise UnknownNameError(
                where=where,
                got=f"{name!r}, which may be None",
                allowed=scope.known(),
                fix="give the argument a default that is a number, or write a shape function",
            )
        return shape.Argument(name)
    raise UnknownNameError(where=where, got=repr(name), allowed=nearest_first(name, scope.known()))


def list_name(name: str, scope: Scope, *, where: str) -> str:
    """Return a name if it is that of a list argument."""
    lists = [a.name for a in scope.schema.arguments if a.type.is_list]
    argument = scope.schema.argument(name)
    if argument is None or not argument.type.is_list or argument.type.base is Base.STR:
        raise UnknownNameError(where=where, got=repr(name), allowed=nearest_first(name, lists))
    return name
