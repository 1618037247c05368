"""Shape and dtype rules as C++ expressions, for sizes that may be symbolic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from typing_extensions import assert_never

from opwright.aclnn.scan import quote
from opwright.kit.declare.dtypes import SCALAR_TYPES
from opwright.kit.declare.reserved import safe
from opwright.kit.declare.rules import (
    Cpp,
    DtypeArgument,
    DtypeSet,
    Promoted,
    SameDtype,
    ShapeFunction,
)
from opwright.kit.declare.schema import Base
from opwright.kit.expressions.errors import CppRuleError
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
)

if TYPE_CHECKING:
    from opwright.kit.declare.rules import DtypeRule
    from opwright.kit.declare.schema import Argument as SchemaArgument
    from opwright.kit.declare.schema import Schema
    from opwright.kit.expressions.shape import Index, Item, Shape, Size

__all__ = ["Scope", "Value", "count", "dtype", "shape", "size", "span", "tensor_member"]


@dataclass(frozen=True, slots=True)
class Scope:
    """Names for rules, and whether sizes may be symbolic: c10::SymInt instead of int64_t."""

    schema: Schema
    symbolic: bool = True

    def argument(self, name: str) -> SchemaArgument | None:
        """Return the argument of this name, if there is one."""
        return self.schema.argument(name)

    def is_symbolic(self, name: str) -> bool:
        """Return whether the integers of an argument may be symbolic."""
        argument = self.argument(name)
        return self.symbolic and argument is not None and argument.type.base is Base.SYMINT

    @property
    def dtypes(self) -> str:
        """The enumeration of dtypes."""
        return "at::ScalarType" if self.symbolic else "ScalarType"


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


def tensor_member(scope: Scope, name: str) -> str:
    """Return a tensor argument up to the name of a member: `x.` or `mask->`."""
    argument = scope.argument(name)
    return f"{safe(name)}{'->' if argument is not None and argument.type.optional else '.'}"


def of_tensor(scope: Scope, part: Dim | Rank | Span | Reduced) -> str:
    """Return the tensor that something is of up to the name of a member."""
    if part.index is None:
        return tensor_member(scope, part.tensor)
    return f"{tensor_at(part.tensor, part.index)}."


def value_of(scope: Scope, part: Dim | Rank | Span | Reduced) -> str:
    """Return the tensor that something is of."""
    if part.index is None:
        return tensor_value(scope, part.tensor)
    return tensor_at(part.tensor, part.index)


def tensor_at(name: str, index: Index) -> str:
    """Return a tensor of a list; a negative index counts from the end."""
    return f"tensor_at({safe(name)}, {index}, {quote(name)})"


def tensor_value(scope: Scope, name: str) -> str:
    """Return a tensor argument that is given."""
    argument = scope.argument(name)
    return f"{'*' if argument is not None and argument.type.optional else ''}{safe(name)}"


def all_sizes(scope: Scope, part: Span | Reduced) -> str:
    """Return the sizes of a tensor; the stable ABI's are copied, as numbers."""
    if not scope.symbolic:
        return f"sizes_of({value_of(scope, part)})"
    return f"{of_tensor(scope, part)}sym_sizes()"


def list_value(scope: Scope, name: str) -> str:
    """Return a list argument as an operand."""
    argument = scope.argument(name)
    optional = argument is not None and argument.type.optional
    return f"(*{safe(name)})" if optional else safe(name)


def size(rule: Size, scope: Scope) -> Value:
    """Return one size."""
    match rule:
        case Const(value):
            return Value(str(value), "int")
        case Dim(axis=axis):
            if not scope.symbolic:
                return Value(f"size_of({value_of(scope, rule)}, {axis})", "int")
            return Value(f"{of_tensor(scope, rule)}sym_size({axis})", "size")
        case Rank():
            return Value(f"{of_tensor(scope, rule)}dim()", "int")
        case Argument(name):
            return argument_value(scope, name)
        case Length(name):
            return Value(f"static_cast<int64_t>({list_value(scope, name)}.size())", "int")
        case Element(name, index):
            return element(scope, name, index)
        case Binary(operation, left, right):
            operands = size(left, scope), size(right, scope)
            return binary(operation, *operands, symbolic=scope.symbolic)
        case _:
            assert_never(rule)


