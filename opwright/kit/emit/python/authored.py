"""The author's docstring, in parts: its text, and what it says of parameters and results."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Authored", "read_docstring"]

UNDERLINE = re.compile(r"-{3,}")
ENTRY = re.compile(r"(?P<names>\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?")
# Sections that the emitted docstring has itself.
OWN = frozenset({"Parameters", "Returns", "Raises", "Warns"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Authored:
    """A docstring in numpydoc's form.

    Parameters
    ----------
    summary
        The first paragraph, on one line.
    text
        The paragraphs after it, before the first section.
    described
        By name of a parameter or result, the lines that describe it.
    sections
        Other sections by title, with their lines.
    """

    summary: str = ""
    text: tuple[str, ...] = ()
    described: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sections: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def read_docstring(doc: str) -> Authored:
    """Split a docstring whose indentation was removed."""
    head, sections = split_sections(doc.splitlines())
    paragraphs = "\n".join(head).strip().split("\n\n", 1)
    rest = paragraphs[1].strip("\n").splitlines() if len(paragraphs) > 1 else []
    described: dict[str, tuple[str, ...]] = {}
    for title in ("Parameters", "Returns"):
        described |= entries(sections.get(title, ()))
    return Authored(
        summary=" ".join(paragraphs[0].split()),
        text=tuple(rest),
        described=described,
        sections={title: body for title, body in sections.items() if title not in OWN},
    )


def split_sections(lines: list[str]) -> tuple[list[str], dict[str, tuple[str, ...]]]:
    """Return what comes before the first section, and the sections."""
    starts = [
        index
        for index in range(len(lines) - 1)
        if lines[index].strip() and UNDERLINE.fullmatch(lines[index + 1].strip())
    ]
    head = lines[: starts[0]] if starts else lines
    sections: dict[str, tuple[str, ...]] = {}
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=False):
        body = "\n".join(lines[start + 2 : stop]).rstrip()
        sections[lines[start].strip()] = tuple(body.splitlines())
    return head, sections


def entries(lines: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Read the entries of a section: a name, then indented lines."""
    found: dict[str, list[str]] = {}
    current: list[list[str]] = []
    for line in lines:
        match = ENTRY.fullmatch(line.strip())
        if line.strip() and not line[0].isspace() and match:
            names = [name.strip().lstrip("*") for name in match["names"].split(",")]
            current = [found.setdefault(name, []) for name in names]
        else:
            for body in current:
                body.append(line.strip())
    return {name: tuple(body) for name, body in found.items() if any(body)}
