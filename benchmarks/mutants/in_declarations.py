"""An operator file -> mutants of what it implements: its functions, and the rules that it declares.

The mutant is loaded as the library that implements the operators, and the unchanged file describes
them. So samples, tolerances and documentation are left alone: only the description's are read.
"""

from __future__ import annotations

import ast
import itertools
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from mutants.in_python import DTYPES, Places, mutants_of_expression, mutants_of_nodes
from mutants.mutant import Mutant, unique

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    # Source, text, kind and the names of tensors -> mutants of the text.
    MutantsOfText: TypeAlias = Callable[[Places, ast.expr, str, Sequence[object]], Iterator[Mutant]]

__all__ = ["mutants_of_declarations", "without"]

DECLARING = {"operator", "declare", "backward", "OperatorSet", "load"}
TEXT = re.compile(rb"""^(["'])([^\\"']*)\1$""")
DEFAULT = re.compile(rb"=(-?[\d.e-]+|True|False)(?=[,)])")
ALIAS = re.compile(rb"\([a-z]!\)")
ITEM = re.compile(rb"[^\s,][^,]*")
WORD = re.compile(rb"\S+")


def mutants_of_declarations(
    source: bytes, *, has_kernels: bool = False, is_existing: bool = False
) -> list[Mutant]:
    """Return the mutants of an operator file.

    Parameters
    ----------
    has_kernels
        The operators have kernels of their own, so that the order of an aclnn call matters. Without
        them the reference stands in under the same order.
    is_existing
        Another library has the operators: of the rules only those of results are implemented here,
        by Meta.
    """
    places = Places(source)
    found = list(mutants_of_nodes(places, places.tree.body, is_left_alone=is_declaring))
    for node in ast.walk(places.tree):
        if isinstance(node, ast.Call) and is_declaring(node):
            found += mutants_of_call(places, node, has_kernels=has_kernels, is_existing=is_existing)
    return unique(found, source)


def without(source: bytes, *names: str) -> bytes:
    """Return an operator file without these keywords of its declarations, with the lines it had.

    A declaration whose rules refuse its own samples cannot be loaded: as a library it needs none.
    One that describes what is registered elsewhere has no converter of its own.
    """
    places = Places(source)
    keywords = [
        each
        for node in ast.walk(places.tree)
        if isinstance(node, ast.Call) and is_declaring(node)
        for each in node.keywords
        if each.arg in names
    ]
    for each in sorted(keywords, key=places.start, reverse=True):
        start, end = places.start(each), places.end(each)
        found = re.compile(rb"\s*,").match(source, end)
        end = end if found is None else found.end()
        source = source[:start] + b"\n" * source.count(b"\n", start, end) + source[end:]
    return source


def is_declaring(node: ast.AST) -> bool:
    """Return whether a node is a call that declares, a sample, or a statement that is only that."""
    if isinstance(node, ast.Expr):
        return is_declaring(node.value)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return is_inputs(node)
    return node.func.attr in DECLARING


def is_inputs(node: ast.AST) -> bool:
    """Return whether a statement binds what samples are made of."""
    if not isinstance(node, ast.Assign):
        return False
    calls = [each.func for each in ast.walk(node.value) if isinstance(each, ast.Call)]
    return any(isinstance(each, ast.Attribute) and each.attr == "tensor" for each in calls)


def mutants_of_call(
    places: Places, node: ast.Call, *, has_kernels: bool, is_existing: bool
) -> Iterator[Mutant]:
    """Yield the mutants of one declaration."""
    written = [text for each in node.args for text in texts(each)]
    rules = {each.arg: each.value for each in node.keywords}
    if is_existing:
        arguments = "".join(str(text.value) for text in written).partition("->")[0]
        value = rules.get("shapes", ast.Dict(keys=[], values=[]))
        for each in mutants_of_rules(places, value, "shape rule", mutants_of_shape):
            if not is_about(places, value, each, arguments):
                yield each
        return
    for text in written:
        yield from mutants_of_schema(places, text)
    for name, value in rules.items():
        match name:
            case "requires":
                yield from mutants_of_conditions(places, value)
            case "saves" | "outputs" if isinstance(value, ast.List | ast.Tuple):
                for index in range(len(value.elts)):
                    yield places.drop_from_list("backward formula", value.elts, index)
            case "aclnn" if has_kernels:
                yield from mutants_of_list_text(places, value, "aclnn call")
            case str() if name in RULES:
                yield from mutants_of_rules(places, value, *RULES[name])


def is_about(places: Places, rules: ast.expr, mutant: Mutant, arguments: str) -> bool:
    """Return whether a changed rule is that of an argument of a schema."""
    for each in ast.walk(rules):
        if isinstance(each, ast.Dict):
            for key, value in zip(each.keys, each.values, strict=True):
                if key is None and places.start(value) <= mutant.start <= places.end(value):
                    return True
                if isinstance(key, ast.Constant) and places.start(
                    key
                ) <= mutant.start <= places.end(value):
                    return re.search(rf"\b{key.value!s}\b", arguments) is not None
    return False


def texts(node: ast.AST) -> Iterator[ast.Constant]:
    """Yield the texts of an expression."""
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each


