"""Links and anchors of every Markdown file lead somewhere; each page of the site is in its menu."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
import yaml  # type: ignore[import-untyped]  # PyYAML ships no types

from tools import links
from tools.repository import ROOT, repository_files

if TYPE_CHECKING:
    from collections.abc import Iterator

OTHERS = ("examples/one/run.sh", "docs/picture.svg")


def found(text: str) -> list[str]:
    """Return what is wrong with docs/page.md of this text."""
    other = '# Other\n\n## A `b` c\n\n<a id="own"></a>\n\n::: my.name\n'
    files = {"docs/page.md": f"# Page\n\n{text}\n", "docs/deep/other.md": other}
    return [str(each) for each in links.problems(files, OTHERS)]


@pytest.mark.parametrize(
    "text",
    [
        "[a](deep/other.md) [b](deep/other.md#a-b-c) [c](deep/other.md#own) [d](#page)",
        "[a](deep/other.md#my.name)",
        "[a](../examples/one/run.sh) [b](../examples/one) ![c](picture.svg)",
        "[a](https://host.example/x) <mailto:a@host.example>",
        "[by name]\n\n[by name]: deep/other.md",
        "`[not a link](nowhere.md)`\n\n```\n[nor this](nowhere.md)\n```",
        "Text:\n\n* item\n\n    * item\n\n        ```\n        code\n        ```",
    ],
)
def test_what_is_right(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("[a](nowhere.md)", 3, "nowhere.md: there is no such file in the repository"),
        ("x\n\n![a](no.svg)", 5, "no.svg: there is no such file in the repository"),
        ("[a](../../outside)", 3, "../../outside: there is no such file in the repository"),
        (
            "[a](deep/other.md#a-b)",
            3,
            "deep/other.md#a-b: docs/deep/other.md has no such heading",
        ),
        ("[a](#no)", 3, "#no: docs/page.md has no such heading"),
        ("[a]\n\n[a]: no.md", 3, "no.md: there is no such file in the repository"),
        ("[a](/docs/page.md)", 3, "/docs/page.md: write it relative to the file"),
        (
            "[a](../examples/one/run.sh#x)",
            3,
            "../examples/one/run.sh#x: anchors are checked in Markdown files only",
        ),
        ('<img src="no.svg">', 3, "no.svg: there is no such file in the repository"),
        ("| a |\n|---|\n| [b](no.md) |", 5, "no.md: there is no such file in the repository"),
        ("Text:\n* item", 4, "a list needs an empty line before it"),
        ("* item\n  * item", 4, "an item inside of an item needs 4 spaces per level"),
        (
            "1. item\n   ```\n   x\n   ```",
            4,
            "a code block inside of an item needs 4 spaces per level",
        ),
    ],
)
def test_what_is_wrong_is_reported_with_its_line(text: str, line: int, what: str) -> None:
    assert found(text) == [f"docs/page.md:{line}: {what}"]


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("Graphs, and what they hold", "graphs-and-what-they-hold"),
        ("`a_b` / c", "a_b--c"),
        ("第一步 安装", "第一步-安装"),
        ("OPW-D001", "opw-d001"),
    ],
)
def test_anchors_are_those_of_hosts_of_repositories(heading: str, anchor: str) -> None:
    assert links.anchor_of(heading) == anchor


def test_every_link_of_the_repository_leads_somewhere() -> None:
    assert [str(each) for each in links.repository_problems()] == []


def entries(menu: object) -> Iterator[str]:
    """Yield the pages of a part of the site's menu."""
    match menu:
        case str():
            yield menu
        case list():
            for each in menu:
                yield from entries(each)
        case dict():
            yield from entries([*menu.values()])


def test_every_page_is_in_the_menu_once() -> None:
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    menu = Counter(entries(settings["nav"]))
    pages = Counter(page for name in repository_files() if (page := links.page_of(name)))
    assert {"not in the menu": pages - menu, "no page, or twice": menu - pages} == {
        "not in the menu": Counter(),
        "no page, or twice": Counter(),
    }
