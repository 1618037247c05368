"""Lines of C++ as clang-format (Google style, 120 columns) leaves them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.aclnn.scan import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["COLUMNS", "block", "flow", "indent", "message"]

COLUMNS = 120


def flow(before: str, items: Sequence[str], after: str, depth: int = 1) -> list[str]:
    """Return a list in brackets: on one line if it fits, else filled lines below its first item.

    Parameters
    ----------
    depth
        How many levels deeper the lines will stand: 1 in a function, 0 for its head.

    >>> flow("f(", ["a", "b"], ");")
    ['f(a, b);']
    """
    whole = f"{before}{', '.join(items)}{after}"
    columns = COLUMNS - 2 * depth
    if len(whole) <= columns:
        return [whole]
    indent = len(before)
    if any(indent + len(item) + max(len(after), 1) > columns for item in items):
        return [before, *fill_lines(items, after, 4, columns)]
    first, *rest = fill_lines(items, after, indent, columns)
    return [before + first.lstrip(), *rest]


def fill_lines(items: Sequence[str], after: str, indent: int, columns: int) -> list[str]:
    """Return items in lines of this indentation."""
    lines: list[str] = []
    line = ""
    for index, item in enumerate(items):
        text = item + ("," if index < len(items) - 1 else after)
        if line and indent + len(line) + 1 + len(text) > columns:
            lines.append(" " * indent + line)
            line = text
        else:
            line = f"{line} {text}".lstrip()
    return [*lines, " " * indent + line]


def indent(lines: Iterable[str]) -> list[str]:
    """Return lines one level deeper."""
    return [f"  {line}" if line else "" for line in lines]


def block(head: Sequence[str], body: Iterable[str], end: str = "}") -> list[str]:
    """Return a function or another block; the head ends with an open brace."""
    return [*head, *indent(body), end]


def message(text: str) -> str:
    r"""Return a string literal.

    >>> print(message('a "b"\r\n'))
    "a \"b\"\015\n"
    """
    return quote(text)
