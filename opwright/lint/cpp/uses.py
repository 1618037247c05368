"""The use of a value by a C++ expression: read, write, return it, or hand it on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from opwright.lint.cpp.syntax import arguments, field, name_called, text
from opwright.lint.definitions import Call, UseKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

__all__ = [
    "PASSING",
    "POINTERS",
    "VIEWS",
    "Found",
    "classify",
    "is_aclnn",
    "is_address",
    "method",
]

# Methods whose result shares the tensor's storage, always.
VIEWS = frozenset(
    {
        *("view", "select", "slice", "narrow", "transpose", "t", "permute", "squeeze", "unsqueeze"),
        *("expand", "expand_as", "view_as", "alias", "detach", "diagonal", "unbind", "data"),
        *("flatten_view", "as_strided", "swapaxes", "movedim", "variable_data", "tensor_data"),
        *("value", "value_or", "operator*", "get", "at", "toTensor", "index"),
    }
)
# Conversions that may or may not copy: nothing is said of their results.
MAYBE_VIEWS = frozenset(
    {"reshape", "contiguous", "flatten", "to", "type_as", "ravel", "reshape_as", "cpu", "npu"}
)
POINTERS = frozenset({"data_ptr", "mutable_data_ptr", "storage", "unsafe_storage", "data_ptr_impl"})
# They end like in-place methods, but change no element.
NO_WRITES = frozenset({"requires_grad_", "retain_grad_", "rename_", "detach_", "share_memory_"})
COPIES = frozenset(
    {"memcpy", "std::memcpy", "memset", "std::memset", "memmove", "std::copy_n", "aclrtMemcpy"}
    | {"aclrtMemcpyAsync", "aclrtMemset", "aclrtMemsetAsync", "memcpy_s", "memset_s"}
)
CHECKS = (
    "TORCH_CHECK",
    "TORCH_INTERNAL_ASSERT",
    "TORCH_WARN",
    "ASCEND_LOG",
    "OPS_CHECK",
    "OP_CHECK",
)
TUPLES = ("std::make_tuple", "std::tuple", "std::tie", "std::forward_as_tuple", "std::vector")
# Calls whose result is their argument.
PASSING = frozenset(
    {
        *("static_cast", "reinterpret_cast", "const_cast"),
        *("std::move", "std::ref", "std::forward"),
    }
)

# A use of a value, with the call that gets it, and where.
Found = tuple[UseKind | None, Call | None, "Node"]


@dataclass(frozen=True, slots=True)
class Value:
    """An expression that is the value, a view of it or a pointer into it."""

    node: Node
    is_view: bool
    is_pointer: bool


def classify(node: Node, *, is_pointer: bool) -> Found:
    """Return what is done with a value, going up from it through views and casts."""
    value = Value(node, is_view=False, is_pointer=is_pointer)
    while (parent := value.node.parent) is not None:
        step = STEPS.get(parent.type, read)(value, parent)
        if not isinstance(step, Value):
            return step
        value = step
    return UseKind.OTHER, None, value.node


def read(_: Value, parent: Node) -> Found:
    """Take what is not known to do more for a read."""
    return UseKind.READ, None, parent


def move_to_parent(value: Value, parent: Node) -> Value:
    """Go on with the expression around, which is the same value."""
    return replace(value, node=parent)


def in_field(value: Value, parent: Node) -> Value | Found:
    """Classify x.member and x.method(...)."""
    call = parent.parent
    if value.node != field(parent, "argument") or call is None or call.type != "call_expression":
        return UseKind.READ, None, parent
    member = method(parent)
    if member in VIEWS:
        is_view = value.is_view or member not in {"value", "value_or", "get"}
        return replace(value, node=call, is_view=is_view)
    if member == "mutable_data_ptr":
        return UseKind.WRITE, None, call
    if member in POINTERS:
        return replace(value, node=call, is_pointer=True)
    if member in MAYBE_VIEWS or member.startswith("resize_"):
        return UseKind.OTHER, None, call
    if member.endswith("_") and not member.endswith("__") and member not in NO_WRITES:
        return (UseKind.OTHER if value.is_pointer else UseKind.WRITE), None, call
    return UseKind.READ, None, call


def in_subscript(value: Value, parent: Node) -> Value | Found:
    """Classify x[i]."""
    if value.node != field(parent, "argument"):
        return UseKind.READ, None, parent
    return element(parent) if value.is_pointer else replace(value, node=parent, is_view=True)


def in_pointer(value: Value, parent: Node) -> Value | Found:
    """Classify *x and &x."""
    if value.is_pointer and not is_address(parent):
        return element(parent)
    return move_to_parent(value, parent)


def in_binary(value: Value, parent: Node) -> Value | Found:
    """Classify x + y, where x may be a pointer."""
    if value.is_pointer and value.node == field(parent, "left"):
        return move_to_parent(value, parent)
    return UseKind.READ, None, parent


def in_conditional(value: Value, parent: Node) -> Value | Found:
    """Classify c ? x : y."""
    if value.node == field(parent, "condition"):
        return UseKind.READ, None, parent
    return move_to_parent(value, parent)


def in_arguments(value: Value, parent: Node) -> Value | Found:
    """Classify f(x)."""
    call = parent.parent
    if call is None or call.type != "call_expression":
        return UseKind.OTHER, None, parent
    name = name_called(call)
    if name in PASSING:
        return move_to_parent(value, call)
    return argument(value.node, call, name, is_pointer=value.is_pointer)


def in_return(value: Value, parent: Node) -> Found:
    """Classify return x, return {x, y}, and lists that are not returned."""
    at = parent
    while at.type == "initializer_list" and at.parent is not None:
        at = at.parent
    if at.type == "compound_literal_expression" and at.parent is not None:
        at = at.parent
    if at.type != "return_statement":
        return UseKind.OTHER, None, parent
    is_plain = not value.is_pointer and not value.is_view
    return (UseKind.RETURN if is_plain else UseKind.OTHER), None, parent


def in_assignment(value: Value, parent: Node) -> Found:
    """Classify x = y, y = x, x += y."""
    left = field(parent, "left")
    if value.node != left:
        is_named = (left or parent).type == "identifier" and value.node == field(parent, "right")
        return (None if is_named else UseKind.OTHER), None, parent
    sign = field(parent, "operator")
    if sign is not None and text(sign) != "=":
        moves = value.is_pointer and not value.is_view
        return (UseKind.OTHER if moves else UseKind.WRITE), None, parent
    return (UseKind.WRITE if value.is_view else UseKind.OTHER), None, parent


def in_update(value: Value, parent: Node) -> Found:
    """Classify x++, which moves a pointer."""
    return (UseKind.OTHER if value.is_pointer else UseKind.READ), None, parent


def ignore(_: Value, parent: Node) -> Found:
    """Say nothing of a new name for a value: the uses of the name count."""
    return None, None, parent


# By the expression or statement around a value.
STEPS: dict[str, Callable[[Value, Node], Value | Found]] = {
    "field_expression": in_field,
    "parenthesized_expression": move_to_parent,
    "cast_expression": move_to_parent,
    "subscript_expression": in_subscript,
    "pointer_expression": in_pointer,
    "binary_expression": in_binary,
    "conditional_expression": in_conditional,
    "argument_list": in_arguments,
    "return_statement": in_return,
    "initializer_list": in_return,
    "assignment_expression": in_assignment,
    "update_expression": in_update,
    "init_declarator": ignore,
    "lambda_capture_specifier": ignore,
}


def element(node: Node) -> Found:
    """Classify an element behind a pointer: stored to, or loaded."""
    parent = node.parent
    if parent is not None and parent.type == "update_expression":
        return UseKind.WRITE, None, parent
    if parent is not None and parent.type == "assignment_expression":
        is_left = node == field(parent, "left")
        return (UseKind.WRITE if is_left else UseKind.READ), None, parent
    if parent is not None and parent.type == "pointer_expression":
        return UseKind.OTHER, None, parent
    return UseKind.READ, None, node


def argument(each: Node, call: Node, name: str, *, is_pointer: bool) -> Found:
    """Classify a value that is an argument of a call."""
    given = arguments(call)
    position = next((at for at, one in enumerate(given) if one == each), -1)
    if name in COPIES:
        kind = UseKind.WRITE if position == 0 and is_pointer else UseKind.READ
        return kind, None, call
    if is_aclnn(name) and given and text(given[0]).startswith("acl"):
        found = Call(text(given[0]), position - 1, len(given) - 1, is_aclnn=True)
        return (UseKind.OTHER if is_pointer else UseKind.CALL), found, call
    if is_launch(name) and given:
        found = Call(text(given[0]), position - 2, len(given) - 2, is_launch=True)
        return UseKind.CALL, found, call
    if name.startswith(CHECKS):
        return UseKind.READ, None, call
    if name.startswith(TUPLES):
        at = call.parent
        while at is not None and at.type in {"initializer_list", "compound_literal_expression"}:
            at = at.parent
        if at is not None and at.type == "return_statement" and not is_pointer:
            return UseKind.RETURN, None, call
        return UseKind.OTHER, None, call
    scope, _, bare = name.rpartition("::")
    if scope in {"at", "torch"}:
        if bare.endswith("_out") or (bare.endswith("_") and not bare.startswith("_")):
            return (UseKind.WRITE if position == 0 else UseKind.READ), None, call
        if bare.endswith("_outf"):
            last = position == len(given) - 1
            return (UseKind.WRITE if last else UseKind.READ), None, call
        return (UseKind.READ if not is_pointer else UseKind.OTHER), None, call
    if not name or is_pointer:
        return UseKind.OTHER, None, call
    return UseKind.CALL, Call(name, position, len(given)), call


def is_address(node: Node) -> bool:
    """Return whether an expression is &x, not *x."""
    sign = field(node, "operator")
    return node.type == "pointer_expression" and sign is not None and text(sign) == "&"


def method(function: Node) -> str:
    """Return the name of the method of a field expression, without template arguments."""
    member = field(function, "field")
    if member is None:
        return ""
    if member.type in {"template_method", "dependent_field_identifier"}:
        inner = field(member, "name")
        return "" if inner is None else text(inner)
    return text(member)


def is_aclnn(name: str) -> bool:
    """Return whether a macro calls an aclnn function by its name, as EXEC_NPU_CMD does."""
    return name.startswith("EXEC_") and ("NPU" in name or "ACLNN" in name) and "KERNEL" not in name


def is_launch(name: str) -> bool:
    """Return whether a macro starts a kernel by its name: EXEC_KERNEL_CMD(kernel, blocks, ...)."""
    return name.startswith("EXEC_KERNEL")