def content(places: Places, node: ast.expr) -> tuple[int, bytes] | None:
    """Return where the content of a simple text stands, and the content."""
    found = TEXT.match(places.text(node))
    return None if found is None else (places.start(node) + 1, found[2])


def mutants_of_schema(places: Places, node: ast.Constant) -> Iterator[Mutant]:
    """Yield schemas with another default, and without a note that an argument is written."""
    start, text = places.start(node), places.text(node)
    for found in DEFAULT.finditer(text):
        value = ast.literal_eval(found[1].decode())
        new = str(not value) if isinstance(value, bool) else repr(value + 1)
        yield places.put_between("schema", start + found.start(1), start + found.end(1), new)
    for found in ALIAS.finditer(text):
        yield places.put_between("schema", start + found.start(), start + found.end(), b"")


def mutants_of_rules(
    places: Places,
    node: ast.expr,
    kind: str,
    mutants_of_text: MutantsOfText,
) -> Iterator[Mutant]:
    """Yield a dict of rules without one of them, and with one of them changed."""
    names = [
        key.value
        for each in ast.walk(node)
        if isinstance(each, ast.Dict)
        for key in each.keys
        if isinstance(key, ast.Constant)
    ]
    for each in ast.walk(node):
        if isinstance(each, ast.Dict):
            spans = [
                (
                    places.start(key) if key is not None else places.start(value) - 2,
                    places.end(value),
                )
                for key, value in zip(each.keys, each.values, strict=True)
            ]
            for index in range(len(spans)):
                yield places.drop_span(kind, spans, index)
            for value in each.values:
                for text in texts(value):
                    yield from mutants_of_text(places, text, kind, names)
    if isinstance(node, ast.Constant):
        yield from mutants_of_text(places, node, kind, names)


def expression_in_text(
    places: Places, node: ast.expr, kind: str, _names: Sequence[object]
) -> Iterator[Mutant]:
    """Yield the mutants of an expression in a text."""
    found = content(places, node)
    if found is None:
        return
    start, text = found
    for each in mutants_of_expression(text):
        yield replace(each, kind=kind, start=start + each.start, end=start + each.end)


def mutants_of_shape(
    places: Places, node: ast.expr, kind: str, names: Sequence[object]
) -> Iterator[Mutant]:
    """Yield a pattern without a size, with two exchanged, or with another tensor's name."""
    found = content(places, node)
    if found is None:
        return
    start, text = found
    if text.decode() in names:  # like("x")
        others = [name for name in names if name != text.decode()]
        if others:
            yield places.put_between(kind, start, start + len(text), str(others[0]))
        return
    yield from mutants_of_list_text(places, node, kind)
    for each in ITEM.finditer(text):
        if not each[0].isdigit() and not each[0].startswith(b"*"):
            yield places.put_between(
                kind, start + each.start(), start + each.end(), each[0] + b"+1"
            )
            yield places.put_between(kind, start + each.start(), start + each.end(), b"1")


def mutants_of_list_text(places: Places, node: ast.expr, kind: str) -> Iterator[Mutant]:
    """Yield a list in a text without one of its items, and with two neighbours exchanged."""
    found = content(places, node)
    if found is None:
        return
    start, text = found
    first = text.find(b"(") + 1
    last = text.rfind(b")") if first else len(text)
    spans = [
        (start + each.start(), start + each.end()) for each in ITEM.finditer(text, first, last)
    ]
    for index in range(len(spans)):
        yield places.drop_span(kind, spans, index)
    for (a, b), (c, d) in itertools.pairwise(spans):
        new = places.source[c:d] + places.source[b:c] + places.source[a:b]
        yield places.put_between(kind, a, d, new)


def mutants_of_dtypes(
    places: Places, node: ast.expr, kind: str, names: Sequence[object]
) -> Iterator[Mutant]:
    """Yield a rule with one dtype less, another dtype, or one that no longer follows a tensor."""
    found = content(places, node)
    if found is None:
        return
    start, text = found
    words = list(WORD.finditer(text))
    spans = [(start + each.start(), start + each.end()) for each in words]
    if len(words) > 1:
        for index in range(len(spans)):
            yield places.drop_span(kind, spans, index)
    elif text.decode() in names:
        yield places.put_between(kind, start, start + len(text), "float32")
    elif text.decode() in DTYPES:
        yield places.put_between(kind, start, start + len(text), DTYPES[text.decode()])


def mutants_of_conditions(places: Places, node: ast.expr) -> Iterator[Mutant]:
    """Yield the list of conditions without one of them, and with one of them changed."""
    if not isinstance(node, ast.List | ast.Tuple):
        return
    for index, each in enumerate(node.elts):
        yield places.drop_from_list("dropped condition", node.elts, index)
        yield from expression_in_text(places, each, "changed condition", [])


def nothing(*_: object) -> Iterator[Mutant]:
    """Yield no change of a text: such rules are only dropped."""
    return iter(())


# Keywords of a declaration: kind of the faults in them, and what their texts become.
RULES: dict[str, tuple[str, MutantsOfText]] = {
    "shapes": ("shape rule", mutants_of_shape),
    "dtypes": ("dtype rule", mutants_of_dtypes),
    "layouts": ("layout rule", nothing),
    "backward": ("backward formula", expression_in_text),
    "unspecified": ("unspecified rule", expression_in_text),
}
