"""Ascend C kernels: which global memory each function binds, copies to and passes on.

A kernel writes its parameter p where `gm.SetGlobalBuffer(... p ...)` binds p, there or in a
function that p is passed to, and the same class (or the same function) copies to gm:
`DataCopy(gm[i], ...)`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from opwright.lint.cpp.functions import function_declarator
from opwright.lint.cpp.syntax import (
    Source,
    arguments,
    field,
    name_called,
    parse,
    select_named,
    text,
    walk,
)
from opwright.lint.definitions import DeviceCall, DeviceFunction, Site

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

__all__ = ["is_device", "read_device"]

MARKS = (b"GM_ADDR", b"SetGlobalBuffer", b"__global__")
# Words of the device compiler that are no C++; blanks in their place keep all positions.
WORDS = re.compile(
    rb"__aicore__|__global__|__gm__|__ubuf__|__forceinline__|__inout_pipe__\([^)]*\)|\[aicore\]"
)
ENTRY = b"__global__"
BIND = "SetGlobalBuffer"
# Their first argument is where they write.
COPIES = frozenset({"DataCopy", "DataCopyPad", "DataCopyExtParams", "Fixpipe", "InitGlobalMemory"})
STORES = frozenset({"SetValue"})
SCOPES = frozenset({"class_specifier", "struct_specifier"})


def is_device(data: bytes) -> bool:
    """Return whether a file has code for the device."""
    return MARKS[0] in data and any(mark in data for mark in MARKS[1:])


def read_device(path: str, data: bytes) -> tuple[DeviceFunction, ...]:
    """Return the functions of a file of the device."""
    source = Source(path, data)
    blanked = WORDS.sub(lambda match: b" " * len(match[0]), data)
    root = parse(blanked).root_node
    return tuple(functions(root, source))


def functions(root: Node, source: Source) -> Iterator[DeviceFunction]:
    """Yield the functions with what they do to global memory."""
    stack: list[tuple[Node, str]] = [(root, "")]
    while stack:
        node, scope = stack.pop()
        if node.type == "function_definition":
            found = read_function(node, scope, source)
            if found is not None:
                yield found
            continue
        inner = scope
        if node.type in SCOPES and (name := field(node, "name")) is not None:
            inner = plain_name(name)
        stack.extend((each, inner) for each in reversed(node.named_children))


def plain_name(node: Node) -> str:
    """Return a name without template arguments."""
    inner = field(node, "name") if node.type == "template_type" else None
    return text(inner or node)


def read_function(node: Node, scope: str, source: Source) -> DeviceFunction | None:
    """Return one function."""
    declarator, body = function_declarator(field(node, "declarator")), field(node, "body")
    name = None if declarator is None else field(declarator, "declarator")
    if declarator is None or name is None or body is None:
        return None
    if name.type == "qualified_identifier":
        owner = field(name, "scope")
        scope = "" if owner is None else plain_name(owner)
        inner = field(name, "name")
        name = inner or name
    parameters = tuple(
        last_word(each)
        for each in select_named(field(declarator, "parameters"))
        if each.type in {"parameter_declaration", "optional_parameter_declaration"}
    )
    reader = Reader(source)
    reader.read(body)
    before = source.data[max(0, node.start_byte - len(ENTRY) - 60) : name.start_byte]
    head = before[before.rfind(b"}") + 1 :]
    return DeviceFunction(
        name=text(name),
        scope=scope or text(name),
        parameters=parameters,
        is_entry=ENTRY in head.rpartition(b";")[2],
        bound=tuple(reader.bound),
        stored=tuple(reader.stored),
        calls=tuple(reader.calls),
        place=source.place(name),
    )


def last_word(node: Node) -> str:
    """Return the name of a parameter."""
    words = re.findall(r"\w+", text(node).partition("=")[0])
    return words[-1] if words else ""


class Reader:
    """Reads a body."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.bound: list[tuple[str, frozenset[str]]] = []
        self.stored: list[Site] = []
        self.calls: list[DeviceCall] = []

    def read(self, body: Node) -> None:
        """Read all calls."""
        for node, _ in walk(body):
            if node.type != "call_expression":
                continue
            function = field(node, "function")
            given = arguments(node)
            if function is None or not given:
                continue
            if function.type == "field_expression":
                self.method(node, function, given)
                continue
            name = name_called(node).rpartition("::")[2]
            if name in COPIES:
                self.store(node, given[0])
            elif name:
                self.calls.append(DeviceCall(name, tuple(map(words_of, given))))

    def method(self, node: Node, function: Node, given: list[Node]) -> None:
        """Read gm.SetGlobalBuffer(...), gm.SetValue(...), op.Init(...)."""
        owner, member = field(function, "argument"), field(function, "field")
        if owner is None or member is None:
            return
        name = re.match(r"\w*", text(member))
        if name is None:
            return
        if name[0] == BIND:
            self.bound.append((root_of(owner), words_of(given[0])))
        elif name[0] in STORES:
            self.store(node, owner)
        else:
            self.calls.append(DeviceCall(name[0], tuple(map(words_of, given))))

    def store(self, node: Node, target: Node) -> None:
        """Keep where a call writes."""
        if name := root_of(target):
            shown = " ".join(text(node).split())[:60]
            self.stored.append(Site(self.source.place(node), shown, about=name))


def words_of(node: Node) -> frozenset[str]:
    """Return the names that an argument uses."""
    return frozenset(text(each) for each, _ in walk(node) if each.type == "identifier")


def root_of(node: Node) -> str:
    """Return the variable of gm, gm[i], this->gm[i]."""
    while node.type in {"subscript_expression", "parenthesized_expression"}:
        inner = field(node, "argument") or next(iter(select_named(node)), None)
        if inner is None:
            return ""
        node = inner
    if node.type == "field_expression":
        owner, member = field(node, "argument"), field(node, "field")
        is_own = owner is not None and owner.type == "this"
        return text(member) if is_own and member is not None else ""
    return text(node) if node.type == "identifier" else ""