def count(rule: Size, scope: Scope) -> str:
    """Return the number of tensors of a list: an int64_t."""
    value = size(rule, scope)
    if value.kind == "size":
        return f"{value.operand}.guard_int(__FILE__, __LINE__)"
    return value.operand


def argument_value(scope: Scope, name: str) -> Value:
    """Return the value of a number that is an argument."""
    argument = scope.argument(name)
    if scope.is_symbolic(name):
        return Value(safe(name), "size")
    is_float = argument is not None and argument.type.base is Base.FLOAT
    return Value(safe(name), "float" if is_float else "int")


def element(scope: Scope, name: str, index: Index) -> Value:
    """Return an element of a list; a negative index counts from the end."""
    text = f"element({list_value(scope, name)}, {index}, {quote(name)})"
    return Value(text, "size" if scope.is_symbolic(name) else "int")


def binary(operation: str, left: Value, right: Value, *, symbolic: bool) -> Value:
    """Return an operation; C++ has none of its own that divides as Python does."""
    if "float" in {left.kind, right.kind}:
        return Value(f"{left.operand} {operation} {right.operand}", "float", compound=True)
    if operation == "-" and left.text == "0":
        return Value(f"-{right.operand}", right.kind, compound=True)
    known = left.kind == right.kind == "int"
    match operation:
        case "+" | "-" | "*" if known:
            return Value(f"{left.operand} {operation} {right.operand}", "int", compound=True)
        case "+" | "-" | "*":
            return Value(f"{left.as_size} {operation} {right.operand}", "size", compound=True)
        case "min" | "max" if known:
            return Value(f"std::{operation}<int64_t>({left.text}, {right.text})", "int")
        case "min" | "max":
            return Value(f"{left.as_size}.{operation}({right.text})", "size")
        case _:
            return Value(
                f"{DIVISIONS[operation]}({left.text}, {right.text})", "size" if symbolic else "int"
            )


# Functions of the emitted header.
DIVISIONS = {"//": "floor_divide", "ceildiv": "ceil_divide", "%": "modulo"}


def span(rule: Span, scope: Scope) -> str:
    """Return some sizes of a tensor, as c10::SymIntArrayRef."""
    sizes = all_sizes(scope, rule)
    if rule.start == 0 and rule.stop is None:
        return sizes
    stop = "" if rule.stop is None else f", {rule.stop}"
    return f"part({sizes}, {rule.start}{stop})"


def shape(rule: Shape | ShapeFunction | Cpp | None, scope: Scope, *, where: str) -> str:
    """Return the sizes of an output, as what initializes a c10::SymIntArrayRef.

    Raises
    ------
    CppRuleError
        OPW-E102.
    """
    if isinstance(rule, Cpp):
        if not scope.symbolic:
            raise CppRuleError(
                where=where, got="a rule in C++, which is for c10::SymInt", fix="write it as text"
            )
        return f"c10::SymDimVector({rule.text})"
    if rule is None or isinstance(rule, ShapeFunction):
        got = (
            "a Python function that branches on sizes, loops over tensors, or uses a list of "
            "numbers, a float or what may be None"
        )
        raise CppRuleError(where=where, got=got)
    if all(not isinstance(item, Span | Sizes | Broadcast | Reduced) for item in rule):
        return f"{{{', '.join(item_sizes(rule, scope))}}}"
    if len(rule) == 1:
        return several(rule[0], scope)
    return f"join({{{', '.join(parts(rule, scope))}}})"


def item_sizes(rule: Shape, scope: Scope) -> list[str]:
    """Return the sizes of items that are one size each."""
    return [
        size(item, scope).text
        for item in rule
        if not isinstance(item, Span | Sizes | Broadcast | Reduced)
    ]


