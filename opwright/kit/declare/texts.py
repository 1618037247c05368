"""Which characters an author's texts may have: all of them go into source code and UTF-8 files."""

from __future__ import annotations

import re

from opwright.kit.declare.errors import FieldError

__all__ = ["check_document", "check_value"]

# NUL ends a C string; a lone surrogate is no character of UTF-8.
NO_VALUE = re.compile("[\x00\ud800-\udfff]")
# Of the control characters, a document has those that are white space.
NO_DOCUMENT = re.compile("[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")


def check_value(text: str, *, where: str) -> None:
    """Raise FieldError if C++ cannot have a text as a string."""
    check(NO_VALUE, text, where=where)


def check_document(text: str, *, where: str) -> None:
    """Raise FieldError if source code cannot have a text between its lines."""
    check(NO_DOCUMENT, text, where=where)


def check(refused: re.Pattern[str], text: str, *, where: str) -> None:
    """Raise FieldError if a text has one of these characters."""
    found = refused.search(text)
    if found is not None:
        raise FieldError(
            where=where,
            got=f"the character {found[0]!a} in {text[:60]!a}",
            fix="remove it: a text has no control characters, and can be encoded in UTF-8",
        )
