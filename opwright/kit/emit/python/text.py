"""Layout of emitted Python: what `ruff format` would leave as it is."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["WIDTH", "Group", "bracket", "docstring", "lay_out", "lines", "literal", "strings"]

WIDTH = 100


def lines(*parts: str | Iterable[str]) -> str:
    """Join lines and groups of lines; the text ends with a newline."""
    flat: list[str] = []
    for part in parts:
        flat.extend([part] if isinstance(part, str) else part)
    return "\n".join(flat) + "\n"


@dataclass(frozen=True, slots=True)
class Group:
    """Items between brackets, which may be groups themselves.

    Parameters
    ----------
    opening, closing
        The brackets with what stands before and after them.
    """

    opening: str
    items: tuple[str | Group, ...]
    closing: str

    def __str__(self) -> str:
        return f"{self.opening}{', '.join(map(str, self.items))}{self.closing}"


def lay_out(item: str | Group, *, indent: str = "", tail: str = "") -> list[str]:
    """Write an item on one line where it fits, else what is in its brackets on a line each.

    Parameters
    ----------
    tail
        What comes after it.
    """
    line = f"{indent}{item}{tail}"
    if isinstance(item, str) or not item.items or (len(line) <= WIDTH and "\n" not in line):
        return [line]
    inner = [
        each for part in item.items for each in lay_out(part, indent=f"{indent}    ", tail=",")
    ]
    return [f"{indent}{item.opening}", *inner, f"{indent}{item.closing}{tail}"]


def bracket(opening: str, items: Sequence[str | Group], closing: str, *, indent: str = "") -> str:
    """Write items between brackets: on one line where they fit, else one on each line.

    Parameters
    ----------
    opening, closing
        What stands before and after, with the brackets.
    indent
        Of the line on which it begins, which `opening` does not have.

    Examples
    --------
    >>> print(bracket("f(", ["x", "y"], ")"))
    f(x, y)
    """
    return "\n".join(lay_out(Group(opening, tuple(items), closing), indent=indent))


def docstring(text: str, *, indent: str = "") -> list[str]:
    """Write a docstring.

    A text with a backslash becomes a raw one; three quotes in it lose their meaning.
    """
    body = text.replace('"""', "'''").strip().splitlines()
    opening = f'{indent}r"""' if "\\" in text else f'{indent}"""'
    if len(body) == 1 and len(opening) + len(body[0]) + 3 <= WIDTH and not body[0].endswith('"'):
        return [f'{opening}{body[0]}"""']
    rest = [f"{indent}{line}".rstrip() for line in body[1:]]
    return [opening + body[0], *rest, f'{indent}"""']


def wrap(text: str, *, indent: str = "", width: int = WIDTH) -> list[str]:
    """Break a paragraph into lines."""
    return textwrap.wrap(
        text,
        width=width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def strings(values: Iterable[str]) -> str:
    """Write a tuple of strings."""
    return literal(tuple(values))


def literal(value: object) -> str:
    """Write a value as the formatter would: with double quotes.

    >>> print(literal(("a", 1, None)), literal(float("inf")))
    ("a", 1, None) float("inf")
    """
    match value:
        case str():
            single = repr(value)
            if single.startswith('"') or '"' in value:
                return single
            body = single[1:-1].replace("\\'", "'")
            return f'"{body}"'
        case float() if value != value or value in {float("inf"), float("-inf")}:  # noqa: PLR0124 - not a number
            return f'float("{value}")'
        case tuple():
            items = ", ".join(literal(item) for item in value)
            return f"({items},)" if len(value) == 1 else f"({items})"
        case list():
            return f"[{', '.join(literal(item) for item in value)}]"
        case dict():
            return "{" + ", ".join(f"{literal(k)}: {literal(v)}" for k, v in value.items()) + "}"
        case _:
            return repr(value)
