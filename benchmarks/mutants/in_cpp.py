"""C++ source -> mutants, by tree-sitter: expressions, arguments, statements and branches.

The same faults as in Python, and those of a kernel: a statement that waits, starts a copy or sets a
flag is missing. Messages of refused arguments are left alone: no row compares their words.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

import tree_sitter_cpp
from tree_sitter import Language, Parser

from mutants.mutant import Mutant, unique

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tree_sitter import Node

__all__ = ["mutants_of_cpp"]

OPERATORS = {
    "+": "-",
    "-": "+",
    "*": "/",
    "/": "*",
    "%": "/",
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "&&": "||",
    "||": "&&",
    "&": "|",
    "|": "&",
}
COMPARISONS = {"<", "<=", ">", ">=", "==", "!="}
CONDITIONS = {"&&", "||"}
ASSIGNMENTS = {"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*="}
# Names that one takes for another, both ways: dtypes, instructions, accessors.
PAIRS = (
    ("Float", "Half"),
    ("DT_FLOAT", "DT_FLOAT16"),
    ("Adds", "Muls"),
    ("Mul", "Add"),
    ("CAST_NONE", "CAST_RINT"),
    ("sqrt", "exp"),
    ("sym_sizes", "sym_strides"),
    ("BFloat16", "Half"),
)
OTHER = dict(itertools.chain((pair[::-1] for pair in PAIRS[::-1]), PAIRS))
SYNCHRONISATION = re.compile(rb"PipeBarrier|SetFlag|WaitFlag|SyncAll|Synchronize|EnQue|DeQue")
# Calls whose arguments are a message, or no part of what is computed.
MESSAGES = re.compile(rb"^(?:TORCH_\w*CHECK\w*|TORCH_WARN\w*|static_assert)$")
COPIES = {"contiguous", "clone", "detach"}
TEXTS = {"string_literal", "concatenated_string", "initializer_list"}
MOST_ARGUMENTS = 6  # of a call, whose neighbours are exchanged
SKIPPED = {"comment", "string_literal", "concatenated_string", "preproc_include"}
SKIPPED |= {"using_declaration", "static_assert_declaration"}


def mutants_of_cpp(source: bytes) -> list[Mutant]:
    """Return the mutants of a C++ file."""
    tree = Parser(Language(tree_sitter_cpp.language())).parse(source)
    return unique(list(mutants_below(source, tree.root_node)), source)


def mutants_below(source: bytes, node: Node) -> Iterator[Mutant]:
    """Yield the mutants of a node and of all in it."""
    if node.type in SKIPPED:
        return
    yield from mutants_at(source, node)
    children: Iterable[Node] = node.named_children
    if node.type == "call_expression" and is_message(node):
        arguments = node.child_by_field_name("arguments")
        children = arguments.named_children[:1] if arguments is not None else ()
    for child in children:
        yield from mutants_below(source, child)


def is_message(node: Node) -> bool:
    """Return whether a call reports what is wrong: only its first argument is a condition."""
    function = node.child_by_field_name("function")
    return function is not None and MESSAGES.match(function.text or b"") is not None


def mutants_at(source: bytes, node: Node) -> Iterator[Mutant]:
    """Yield the mutants of one node."""
    rule = RULES.get(node.type)
    if rule is not None:
        yield from rule(source, node)


def put(kind: str, node: Node, text: bytes) -> Mutant:
    """Replace a node."""
    return Mutant(kind=kind, start=node.start_byte, end=node.end_byte, text=text)


def swap(source: bytes, kind: str, one: Node, two: Node) -> Mutant:
    """Exchange two nodes."""
    between = source[one.end_byte : two.start_byte]
    text = source[two.start_byte : two.end_byte] + between + source[one.start_byte : one.end_byte]
    return Mutant(kind=kind, start=one.start_byte, end=two.end_byte, text=text)


def text_of(node: Node | None) -> bytes:
    """Return the bytes of a node; none for a node that is not there."""
    return b"" if node is None else node.text or b""


def of_binary(_source: bytes, node: Node) -> Iterator[Mutant]:
    """Yield another operator, and one operand alone."""
    sign = node.child_by_field_name("operator")
    operator = text_of(sign).decode()
    if sign is None or operator not in OPERATORS:
        return
    kind = "comparison" if operator in COMPARISONS else "operator"
    kind = "condition" if operator in CONDITIONS else kind
    yield put(kind, sign, OPERATORS[operator].encode())
    if operator not in COMPARISONS:
        for name in ("left", "right"):
            yield put("dropped term", node, text_of(node.child_by_field_name(name)))


def of_assignment(_source: bytes, node: Node) -> Iterator[Mutant]:
    """Yield another assignment operator."""
    sign = node.child_by_field_name("operator")
    operator = text_of(sign).decode()
    if sign is not None and operator in ASSIGNMENTS:
        yield put("operator", sign, ASSIGNMENTS[operator].encode())


def of_number(_source: bytes, node: Node) -> Iterator[Mutant]:
    """Yield neighbouring integers, and another real number."""
    text = text_of(node).decode()
    if text.isdigit():
        yield put("off by one", node, str(int(text) + 1).encode())
        if int(text) > 0:
            yield put("off by one", node, str(int(text) - 1).encode())
    elif re.fullmatch(r"\d+\.\d*f?", text):
        value = float(text.rstrip("f"))
        new = repr(value * 2 if value else 1.0) + ("f" if text.endswith("f") else "")
        yield put("constant", node, new.encode())


def of_truth(_source: bytes, node: Node) -> Iterator[Mutant]:
    """Yield the opposite."""
    yield put("constant", node, b"false" if node.type == "true" else b"true")


def of_unary(_source: bytes, node: Node) -> Iterator[Mutant]:
    """Yield the operand alone."""
    if text_of(node.child_by_field_name("operator")) in (b"!", b"-", b"~"):
        yield put("dropped sign", node, text_of(node.child_by_field_name("argument")))


def of_call(source: bytes, node: Node) -> Iterator[Mutant]:
    """Yield a call with two arguments exchanged, and a method's receiver alone."""
    function = node.child_by_field_name("function")
    arguments = node.child_by_field_name("arguments")
    if function is None or arguments is None or is_message(node):
        return
    given = [each for each in arguments.named_children if each.type != "comment"]
    for one, two in itertools.pairwise(given[:MOST_ARGUMENTS]):
        # A text and a tensor: the compiler refuses that.
        if one.type not in TEXTS and two.type not in TEXTS:
            yield swap(source, "swapped arguments", one, two)
    if (
        function.type == "field_expression"
        and text_of(function.child_by_field_name("field")).decode() in COPIES
    ):
        receiver = text_of(function.child_by_field_name("argument"))
        yield put("dropped copy", node, receiver)