def is_several(item: Item) -> bool:
    """Return whether an item stands for several sizes."""
    return isinstance(item, Span | Sizes | Broadcast | Reduced)


def parts(rule: Shape, scope: Scope) -> list[str]:
    """Return the parts of a shape: runs of single sizes, and what stands for several."""
    result: list[str] = []
    run: list[Item] = []
    for item in rule:
        if is_several(item):
            if run:
                result.append(f"{{{', '.join(item_sizes(tuple(run), scope))}}}")
                run = []
            result.append(several(item, scope))
        else:
            run.append(item)
    if run:
        result.append(f"{{{', '.join(item_sizes(tuple(run), scope))}}}")
    return result


def several(item: Item, scope: Scope) -> str:
    """Return what stands for several sizes."""
    match item:
        case Span():
            return span(item, scope)
        case Sizes(name):
            values = list_value(scope, name)
            needs_none = not scope.symbolic or scope.is_symbolic(name)
            return values if needs_none else f"c10::fromIntArrayRefSlow({values})"
        case Broadcast(shapes):
            each = [", ".join(parts(one, scope)) for one in shapes]
            return f"broadcast({{{', '.join(each)}}})"
        case Reduced(dims=dims, keepdim=keepdim):
            keep = safe(keepdim) if keepdim else "false"
            sizes = all_sizes(scope, item)
            return f"reduced({sizes}, {reduced_axes(scope, dims)}, {keep})"
        case _:
            return f"{{{size(item, scope).text}}}"


def reduced_axes(scope: Scope, dims: str | None) -> str:
    """Return the axes of a reduction as at::OptionalIntArrayRef."""
    if dims is None:
        return "std::nullopt"
    argument = scope.argument(dims)
    if not scope.symbolic and argument is not None and not argument.type.is_list:
        name = safe(dims)
        if not argument.type.optional:
            return f"Sizes{{{name}}}"
        return f"{name}.has_value() ? std::optional<Sizes>({{*{name}}}) : std::nullopt"
    if argument is not None and not argument.type.is_list and argument.type.optional:
        return f"{safe(dims)}.has_value() ? at::OptionalIntArrayRef(*{safe(dims)}) : std::nullopt"
    return safe(dims)


def dtype(rule: DtypeRule | None, scope: Scope, *, where: str) -> str:
    """Return the dtype of an output.

    Raises
    ------
    CppRuleError
        OPW-E102.
    """
    match rule:
        case DtypeSet(names):
            return f"{scope.dtypes}::{SCALAR_TYPES[names[0]]}"
        case SameDtype(tensor, True):
            return f"{tensor_at(tensor, 'i')}.scalar_type()"
        case SameDtype(tensor):
            return dtype_like(scope, tensor)
        case Promoted(tensors):
            if not scope.symbolic:
                raise CppRuleError(
                    where=where,
                    got="type promotion, which the stable ABI does not have",
                    fix="name the argument whose dtype the output has",
                )
            return f"at::native::result_type({{{', '.join(safe(name) for name in tensors)}}})"
        case DtypeArgument(name, otherwise):
            argument = scope.argument(name)
            if argument is not None and not argument.type.optional:
                return safe(name)
            return f"{safe(name)}.value_or({dtype(otherwise, scope, where=where)})"
        case Cpp(text):
            return text
        case None:
            raise CppRuleError(
                where=where, got="no dtype", fix="say what dtype the output has, in dtypes={...}"
            )
        case _:
            assert_never(rule)


def dtype_like(scope: Scope, name: str) -> str:
    """Return the dtype of a tensor argument, or of the first tensor of a list."""
    argument = scope.argument(name)
    if argument is not None and argument.type.is_list:
        return f"{tensor_at(name, 0)}.scalar_type()"
    return f"{tensor_member(scope, name)}scalar_type()"
