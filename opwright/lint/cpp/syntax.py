"""Helpers over tree-sitter's tree of a C++ file: text, literals, places, preprocessor branches."""

from __future__ import annotations

import functools
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import tree_sitter_cpp
from tree_sitter import Language, Parser

from opwright.lint.definitions import Guard, Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node, Tree

__all__ = [
    "Source",
    "arguments",
    "field",
    "literal",
    "name_called",
    "name_of",
    "parse",
    "select_named",
    "text",
    "unwrap",
    "walk",
]

CONDITIONALS = frozenset({"preproc_if", "preproc_ifdef"})
OTHERWISE = frozenset({"preproc_else", "preproc_elif", "preproc_elifdef"})
ESCAPE = re.compile(
    r"\\(\r?\n|x[0-9a-fA-F]+|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{1,3}|.)", re.DOTALL
)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
# Casts and macros around the name of a function, and around a tensor: the value goes through.
PASSING = frozenset(
    {
        *("static_cast", "const_cast", "reinterpret_cast", "TORCH_FN", "TORCH_FN_TYPE"),
        *("TORCH_BOX", "std::move", "std::ref", "std::forward", "torch::stable::detail::TORCH_BOX"),
    }
)


@functools.cache
def parser() -> Parser:
    """Return the parser; one per process."""
    return Parser(Language(tree_sitter_cpp.language()))


def parse(data: bytes) -> Tree:
    """Parse a file; where it is no C++, the tree has error nodes."""
    return parser().parse(data)


@dataclass(frozen=True, slots=True)
class Source:
    """A file: its path as findings show it, and its bytes."""

    path: str
    data: bytes

    def place(self, node: Node) -> Place:
        """Return where a node begins."""
        row, column = node.start_point
        start = node.start_byte
        before = self.data[start - column : start].decode("utf-8", "replace")
        return Place(self.path, row + 1, len(before) + 1)


def text(node: Node) -> str:
    """Return a node's text."""
    return (node.text or b"").decode("utf-8", "replace")


def field(node: Node, name: str) -> Node | None:
    """Return a field of a node."""
    return node.child_by_field_name(name)


def select_named(node: Node | None) -> list[Node]:
    """Return the named children without comments."""
    if node is None:
        return []
    return [each for each in node.named_children if each.type != "comment"]


def walk(node: Node, guards: tuple[Guard, ...] = ()) -> Iterator[tuple[Node, tuple[Guard, ...]]]:
    """Yield a node and all below it in the order of the text, each with its #if branches."""
    stack = [(node, guards)]
    while stack:
        each, above = stack.pop()
        yield each, above
        inner = above
        if each.type in CONDITIONALS:
            inner = (*above, Guard(each.start_byte, 0))
        elif each.type in OTHERWISE and above:
            inner = (*above[:-1], Guard(above[-1].start, above[-1].branch + 1))
        stack.extend((child, inner) for child in reversed(each.children))


def literal(node: Node | None) -> str | None:
    """Return the value of a string: one literal, a raw one, or several next to each other.

    A call of a macro with one string (TORCH_SELECTIVE_SCHEMA, torch::schema) is that string.
    """
    if node is None:
        return None
    if node.type == "string_literal":
        inner = (
            each for each in node.children if each.type in {"string_content", "escape_sequence"}
        )
        return unescape("".join(map(text, inner)))
    if node.type == "raw_string_literal":
        return "".join(text(each) for each in node.children if each.type == "raw_string_content")
    if node.type == "concatenated_string":
        values = [literal(each) for each in select_named(node)]
        return None if None in values else "".join(value or "" for value in values)
    if node.type == "parenthesized_expression" and len(select_named(node)) == 1:
        return literal(select_named(node)[0])
    if node.type == "call_expression" and name_called(node) in {
        *("TORCH_SELECTIVE_SCHEMA", "TORCH_SELECTIVE_NAME", "torch::schema", "c10::schema"),
        *("torch::jit::parseSchema", "schema"),
    }:
        given = arguments(node)
        return literal(given[0]) if given else None
    return None


def unescape(written: str) -> str:
    """Return what the characters of a string literal stand for."""
    return ESCAPE.sub(decode_escape, written)


def decode_escape(match: re.Match[str]) -> str:
    """Return what an escape stands for; a line that goes on stands for nothing."""
    sign = match[1]
    if sign in {"\n", "\r\n"}:
        return ""
    if sign[0] in "xuU" and sign[1:]:
        value = int(sign[1:], 16)
        return chr(value) if value <= sys.maxunicode else "\ufffd"
    if sign[0] in "01234567":
        return chr(int(sign, 8))
    return ESCAPES.get(sign, sign)


def name_called(node: Node) -> str:
    """Return the name of what a call calls, without template arguments and spaces."""
    function = field(node, "function")
    return "" if function is None else name_of(function)


def name_of(node: Node) -> str:
    """Return a name, qualified as it is written, without template arguments."""
    if node.type in {"template_function", "qualified_identifier"}:
        inner, scope = field(node, "name"), field(node, "scope")
        name = "" if inner is None else name_of(inner)
        return f"{text(scope)}::{name}" if scope is not None else name
    if node.type in {"identifier", "type_identifier", "field_identifier", "namespace_identifier"}:
        return text(node)
    return ""


def arguments(node: Node) -> list[Node]:
    """Return the arguments of a call."""
    return select_named(field(node, "arguments"))


def unwrap(node: Node) -> Node:
    """Return an expression without casts, &, parentheses and the macros around functions."""
    while True:
        if node.type in {"pointer_expression", "cast_expression"}:
            inner = field(node, "argument") or field(node, "value")
        elif node.type == "parenthesized_expression":
            inner = next(iter(select_named(node)), None)
        elif node.type == "call_expression" and name_called(node) in PASSING:
            inner = next(iter(arguments(node)), None)
        else:
            return node
        if inner is None:
            return node
        node = inner
