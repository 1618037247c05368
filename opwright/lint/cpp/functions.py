"""C++ functions: their parameters, and what their bodies do with tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.lint.cpp.body import Body
from opwright.lint.cpp.syntax import field, select_named, text
from opwright.lint.definitions import Function, Language, Parameter

if TYPE_CHECKING:
    from tree_sitter import Node

    from opwright.lint.cpp.syntax import Source
    from opwright.lint.definitions import Guard

__all__ = ["function_declarator", "read_function", "read_lambda", "read_parameters"]

DECLARATORS = frozenset(
    {
        *("pointer_declarator", "reference_declarator", "parenthesized_declarator"),
        *("init_declarator", "array_declarator"),
    }
)


def read_function(
    node: Node, scope: tuple[str, ...], guards: tuple[Guard, ...], source: Source
) -> Function | None:
    """Return the function that a definition or declaration is; None if it is none."""
    declarator = function_declarator(field(node, "declarator"))
    if declarator is None:
        return None
    name = field(declarator, "declarator")
    if name is None or name.type not in {"identifier", "qualified_identifier", "field_identifier"}:
        return None
    plain = "".join(text(name).split())
    body = field(node, "body")
    parameters = read_parameters(field(declarator, "parameters"))
    is_definition = node.type == "function_definition" and body is not None
    read = None
    if is_definition and body is not None and any(each.is_tensor for each in parameters):
        read = Body(source, parameters).read(body)
    returned = field(node, "type")
    return Function(
        name="::".join((*scope, plain)),
        parameters=parameters,
        place=source.place(name),
        language=Language.CPP,
        is_definition=is_definition,
        returns="" if returned is None else "".join(text(returned).split()),
        guards=guards,
        **({} if read is None else read.facts()),
    )


def read_lambda(node: Node, source: Source) -> Function:
    """Return a lambda as a function without a name."""
    declarator = field(node, "declarator")
    parameters = read_parameters(None if declarator is None else field(declarator, "parameters"))
    body = field(node, "body")
    read = None if body is None else Body(source, parameters).read(body)
    return Function(
        name="",
        parameters=parameters,
        place=source.place(node),
        language=Language.CPP,
        **({} if read is None else read.facts()),
    )


def function_declarator(node: Node | None) -> Node | None:
    """Return the declarator with the parameters, below those of the returned pointer."""
    while node is not None and node.type in DECLARATORS:
        inner = field(node, "declarator")
        node = inner or next(iter(select_named(node)), None)
    return node if node is not None and node.type == "function_declarator" else None


def read_parameters(node: Node | None) -> tuple[Parameter, ...]:
    """Return the parameters of a list."""
    found = []
    for each in select_named(node):
        if each.type not in {"parameter_declaration", "optional_parameter_declaration"}:
            continue
        declarator, kind = field(each, "declarator"), field(each, "type")
        name, end = "", each.end_byte
        is_reference = False
        if declarator is not None:
            inner: Node | None = declarator
            while inner is not None and inner.type in DECLARATORS:
                is_reference = is_reference or inner.type == "reference_declarator"
                end = min(end, inner.start_byte)
                inner = field(inner, "declarator") or next(iter(select_named(inner)), None)
            is_reference = is_reference or "reference" in declarator.type
            name = text(inner) if inner is not None and inner.type == "identifier" else ""
            end = min(end, declarator.start_byte)
        default = field(each, "default_value")
        written = (each.text or b"")[: max(0, end - each.start_byte)].decode("utf-8", "replace")
        plain = " ".join(written.split()) or ("" if kind is None else text(kind))
        found.append(
            Parameter(
                name=name,
                type=plain,
                default=None if default is None else text(default),
                is_tensor="Tensor" in plain and "TensorOptions" not in plain,
                is_constant=plain.startswith("const ") or plain.endswith(" const"),
                is_reference=is_reference,
            )
        )
    return tuple(found)
