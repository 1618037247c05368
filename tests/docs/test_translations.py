"""A Chinese page (NAME.zh.md) says what the English one beside it (NAME.md) says.

Compared is what does not depend on the language: levels of headings, fenced blocks with their
comments, table rows and list items, code in the text, where links lead to, and figures.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tools import links
from tools.repository import ROOT, repository_files

if TYPE_CHECKING:
    from collections.abc import Iterator

CHINESE = ".zh.md"
PAGES = [
    name
    for name in repository_files()
    if name.endswith(CHINESE) and Path(name).parts[0] in {name, links.DOCS}
]
FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
COUNTED = {"tr_open": "table rows", "list_item_open": "list items"}
# Readers show the end of a line as a space, which does not belong between two ideographs.
BROKEN = re.compile(r"([\u3400-\u9fff]+)\n *([\u3400-\u9fff]+)")


@dataclass(slots=True)
class Section:
    """A heading, and what stands beneath it up to the next one."""

    heading: str
    level: int
    blocks: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    targets: Counter[str] = field(default_factory=Counter)
    code: set[str] = field(default_factory=set)
    figures: set[str] = field(default_factory=set)


def sections(text: str) -> list[Section]:
    """Return the parts of a page; what stands before its first heading has level 0."""
    tokens = links.PARSER.parse(text)
    found = [Section("the top", 0)]
    for before, token in pairwise([*tokens[:1], *tokens]):
        if token.type == "inline" and before.type == "heading_open":
            found.append(Section(token.content, int(before.tag[1:])))
        section = found[-1]
        if token.type in COUNTED:
            section.counts[COUNTED[token.type]] += 1
        elif token.type == "fence":
            section.blocks.append(f"{token.info}\n{token.content}")
        section.targets.update(map(beside, links.addresses(token)))
        for each in token.children or ():
            if each.type == "code_inline":
                section.code.add(each.content)
            elif each.type == "text":
                section.figures.update(FIGURE.findall(each.content))
    return found


def beside(target: str) -> str:
    """Return the English page beside a Chinese one; what is neither stays."""
    page, hash_, anchor = target.partition("#")
    return re.sub(re.escape(CHINESE) + "$", ".md", page) + hash_ + anchor


def differences(english: str, chinese: str) -> Iterator[str]:
    """Yield what a page and its translation do not agree on."""
    pair = sections(english), sections(chinese)
    if [one.level for one in pair[0]] != [other.level for other in pair[1]]:
        yield "the headings have other levels"
        return
    for one, other in zip(*pair, strict=True):
        if one.blocks != other.blocks:
            yield f"{one.heading}: other fenced blocks"
        for name in ("counts", "targets", "code", "figures"):
            mine, its = getattr(one, name), getattr(other, name)
            # It may have more figures: Chinese has digits where English has words.
            surplus = () if name == "figures" else its - mine
            for what, found in (("lacks", mine - its), ("adds", surplus)):
                if found:
                    yield f"{one.heading}: {what} {', '.join(sorted(found))}"


def faults(page: Path) -> Iterator[str]:
    """Yield what is wrong with a Chinese page, or with the English one beside it."""
    original = page.with_name(beside(page.name))
    english, chinese = (each.read_text(encoding="utf-8") for each in (original, page))
    yield from differences(english, chinese)
    for mine, text, other in ((original, english, page), (page, chinese, original)):
        first = next((target for _, target in links.read_page(text).targets), None)
        if first != other.name:
            yield f"the first link of {mine.name} is not to {other.name}"
    for _, target in links.read_page(chinese).targets[1:]:
        name = target.partition("#")[0]
        if name.endswith(".md") and (page.parent / name).with_suffix(CHINESE).is_file():
            yield f"{name} is there in Chinese"
    for before, after in BROKEN.findall(chinese):
        yield f"a line ends between two ideographs: {before}/{after}"


@pytest.mark.parametrize("page", PAGES)
def test_a_chinese_page_says_what_the_english_one_says(page: str) -> None:
    assert list(faults(ROOT / page)) == []


ENGLISH = """# Title

[中文](page.zh.md)

## One

Run `x --y` 166 times, see [other](other.md#a).

```sh
x --y  # a comment
```

| a | b |
|---|---|
| 1 | 2 |

* item
"""
GOOD = """# 标题

[English](page.md)

## 一

运行 `x --y` 166 次。
共 2 轮。见 [另一页](other.zh.md#a)。

```sh
x --y  # a comment
```

| 甲 | 乙 |
|---|---|
| 1 | 2 |

* 条目
"""


def found(folder: Path, chinese: str, english: str = ENGLISH) -> list[str]:
    """Return what is wrong with a pair of pages."""
    texts = {"page.md": english, "page.zh.md": chinese, "other.zh.md": "# 另一页\n\n## a\n"}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return list(faults(folder / "page.zh.md"))


def test_a_good_pair_has_no_faults(tmp_path: Path) -> None:
    assert found(tmp_path, GOOD) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("# a comment", "# 注释", "One: other fenced blocks"),
        ("```sh", "```", "One: other fenced blocks"),
        ("## 一", "### 一", "the headings have other levels"),
        ("* 条目", "", "One: lacks list items"),
        ("| 1 | 2 |", "| 1 | 2 |\n| 1 | 2 |", "One: adds table rows"),
        ("`x --y`", "x --y", "One: lacks x --y"),
        ("`x --y`", "`x --y` `z`", "One: adds z"),
        ("166", "165", "One: lacks 166"),
        ("[另一页](other.zh.md#a)", "另一页", "One: lacks other.md#a"),
        ("other.zh.md#a", "other.md#a", "other.md is there in Chinese"),
        ("[English](page.md)\n", "", "Title: lacks page.md"),
        ("次。\n共", "次\n共", "a line ends between two ideographs: 次/共"),
    ],
)
def test_what_is_wrong_is_reported(tmp_path: Path, old: str, new: str, fault: str) -> None:
    assert old in GOOD
    assert fault in found(tmp_path, GOOD.replace(old, new, 1))


def test_each_language_names_the_other_first(tmp_path: Path) -> None:
    silent = ENGLISH.replace("[中文](page.zh.md)", "")
    assert "the first link of page.md is not to page.zh.md" in found(tmp_path, GOOD, silent)
