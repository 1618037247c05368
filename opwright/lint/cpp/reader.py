"""A C++ file -> its facts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from opwright.lint.cpp.device import is_device, read_device
from opwright.lint.cpp.functions import read_function
from opwright.lint.cpp.libraries import Block, is_block, read_block
from opwright.lint.cpp.prototypes import read_op_def, read_prototype
from opwright.lint.cpp.syntax import Source, field, parse, text, walk
from opwright.lint.definitions import (
    AclnnFunction,
    Definition,
    FileFacts,
    Function,
    Guard,
    Implementation,
    Open,
    Place,
    Site,
)
from opwright.lint.suppressions import read_suppressions

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["is_relevant", "read_cpp"]

# Files without any of these say nothing about operators.
MARKS = (b"TORCH_LIBRARY", b"at::Tensor", b"torch::Tensor", b"stable::Tensor", b"OpDef")
NO_NEWLINE = re.compile(rb"[^\n]")
SCOPES = frozenset({"namespace_definition", "class_specifier", "struct_specifier"})


def is_relevant(data: bytes) -> bool:
    """Return whether a file can say anything about operators."""
    return is_host(data) or is_device(data)


def is_host(data: bytes) -> bool:
    """Return whether a file can register operators, implement them, or declare aclnn functions."""
    return any(mark in data for mark in MARKS) or (b"aclnn" in data and b"GetWorkspaceSize" in data)


def read_cpp(path: str, data: bytes) -> FileFacts:
    """Read a file."""
    device = read_device(path, data) if is_device(data) else ()
    suppressions = read_suppressions(path, data, (b"//", b"/*", b"*"))
    if not is_host(data):
        return FileFacts(path=path, device=device, suppressions=suppressions)
    source = Source(path, data)
    root = parse(data).root_node
    reader = Reader(source)
    reader.read(root)
    # The words of the device compiler are no C++.
    problems = [] if device else list(find_broken(root, source))
    problems += [
        Site(Place(path, row + 1), "a TORCH_LIBRARY block that is not readable")
        for row in sorted(heads(data, root) - reader.blocks)
        if not reader.recover(row)
    ]
    return FileFacts(
        path=path,
        definitions=tuple(reader.definitions),
        implementations=tuple(reader.implementations),
        functions=tuple(reader.functions),
        aclnn=tuple(reader.aclnn),
        opens=tuple(reader.opens),
        suppressions=suppressions,
        problems=tuple(problems),
        device=device,
    )


class Reader:
    """Goes down the scopes of one file."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.blocks: set[int] = set()
        self.definitions: list[Definition] = []
        self.implementations: list[Implementation] = []
        self.functions: list[Function] = []
        self.aclnn: list[AclnnFunction] = []
        self.opens: list[Open] = []

    def read(self, root: Node) -> None:
        """Read all that stands outside of functions."""
        stack: list[tuple[Node, tuple[str, ...], tuple[Guard, ...]]] = [(root, (), ())]
        while stack:
            node, scope, guards = stack.pop()
            if (block := is_block(node, guards)) is not None:
                self.blocks.add(node.start_point.row)
                self.block(block)
                continue
            if node.type in {"function_definition", "declaration", "field_declaration"}:
                self.function(node, scope, guards)
                if node.type == "function_definition":
                    continue
                if not node.has_error:  # inside of a variable's declaration is only its class
                    if (kind := field(node, "type")) is not None and kind.type in SCOPES:
                        stack.append((kind, scope, guards))
                    continue
            if (op_def := read_op_def(node, self.source)) is not None:
                self.aclnn.append(op_def)
                continue
            inner, branches = scope, guards
            if node.type in SCOPES and (name := field(node, "name")) is not None:
                inner = (*scope, "".join(text(name).split()))
            elif node.type in {"preproc_if", "preproc_ifdef"}:
                branches = (*guards, Guard(node.start_byte, 0))
            elif node.type in {"preproc_else", "preproc_elif", "preproc_elifdef"} and guards:
                branches = (*guards[:-1], Guard(guards[-1].start, guards[-1].branch + 1))
            stack.extend((each, inner, branches) for each in reversed(node.named_children))

    def recover(self, row: int) -> bool:
        """Read the block that begins in a row which the parser did not take for one.

        What stands before is blanked, so that no bracket of it is open.
        """
        data = self.source.data
        start = sum(map(len, data.split(b"\n")[:row])) + row
        blanked = NO_NEWLINE.sub(b" ", data[:start]) + data[start:]
        for node in parse(blanked).root_node.children:
            block = is_block(node, ())
            if block is not None and node.start_point.row == row:
                self.block(block)
                return True
        return False

    def block(self, block: Block) -> None:
        """Keep what a block registers."""
        for each in read_block(block, self.source):
            if isinstance(each, Definition):
                self.definitions.append(each)
            elif isinstance(each, Implementation):
                self.implementations.append(each)
            else:
                self.opens.append(each)

    def function(self, node: Node, scope: tuple[str, ...], guards: tuple[Guard, ...]) -> None:
        """Keep a function, and the prototype of an aclnn function."""
        if (prototype := read_prototype(node, self.source)) is not None:
            self.aclnn.append(prototype)
        elif (function := read_function(node, scope, guards, self.source)) is not None:
            self.functions.append(function)


def heads(data: bytes, root: Node) -> set[int]:
    """Return the rows in which a block seems to begin, those in macros and raw strings left out."""
    lines = data.split(b"\n")  # as the parser counts rows
    found = {
        row
        for row, (before, line) in enumerate(zip([b"", *lines], lines, strict=False))
        if line.lstrip().startswith((b"TORCH_LIBRARY", b"STABLE_TORCH_LIBRARY"))
        and not before.rstrip().endswith(b"\\")
    }
    return found - raw_rows(root) if found and b'R"' in data else found


def raw_rows(root: Node) -> set[int]:
    """Return the rows that begin inside of a raw string."""
    return {
        row
        for each, _ in walk(root)
        if each.type == "raw_string_literal"
        for row in range(each.start_point.row + 1, each.end_point.row + 1)
    }


def find_broken(root: Node, source: Source) -> list[Site]:
    """Return the first place that is no C++ for the parser, if there is one."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.is_error or node.is_missing:
            return [Site(source.place(node), "not readable from here on, in part")]
        if node.has_error:
            stack.extend(reversed(node.children))
    return []
