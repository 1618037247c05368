"""aclnn functions that sources declare: in headers by hand, and as OpDef classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.lint.cpp.functions import function_declarator, read_parameters
from opwright.lint.cpp.syntax import arguments, field, literal, text, walk
from opwright.lint.definitions import AclnnFunction, AclnnParameter

if TYPE_CHECKING:
    from tree_sitter import Node

    from opwright.lint.cpp.syntax import Source

__all__ = ["read_op_def", "read_prototype"]

SUFFIX = "GetWorkspaceSize"
# C types of attributes in the functions that CANN's generator writes for an OpDef.
ATTRIBUTES = {
    "Int": "int64_t",
    "Float": "double",
    "Bool": "bool",
    "String": "char",
    "ListInt": "aclIntArray",
    "ListFloat": "aclFloatArray",
    "ListBool": "aclBoolArray",
}


def read_prototype(node: Node, source: Source) -> AclnnFunction | None:
    """Return the aclnn function whose phase 1 a declaration or definition is."""
    declarator = function_declarator(field(node, "declarator"))
    name = None if declarator is None else field(declarator, "declarator")
    if declarator is None or name is None:
        return None
    plain = text(name)
    if not plain.startswith("aclnn") or not plain.endswith(SUFFIX):
        return None
    given = read_parameters(field(declarator, "parameters"))[:-2]
    # The functions that CANN's generator writes have const outputs too.
    const_decides = any(
        is_handle(each.type) and not each.type.startswith("const") for each in given
    )
    found = tuple(
        AclnnParameter(
            each.name,
            each.type.removeprefix("const ").strip(),
            is_written(each.name, each.type, const_decides=const_decides),
        )
        for each in given
    )
    return AclnnFunction(plain.removesuffix(SUFFIX), found, source.place(name))


def is_handle(kind: str) -> bool:
    """Return whether a C type stands for device memory."""
    return "aclTensor" in kind


def is_written(name: str, kind: str, *, const_decides: bool) -> bool | None:
    """Return whether a parameter is written, None if the prototype does not say."""
    if not is_handle(kind):
        return False
    if not kind.startswith("const") or name.endswith(("Ref", "Out")) or name == "out":
        return True
    return False if const_decides else None


def read_op_def(node: Node, source: Source) -> AclnnFunction | None:
    """Return the aclnn function that CANN makes of a class of OpDef."""
    if node.type not in {"class_specifier", "struct_specifier"}:
        return None
    name, body = field(node, "name"), field(node, "body")
    bases = [text(each) for each in node.children if each.type == "base_class_clause"]
    if name is None or body is None or not any("OpDef" in each for each in bases):
        return None
    inputs: list[str] = []
    outputs: list[str] = []
    attributes: list[AclnnParameter] = []
    for each, _ in walk(body):
        member = match_call(each)
        if member is None:
            continue
        given = arguments(each)
        port = literal(given[0]) if given else None
        if port is None:
            continue
        if member == "Attr":
            attributes.append(AclnnParameter(port, attribute_type(each), is_written=False))
        else:
            (inputs if member == "Input" else outputs).append(port)
    parameters = (
        *(AclnnParameter(each, "aclTensor", each in outputs) for each in inputs),
        *attributes,
        *(AclnnParameter(each, "aclTensor", True) for each in outputs if each not in inputs),  # noqa: FBT003
    )
    return AclnnFunction(f"aclnn{text(name)}", parameters, source.place(name), len(inputs))


def match_call(node: Node) -> str | None:
    """Return Input, Output or Attr for `this->Input(...)` and `Input(...)`."""
    if node.type != "call_expression":
        return None
    function = field(node, "function")
    if function is None:
        return None
    member = text(function)
    if function.type == "field_expression":
        owner, inner = field(function, "argument"), field(function, "field")
        if owner is None or inner is None or owner.type != "this":
            return None
        member = text(inner)
    elif function.type != "identifier":
        return None
    return member if member in {"Input", "Output", "Attr"} else None


def attribute_type(node: Node) -> str:
    """Return the C type of an attribute: that of .Int(...), .Float(...) behind Attr(...)."""
    each: Node | None = node
    while each is not None and each.type in {"call_expression", "field_expression"}:
        inner = field(each, "field")
        if inner is not None and text(inner) in ATTRIBUTES:
            return ATTRIBUTES[text(inner)]
        each = each.parent
    return ""
