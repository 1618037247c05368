"""TORCH_LIBRARY blocks: what they define and implement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.lint.cpp.functions import read_lambda
from opwright.lint.cpp.syntax import (
    arguments,
    field,
    literal,
    name_called,
    name_of,
    select_named,
    text,
    unwrap,
    walk,
)
from opwright.lint.definitions import Definition, Implementation, Kernel, Language, Open
from opwright.lint.schema import ForeignSchema, SchemaProblem, read_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from opwright.lint.cpp.syntax import Source
    from opwright.lint.definitions import Guard

__all__ = ["Block", "is_block", "read_block"]

KEYS = {
    "kCPU": "CPU",
    "kCUDA": "CUDA",
    "kPrivateUse1": "PrivateUse1",
    "kMeta": "Meta",
    "kXPU": "XPU",
    "kHPU": "HPU",
    "kMPS": "MPS",
    "kCatchAll": None,
}
MEMBERS = frozenset({"def", "impl", "def_unboxed", "impl_unboxed"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The head of a block: TORCH_LIBRARY_IMPL(namespace, key, module)."""

    namespace: str
    key: str | None
    module: str
    is_definition: bool
    body: Node
    node: Node
    guards: tuple[Guard, ...]


def is_block(node: Node, guards: tuple[Guard, ...]) -> Block | None:
    """Return the block that a node is, or None."""
    if node.type != "function_definition":
        return None
    declarator, body = field(node, "declarator"), field(node, "body")
    if declarator is None or body is None or declarator.type != "function_declarator":
        return None
    macro = field(declarator, "declarator")
    if macro is None or "TORCH_LIBRARY" not in text(macro):
        return None
    given = [join(each) for each in select_named(field(declarator, "parameters"))]
    name = text(macro)
    is_impl = "_IMPL" in name
    if len(given) != (3 if is_impl else 2):
        return None
    return Block(
        namespace=given[0],
        key=given[1] if is_impl else None,
        module=given[-1],
        is_definition="_FRAGMENT" not in name and not is_impl,
        body=body,
        node=node,
        guards=guards,
    )


def join(node: Node) -> str:
    """Return a macro's argument; CONCAT(_C, _ascend) is what it makes, _C_ascend."""
    plain = "".join(text(node).split())
    head, bracket, rest = plain.partition("(")
    if bracket and "concat" in head.lower() and rest.endswith(")"):
        return rest[:-1].replace(",", "")
    return plain


def read_block(block: Block, source: Source) -> Iterator[Definition | Implementation | Open]:
    """Yield what a block registers."""
    for node, guards in walk(block.body, block.guards):
        if node.type != "call_expression":
            continue
        function = field(node, "function")
        if function is not None and is_member(function, block.module):
            member = text(field(function, "field") or function)
            given = arguments(node)
            if member.startswith("def") and given:
                yield from read_def(block, node, given, guards, source)
            elif member.startswith("impl") and given:
                yield read_impl(block, node, given, guards, source)
        elif any(text(each) == block.module for each in arguments(node)):
            yield Open(
                namespace=block.namespace,
                place=source.place(node),
                what=f"{name_called(node)}(...)",
            )


def is_member(function: Node, module: str) -> bool:
    """Return whether a call is m.def or m.impl."""
    if function.type != "field_expression":
        return False
    owner, member = field(function, "argument"), field(function, "field")
    return (
        owner is not None
        and member is not None
        and text(owner) == module
        and text(member) in MEMBERS
    )


def split_schema(
    written: str,
) -> tuple[str | None, str, str, ForeignSchema | None, str | None]:
    """Return namespace, name, overload, the schema or None, and what is wrong with it."""
    plain = " ".join(written.split())
    try:
        schema = read_schema(plain)
    except SchemaProblem as problem:
        head = plain.partition("(")[0].strip()
        namespace, sign, name = head.rpartition("::")
        name, _, overload = name.partition(".")
        return namespace if sign else None, name, overload, None, str(problem)
    return schema.namespace, schema.name, schema.overload, schema, None


def read_def(
    block: Block, node: Node, given: list[Node], guards: tuple[Guard, ...], source: Source
) -> Iterator[Definition | Implementation | Open]:
    """Yield the definition of m.def, and the implementation if it brings one."""
    written = literal(given[0])
    if written is None:
        what = f"{block.module}.def({text(given[0])[:60]})"
        yield Open(namespace=block.namespace, place=source.place(node), what=what)
        return
    kernel = next((each for each in (read_kernel(one, source) for one in given[1:]) if each), None)
    is_name = "(" not in written
    if is_name:
        namespace, sign, name = written.strip().rpartition("::")
        name, _, overload = name.partition(".")
        schema, problem = None, None
        own = namespace if sign else None
    else:
        own, name, overload, schema, problem = split_schema(written)
    definition = Definition(
        namespace=own or block.namespace,
        name=name,
        overload=overload,
        text=" ".join(written.split()),
        schema=schema,
        problem=problem,
        place=source.place(given[0]),
        language=Language.CPP,
        guards=guards,
        kernel=kernel,
        block=source.place(block.node) if block.is_definition else None,
        is_inferred=is_name,
    )
    yield definition
    if kernel is not None:
        yield Implementation(
            namespace=definition.namespace,
            name=definition.qualified,
            key="CompositeImplicitAutograd",
            kernel=kernel,
            place=definition.place,
            language=Language.CPP,
            guards=guards,
        )


def read_impl(
    block: Block, node: Node, given: list[Node], guards: tuple[Guard, ...], source: Source
) -> Implementation | Open:
    """Return the implementation of m.impl(name, [key,] function)."""
    name = literal(given[0])
    if name is None:
        what = f"{block.module}.impl({text(given[0])[:60]})"
        return Open(namespace=block.namespace, place=source.place(node), what=what)
    key = block.key
    if len(given) > 2:  # noqa: PLR2004 - name, key, function
        key = read_key(given[1])
    last = given[-1]
    if last.type == "call_expression" and name_called(last).endswith("dispatch"):
        inner = arguments(last)
        if len(inner) == 2:  # noqa: PLR2004 - key, function
            key, last = read_key(inner[0]), inner[1]
    namespace, sign, bare = name.rpartition("::")
    return Implementation(
        namespace=namespace if sign else block.namespace,
        name=bare,
        key=key,
        kernel=read_kernel(last, source) or Kernel(name=None, is_certain=False),
        place=source.place(given[0]),
        language=Language.CPP,
        guards=guards,
    )


def read_key(node: Node) -> str | None:
    """Return a dispatch key: c10::DispatchKey::CPU, torch::kPrivateUse1."""
    last = text(node).rpartition("::")[2].strip()
    return KEYS.get(last, last)


def read_kernel(node: Node, source: Source) -> Kernel | None:
    """Return the function that an argument of m.def or m.impl is; None if it is none."""
    if node.type == "initializer_list":
        return None
    plain = unwrap(node)
    if plain.type == "lambda_expression":
        return Kernel(name=None, function=read_lambda(plain, source))
    if plain.type in {"identifier", "qualified_identifier", "template_function"}:
        return Kernel(name=name_of(plain) or None, is_certain=plain.type != "template_function")
    if plain.type == "call_expression":
        for each, _ in walk(plain):
            if each.type == "template_argument_list":
                inner = [unwrap(one) for one in select_named(each)]
                for one in inner:
                    if one.type in {"identifier", "qualified_identifier"}:
                        return Kernel(name=name_of(one), is_certain=False)
        return Kernel(name=None, is_certain=False)
    return None
