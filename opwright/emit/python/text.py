"""Layout of emitted Python: what `ruff format` would leave as it is."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["WIDTH", "bracketed", "docstring", "lines", "literal", "strings"]

WIDTH = 100


def lines(*parts: str | Iterable[str]) -> str:
    """Join lines and groups of lines; the text ends with a newline."""
    flat: list[str] = []
    for part in parts:
        flat.extend([part] if isinstance(part, str) else part)
    return "\n".join(flat) + "\n"


def bracketed(
    opening: str, items: Sequence[str], closing: str, *, indent: str = "", tail: int = 0
) -> str:
    """Write items between brackets: on one line where they fit, else one on each line.

    Parameters
    ----------
    opening, closing
        What stands before and after, with the brackets.
    indent
        Of the line on which it begins, which `opening` does not have.
    tail
        Characters that come after it on its last line.

    Examples
    --------
    >>> print(bracketed("f(", ["x", "y"], ")"))
    f(x, y)
    """
    line = f"{indent}{opening}{', '.join(items)}{closing}"
    if (len(line) + tail <= WIDTH and "\n" not in line) or not items:
        return line
    inner = [f"{indent}    {item}," for item in items]
    return "\n".join([f"{indent}{opening}", *inner, f"{indent}{closing}"])


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


def wrapped(text: str, *, indent: str = "", width: int = WIDTH) -> list[str]:
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
