"""Entries of a YAML file -> the tops of their sections in a source tree.

The tree's file is changed as text, line by line: its comments and its order stay.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from opwright.kit.op_plugin.diff import Change
from opwright.kit.op_plugin.errors import TreeError
from opwright.kit.op_plugin.inputs import render, text_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from opwright.kit.op_plugin.tree import Tree

__all__ = ["insert"]

SECTION = re.compile(r"(?P<name>\w+):\s*(?:#.*)?")
ITEM = re.compile(r"(?P<indent> *)- ")


def insert(tree: Tree, path: str, source: Path, section: str, key: str) -> Change:
    """Return the change that adds a YAML file's entries to the tops of their sections.

    Parameters
    ----------
    section
        That of a file without sections.
    key
        What an entry's schema stands behind.

    Raises
    ------
    TreeError
        OPW-O008: a section is missing, or has an operator of this name with other text.
    """
    where = f"{tree.prefix}{path}"
    before = tree.read(where)
    if before is None:
        raise TreeError(where=str(tree.root), got="no such file", allowed=[where])
    lines = before.splitlines(keepends=True)
    theirs = texts_of(before.splitlines(), section)
    for name, entries in texts_of(text_of(source).splitlines(), section).items():
        new = []
        for entry in entries:
            if entry in theirs.get(name, []):
                continue
            check_new(entry, theirs.get(name, []), key, tree.root / where, source)
            new.append(entry)
        if new:
            at = section_line(lines, name, tree.root / where)
            indent = indent_of(lines, at)
            lines[at:at] = [f"{indent}{line}".rstrip() + "\n" for e in new for line in [*e, ""]]
    return Change(path=where, before=before, after="".join(lines))


def texts_of(lines: Sequence[str], section: str) -> dict[str, list[list[str]]]:
    """Return the entries of each section as lines, without the indentation of the first one."""
    found: dict[str, list[list[str]]] = {}
    indent = ""
    for line in lines:
        head = SECTION.fullmatch(line)
        item = ITEM.match(line)
        if head is not None:
            section, indent = head["name"], ""
        elif item is not None and (section not in found or item["indent"] == indent):
            indent = item["indent"]
            found.setdefault(section, []).append([line[len(indent) :].rstrip()])
        elif section in found and line.startswith(f"{indent} "):
            found[section][-1].append(line[len(indent) :].rstrip())
    return found


def schema_of(entry: Sequence[str], key: str) -> str:
    """Return the text of an entry's schema."""
    mark = f"{key}:"
    texts = [line.lstrip("- ") for line in entry]
    whole = next((text for text in texts if text.startswith(mark)), "")
    return whole.removeprefix(mark).strip().strip("'\"")


def check_new(
    entry: Sequence[str], theirs: Sequence[Sequence[str]], key: str, place: Path, source: Path
) -> None:
    """Raise if the tree has an operator of an entry's name.

    Raises
    ------
    TreeError
        OPW-O008.
    """
    name = schema_of(entry, key).partition("(")[0]
    for other in theirs:
        if schema_of(other, key).partition("(")[0] == name:
            raise TreeError(
                where=str(place),
                got=f"an entry for {name} that differs from the one in {render(source)}",
                fix="rename the operator, or change the entry in the tree",
            )


def section_line(lines: Sequence[str], name: str, place: Path) -> int:
    """Return the index of the line behind a section's name."""
    for index, line in enumerate(lines):
        head = SECTION.fullmatch(line.rstrip("\n"))
        if head is not None and head["name"] == name:
            return index + 1
    raise TreeError(where=str(place), got=f"no section {name!r}", fix=f"add a line `{name}:`")


def indent_of(lines: Sequence[str], start: int) -> str:
    """Return how the entries behind a line are indented."""
    for line in lines[start:]:
        item = ITEM.match(line)
        if item is not None:
            return item["indent"]
        if SECTION.fullmatch(line.rstrip("\n")):
            break
    return "  "
