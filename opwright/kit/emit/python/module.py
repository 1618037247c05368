"""The parts that every emitted Python module has: header, docstring, imports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.kit.emit.header import with_header
from opwright.kit.emit.python.text import docstring, lines

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["module", "stub"]

# Starts of lines around which there are two blank ones.
DEFINITIONS = ("def ", "class ", "@", "async def ")


def module(
    doc: str,
    *parts: Iterable[str],
    source: str,
    imports: Iterable[Iterable[str]] = (),
    comments: Iterable[str] = (),
) -> str:
    """Return a module with its header.

    Parameters
    ----------
    parts
        Groups of lines.
    imports
        Groups of imports, between which is one.
    comments
        What stands above the docstring.
    """
    head = [*comments, *docstring(doc), "", "from __future__ import annotations"]
    for group in imports:
        content = list(group)
        if content:
            head += ["", *content]
    body: list[str] = []
    was_definition = False
    for part in parts:
        content = list(part)
        if not content:
            continue
        is_definition = any(each.startswith(DEFINITIONS) for each in content)
        body += ["", "", *content] if is_definition or was_definition else ["", *content]
        was_definition = is_definition
    return with_header(lines(head, body), source=source, comment="#")


def stub(
    body: Iterable[str],
    *,
    source: str,
    imports: Iterable[Iterable[str]] = (),
    comments: Iterable[str] = (),
) -> str:
    """Return a stub with its header."""
    head = list(comments)
    for group in imports:
        content = list(group)
        if content:
            head += ([""] if head else []) + content
    return with_header(lines(head, "" if head else [], body), source=source, comment="#")
