"""Comments that silence a rule in a line, with a reason.

    ops.def("swap(Tensor x) -> ()");  // opwright-lint: ignore[void-pure] host pointers only

A comment that stands alone in its line is for the next line that is no comment.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from opwright.lint.definitions import Place, Suppression

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["parse_suppression", "read_suppressions"]

MARK = b"opwright-lint:"
FORM = re.compile(r"opwright-lint:\s*ignore\s*(?:\[(?P<rules>[^\]]*)\])?\s*(?P<reason>.*)")


def parse_suppression(comment: str) -> tuple[tuple[str, ...], str] | None:
    """Return the rules and the reason of a comment; None if it is no suppression.

    >>> parse_suppression("// opwright-lint: ignore[void-pure, missing-meta] host only */")
    (('void-pure', 'missing-meta'), 'host only')
    """
    match = FORM.search(comment)
    if match is None:
        return None
    rules = tuple(filter(None, (each.strip() for each in (match["rules"] or "").split(","))))
    return rules, match["reason"].strip().removesuffix("*/").strip()


def read_suppressions(path: str, data: bytes, signs: Sequence[bytes]) -> tuple[Suppression, ...]:
    """Return the suppressions of a file whose comments begin with one of the signs."""
    if MARK not in data:
        return ()
    lines = data.splitlines()
    found = []
    for index, line in enumerate(lines):
        at = line.find(MARK)
        if at < 0 or not any(sign in line[:at] for sign in signs):
            continue
        read = parse_suppression(line[at:].decode("utf-8", "replace"))
        if read is None:
            continue
        before = line[:at].strip()
        target = index
        if before in signs:
            target = next_code(lines, index + 1, signs)
        column = len(line[:at].decode("utf-8", "replace")) + 1
        found.append(Suppression(read[0], read[1], Place(path, index + 1, column), target + 1))
    return tuple(found)


def next_code(lines: Sequence[bytes], start: int, signs: Sequence[bytes]) -> int:
    """Return the next line that is no comment and not empty."""
    for index in range(start, len(lines)):
        plain = lines[index].strip()
        if plain and not any(plain.startswith(sign) for sign in signs):
            return index
    return max(0, start - 1)
