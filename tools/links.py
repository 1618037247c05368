"""Find dead links and anchors in Markdown files, and lists that only some readers show as lists.

    python -m tools.links          # every Markdown file of the repository

Text is read as CommonMark. A link leads to a file or folder of the repository, or to a heading of a
Markdown file; addresses of other hosts are not looked up. The site (tools/site_hooks.py) makes the
same anchors from the same headings.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote

from markdown_it import MarkdownIt

from tools.repository import ROOT, repository_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from markdown_it.token import Token

PARSER = MarkdownIt("commonmark").enable("table")
SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
# Characters that an anchor drops: all but letters and digits of any script, - and _ and spaces.
DROPPED = re.compile(r"[^\w\- ]")
# In HTML that stands in Markdown.
ID = re.compile(r'\b(?:id|name)="([^"]+)"')
ADDRESS = re.compile(r'\b(?:href|src)="([^"]+)"')
# mkdocstrings' line that stands for the documentation of a name, which is its anchor as well.
DOCUMENTED = re.compile(r"^::: (\S+)$", re.MULTILINE)
# Where the site's pages are: docs/, aie/docs/, README.md, README.LANGUAGE.md, and each README.md
# in examples/ and aie/.
DOCS, AIE, EXAMPLES, HOME = "docs", "aie", "examples", "README"
INDENT = 4  # columns that the site's parser wants before what stands inside of a list item


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong in a Markdown file.

    Parameters
    ----------
    line
        Of the paragraph, heading or list, from 1.
    """

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


@dataclass(frozen=True, slots=True)
class Page:
    """A Markdown file's targets for links, and where its own links lead."""

    anchors: frozenset[str]
    targets: tuple[tuple[int, str], ...]
    lists: tuple[tuple[int, str], ...]


def anchor_of(heading: str) -> str:
    """Return the anchor of a heading's text, as hosts of repositories make it.

    >>> anchor_of("`--json`: for scripts, and people")
    '--json-for-scripts-and-people'
    """
    return DROPPED.sub("", heading.strip().lower()).replace(" ", "-")


def read_page(text: str) -> Page:
    """Parse a Markdown file."""
    tokens = PARSER.parse(text)
    anchors = set(DOCUMENTED.findall(text))
    targets: list[tuple[int, str]] = []
    for before, token in zip([None, *tokens], tokens, strict=False):
        line = token.map[0] + 1 if token.map else 0
        if token.type == "inline":
            if before is not None and before.type == "heading_open":
                anchors.add(anchor_of(text_of(token)))
            targets += [(line, address) for address in addresses(token)]
        if token.type in {"inline", "html_block"}:
            for html in html_of(token):
                anchors |= {*ID.findall(html)}
                targets += [(line, address) for address in ADDRESS.findall(html)]
    return Page(frozenset(anchors), tuple(targets), tuple(list_problems(tokens, text.splitlines())))


def text_of(token: Token) -> str:
    """Return the text of a heading without its markup."""
    return "".join(
        each.content for each in token.children or () if each.type in {"text", "code_inline"}
    )


def addresses(token: Token) -> Iterator[str]:
    """Yield where the links and images of a paragraph lead to."""
    for each in token.children or ():
        address = each.attrGet("src" if each.type == "image" else "href")
        if address is not None:
            yield str(address)


def html_of(token: Token) -> Iterator[str]:
    """Yield the HTML in a token."""
    for each in [token, *(token.children or ())]:
        if each.type.startswith("html"):
            yield each.content


def list_problems(tokens: list[Token], lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yield what the site's parser, Python-Markdown, would not read as CommonMark does."""
    depth = 0
    for token in tokens:
        if token.type in {"bullet_list_open", "ordered_list_open"}:
            assert token.map is not None
            first = token.map[0]
            if depth == 0 and first > 0 and lines[first - 1].strip():
                yield first + 1, "a list needs an empty line before it"
        least = {"list_item_open": 2, "fence": 1}.get(token.type)
        if least is not None and depth >= least:
            assert token.map is not None
            line = lines[token.map[0]]
            if (len(line) - len(line.lstrip())) % INDENT:
                what = "a code block" if token.type == "fence" else "an item"
                yield token.map[0] + 1, f"{what} inside of an item needs {INDENT} spaces per level"
        depth += token.nesting if token.type.endswith(("list_open", "list_close")) else 0


def problems(files: Mapping[str, str], others: Iterable[str] = ()) -> list[Problem]:
    """Return what is wrong in Markdown files.

    Parameters
    ----------
    files
        Texts by their paths in the repository.
    others
        Paths of the repository's other files.
    """
    pages = {name: read_page(text) for name, text in files.items()}
    there = {*files, *others}
    there |= folders_of(there)
    found = []
    for name, page in pages.items():
        found += [Problem(name, line, text) for line, text in page.lists]
        for line, target in page.targets:
            wrong = explain_wrong(target, name, pages, there)
            if wrong:
                found.append(Problem(name, line, f"{target}: {wrong}"))
    return sorted(found, key=lambda problem: (problem.file, problem.line))


def explain_wrong(target: str, name: str, pages: Mapping[str, Page], there: set[str]) -> str:
    """Return what is wrong with a link of a file; empty if nothing is."""
    if SCHEME.match(target):
        return ""
    if target.startswith("/"):
        return "write it relative to the file"
    path, _, anchor = unquote(target).partition("#")
    to = resolve(name, path)
    if to not in there:
        return "there is no such file in the repository"
    if anchor and to not in pages:
        return "anchors are checked in Markdown files only"
    if anchor and anchor not in pages[to].anchors:
        return f"{to} has no such heading"
    return ""


def folders_of(files: Iterable[str]) -> set[str]:
    """Return the folders that files are in."""
    return {str(folder) for name in files for folder in PurePosixPath(name).parents}


def resolve(name: str, path: str) -> str:
    """Return the path in the repository that a file means by a relative one."""
    if not path:
        return name
    return os.path.normpath(PurePosixPath(name).parent / path)


def page_of(path: str) -> str | None:
    """Return where the site has a Markdown file of the repository, as a path of a source in docs/.

    >>> page_of("README.zh.md"), page_of("examples/torchair/README.md"), page_of("docs/twin.md")
    ('index.zh.md', 'examples/torchair/README.md', 'twin.md')
    >>> page_of("aie/docs/guide.md"), page_of("aie/README.md")
    ('aie/guide.md', 'aie/README.md')
    >>> page_of("tests/README.md")
    """
    file = PurePosixPath(path)
    if file.suffix != ".md":
        return None
    if file.parts[0] == DOCS:
        return str(file.relative_to(DOCS))
    if len(file.parts) == 1 and file.name.startswith(f"{HOME}."):
        return file.name.replace(HOME, "index", 1)
    if file.is_relative_to(f"{AIE}/{DOCS}"):
        return str(AIE / file.relative_to(f"{AIE}/{DOCS}"))
    if file.parts[0] in {EXAMPLES, AIE} and file.name == f"{HOME}.md":
        return str(file)
    return None


def repository_problems(root: Path = ROOT) -> list[Problem]:
    """Return what is wrong in the Markdown files of the repository."""
    names = repository_files(root)
    pages = {
        name: (root / name).read_text(encoding="utf-8") for name in names if name.endswith(".md")
    }
    return problems(pages, names)


if __name__ == "__main__":
    for each in (everything := repository_problems()):
        print(each)
    sys.exit(1 if everything else 0)
