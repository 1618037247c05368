"""The words of docs/contributing/glossary.md, in code and pages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tools.repository import ROOT, repository_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GLOSSARY = ROOT / "docs" / "contributing" / "glossary.md"
TERM = re.compile(r"^\| ([^|]+) \| [^|]+ \|$", re.MULTILINE)
FEWEST_TERMS = 30
# Code that others wrote, or that shows what others write; the page itself, and this file.
OTHERS = (
    "tests/lint/corpus/",
    "tests/check/corpus/",
    "tests/docs/test_words.py",
    "docs/contributing/glossary.md",
    "CHANGELOG.md",
)
SUFFIXES = {".py", ".cpp", ".h", ".asc", ".md"}
BEGINS_WITH_WHAT = re.compile(r'^\s*(?:#|//|""")\s*What\b', re.MULTILINE)


def rows(heading: str) -> list[str]:
    """Return the first column of the table below a heading."""
    text = GLOSSARY.read_text(encoding="utf-8").partition(heading)[2].partition("\n## ")[0]
    return TERM.findall(text)[1:]  # without the head; the line below it has no spaces


def sources() -> Iterator[tuple[str, str]]:
    """Yield our files by name, with their texts; Chinese pages have other words."""
    for name in repository_files():
        path: Path = ROOT / name
        if path.suffix in SUFFIXES and ".zh." not in name and not name.startswith(OTHERS):
            yield name, path.read_text(encoding="utf-8")


def test_the_glossary_has_the_words_of_the_field() -> None:
    terms = rows("# Words")
    assert len(terms) >= FEWEST_TERMS
    assert {"declaration", "executor", "prototype", "workspace"} <= {*terms}


def test_words_that_it_replaces_are_not_used() -> None:
    words = [word for row in rows("## In place of these") for word in row.split(", ")]
    assert "told" in words
    either = "|".join(map(re.escape, words))
    pattern = re.compile(rf"(?<![a-z])(?:{either})(?![a-z])", re.IGNORECASE)  # in a name as well
    found = [(name, match.group()) for name, text in sources() for match in pattern.finditer(text)]
    assert found == []


def test_no_comment_begins_with_what() -> None:
    found = [
        (name, match.group())
        for name, text in sources()
        if not name.endswith(".md")  # a heading may
        for match in BEGINS_WITH_WHAT.finditer(text)
    ]
    assert found == []


@pytest.mark.parametrize("text", ["# What it is", "    // What follows", '"""What it does."""'])
def test_such_a_comment_is_found(text: str) -> None:
    assert BEGINS_WITH_WHAT.search(text)
