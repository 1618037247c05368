"""Python expressions as text, laid out as `ruff format` does with lines of 100 characters.

What does not fit on its line is put one element to a line, with a comma after the last one; texts
that are too long are split at blanks.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Atom", "Calling", "Node", "Table", "Text", "Tuple", "node_of", "quote", "render"]

WIDTH = 100
INDENT = 4


@dataclass(frozen=True, slots=True)
class Atom:
    """An expression that stays on one line."""

    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """A string."""

    value: str


@dataclass(frozen=True, slots=True)
class Tuple:
    """A tuple."""

    items: Sequence[Node]


@dataclass(frozen=True, slots=True)
class Table:
    """A dictionary with strings as keys."""

    items: Mapping[str, Node]


@dataclass(frozen=True, slots=True)
class Calling:
    """A call; `exploded` puts each argument on a line of its own even if all fit on one."""

    function: str
    arguments: Sequence[Node] = ()
    keywords: tuple[tuple[str, Node], ...] = ()
    exploded: bool = False


Node: TypeAlias = Atom | Text | Tuple | Table | Calling

ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def quote(value: str) -> str:
    r"""Write a string with the quotes that need fewer escapes, double ones if that is equal.

    >>> print(quote("it's"), quote('a "b"'), quote("a\\b"))
    "it's" 'a "b"' "a\\b"
    """
    quote = "'" if value.count('"') > value.count("'") else '"'
    text = "".join(ESCAPES.get(char, char) for char in value)
    text = UNPRINTABLE.sub(lambda match: escape(match[0]), text)
    return quote + text.replace(quote, f"\\{quote}") + quote


def escape(char: str) -> str:
    """Write a character that cannot be seen."""
    code = ord(char)
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"  # noqa: PLR2004 - two digits


def node_of(value: object) -> Node:
    """Turn a plain value into an expression."""
    if isinstance(value, str):
        return Text(value)
    if isinstance(value, tuple):
        return Tuple([node_of(item) for item in value])
    if isinstance(value, float) and repr(value) in {"inf", "-inf", "nan"}:
        return Atom(f'float("{value!r}")')
    return Atom(repr(value).replace("e+", "e"))


def one_line(node: Node) -> str:
    """Write an expression on one line, whatever its length."""
    match node:
        case Atom(text):
            return text
        case Text(value):
            return quote(value)
        case Tuple(items):
            inside = ", ".join(map(one_line, items))
            return f"({inside},)" if len(items) == 1 else f"({inside})"
        case Table(items):
            inside = ", ".join(f"{quote(key)}: {one_line(item)}" for key, item in items.items())
            return f"{{{inside}}}"
        case Calling(function, arguments, keywords):
            parts = [*map(one_line, arguments)]
            parts += [f"{name}={one_line(item)}" for name, item in keywords]
            return f"{function}({', '.join(parts)})"


def is_exploded(node: Node) -> bool:
    """Whether an expression, or one in it, has to be on several lines."""
    match node:
        case Calling(_, arguments, keywords, exploded):
            inner = (*arguments, *(item for _, item in keywords))
            return exploded or any(map(is_exploded, inner))
        case Tuple(items):
            return any(map(is_exploded, items))
        case Table(items):
            return any(map(is_exploded, items.values()))
        case _:
            return False


def render(node: Node, *, indent: int = 0, before: int = 0, after: int = 0) -> str:
    """Write an expression.

    Parameters
    ----------
    indent
        Blanks in front of the lines that follow the first one.
    before, after
        Number of characters in front of the expression on its first line, behind it on its last.
    """
    if not is_exploded(node):
        line = one_line(node)
        if before + columns(line) + after <= WIDTH:
            return line
    blanks = " " * (indent + INDENT)
    match node:
        case Atom(text):
            return text
        case Text(value):
            return split_text(value, indent=indent)
        case Tuple(items):
            lines = [element(blanks, "", item) for item in items]
            return bracket("(", lines, ")", indent)
        case Table(items):
            lines = [element(blanks, f"{quote(key)}: ", item) for key, item in items.items()]
            return bracket("{", lines, "}", indent)
        case Calling(function, arguments, keywords):
            lines = [element(blanks, "", item) for item in arguments]
            lines += [element(blanks, f"{name}=", item) for name, item in keywords]
            return bracket(f"{function}(", lines, ")", indent)


def element(blanks: str, name: str, node: Node) -> str:
    """Write an element of an exploded expression on lines of its own."""
    before = len(blanks) + len(name)
    if isinstance(node, Text) and not name and before + columns(quote(node.value)) + 1 > WIDTH:
        return f"\n{blanks}".join(["", *pieces(node.value, WIDTH - len(blanks) - 1)])[1:] + ","
    return f"{blanks}{name}{render(node, indent=len(blanks), before=before, after=1)},"


def bracket(start: str, lines: Sequence[str], end: str, indent: int) -> str:
    """Put lines between brackets."""
    return "\n".join([start, *lines, f"{' ' * indent}{end}"])


def split_text(value: str, *, indent: int) -> str:
    """Write a string that does not fit as several in parentheses."""
    blanks = " " * (indent + INDENT)
    parts = pieces(value, WIDTH - len(blanks))
    if len(parts) == 1 and len(blanks) + columns(parts[0]) > WIDTH:
        return parts[0]  # no line is long enough
    return bracket("(", [f"{blanks}{part}" for part in parts], ")", indent)


def pieces(value: str, width: int) -> list[str]:
    """Split a string so that each piece fits with its quotes: behind commas, else behind blanks.

    >>> pieces("f(Tensor x, Tensor y) -> Tensor", 16)
    ['"f(Tensor x, "', '"Tensor y) -> "', '"Tensor"']
    """
    parts, current = [], ""
    for word in words(value, width):
        if current and columns(quote(current + word)) > width:
            parts.append(quote(current))
            current = word
        else:
            current += word
    return [*parts, quote(current)]


def columns(text: str) -> int:
    """Return how wide a text is, as ruff measures it.

    >>> columns("abc"), columns("算子"), columns("e\u0301")
    (3, 4, 1)
    """
    return sum(
        0 if unicodedata.category(each) in {"Mn", "Me", "Cf"} else 1 + is_wide(each)
        for each in text
    )


def is_wide(character: str) -> bool:
    """Return whether a character takes two columns."""
    return unicodedata.east_asian_width(character) in "WF"


def words(value: str, width: int) -> list[str]:
    """Return what is not split further: what stands between commas, if that is not too long."""
    found: list[str] = []
    for part in re.findall(r".*?,\s+|.+", value, re.DOTALL):
        if columns(quote(part)) <= width:
            found.append(part)
        else:
            found += re.findall(r"\S*\s+|\S+", part)
    return found