def of_list(source: bytes, node: Node) -> Iterator[Mutant]:
    """Yield a braced list with neighbours exchanged, and without one of its elements."""
    given = [each for each in node.named_children if each.type != "comment"]
    for one, two in itertools.pairwise(given):
        yield swap(source, "swapped entries", one, two)
    for index, each in enumerate(given):
        start, end = each.start_byte, each.end_byte
        if index + 1 < len(given):
            end = given[index + 1].start_byte
        elif index:
            start = given[index - 1].end_byte
        yield Mutant(kind="dropped entry", start=start, end=end, text=b"")


def of_statement(_source: bytes, node: Node) -> Iterator[Mutant]:
    """Yield no statement."""
    text = text_of(node)
    if len(text) > 1:
        is_waiting = SYNCHRONISATION.search(text) is not None
        yield put("dropped synchronisation" if is_waiting else "dropped statement", node, b";")


def of_if(_source: bytes, node: Node) -> Iterator[Mutant]:
    """Yield the other branch, except where the compiler chooses."""
    condition = node.child_by_field_name("condition")
    inner = None if condition is None else condition.child_by_field_name("value")
    if inner is not None:
        yield put("condition", inner, b"!(" + text_of(inner) + b")")


def of_choice(_source: bytes, node: Node) -> Iterator[Mutant]:
    """Yield each of the two values."""
    for name in ("consequence", "alternative"):
        yield put("condition", node, text_of(node.child_by_field_name(name)))


def of_name(_source: bytes, node: Node) -> Iterator[Mutant]:
    """Yield a name that is taken for another."""
    name = text_of(node).decode()
    if name in OTHER:
        kind = "dtype" if "F" in name or "Half" in name else "function"
        yield put(kind, node, OTHER[name].encode())


RULES: dict[str, Callable[[bytes, Node], Iterator[Mutant]]] = {
    "binary_expression": of_binary,
    "assignment_expression": of_assignment,
    "number_literal": of_number,
    "true": of_truth,
    "false": of_truth,
    "unary_expression": of_unary,
    "call_expression": of_call,
    "initializer_list": of_list,
    "expression_statement": of_statement,
    "if_statement": of_if,
    "conditional_expression": of_choice,
    "identifier": of_name,
    "field_identifier": of_name,
}
