"""Additions of the site (mkdocs.yml) to the pages of docs/, and where their links lead there.

* README.md is its first page; each README.md in examples/ is a page, and so are those of aie/.
* A link to such a file, or to one in docs/, leads to the page; if its text is the file's name, it
  gets the page's title in the menu. A link to another file of the repository becomes the file's
  path, since the site does not have it. `--strict` fails where there is no such file.
* A heading's anchor is that of tools/links.py.
* The site loads nothing from other hosts: it is read without a network.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement

from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor
from markdown.util import AtomicString
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

from tools import links
from tools.repository import ROOT, repository_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from markdown import Markdown
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

AFTER_INLINE = 15  # between Markdown's own inline patterns (20) and MkDocs' check of links (0)
# A script, style sheet, picture, font or frame of another host.
LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio)\b[^>]*\bsrc=["']?(?:https?:)?//"""
    r"""|<link\b(?![^>]*\brel=["']?(?:canonical|next|prev))[^>]*\bhref=["']?(?:https?:)?//"""
    r"""|@import\s+(?:url\()?["']?(?:https?:)?//|\burl\(["']?(?:https?:)?//"""
)


class SiteLinks(Treeprocessor):
    """The links of one page of the site, as its source in the repository has them."""

    def __init__(
        self, pages: dict[str, str], repository: Iterable[str], titles: dict[str, str]
    ) -> None:
        super().__init__()
        self.pages = pages
        self.titles = titles
        self.sources = {page: path for path, page in pages.items()}
        self.others = {*repository} - {*pages}
        self.others |= {
            str(folder) for name in repository for folder in PurePosixPath(name).parents
        }
        self.page = ""

    def run(self, root: Element) -> None:
        """Turn links to files of the repository into links of the site, or into paths.

        Code in tables has its vertical bars as other readers of Markdown show them.
        """
        for parent in [*root.iter()]:
            for index, element in enumerate([*parent]):
                if element.tag == "a" and "href" in element.attrib:
                    parent[index] = self.link(element)
                elif element.tag == "img":
                    element.set("src", self.address(element.get("src", "")))
        for cell in root.iter("td"):
            for code in cell.iter("code"):  # Python-Markdown leaves the backslash, others do not
                code.text = AtomicString((code.text or "").replace("\\|", "|"))

    def source(self) -> PurePosixPath:
        """Return the file of the repository that the page is made of."""
        return PurePosixPath(self.sources.get(self.page, f"{links.DOCS}/{self.page}"))

    def target(self, address: str) -> str:
        """Return the path in the repository that an address means; empty if it means none."""
        if links.SCHEME.match(address) or address.startswith(("#", "/")):
            return ""
        return links.resolve(str(self.source()), address.partition("#")[0])

    def address(self, address: str) -> str:
        """Return an address for the page's place in the site."""
        target = self.target(address)
        if not target:
            return address
        site = self.pages.get(target, target.removeprefix(f"{links.DOCS}/"))
        hash_, anchor = address.partition("#")[1:]
        return self.relative(site) + hash_ + anchor

    def relative(self, site: str) -> str:
        """Return the address of a page of the site."""
        return os.path.relpath(site, PurePosixPath(self.page).parent)

    def link(self, element: Element) -> Element:
        """Return what a link becomes."""
        target = self.target(element.get("href", ""))
        readme = f"{target}/{links.HOME}.md"
        if readme in self.pages:  # a folder
            element.set(
                "href", os.path.relpath(self.pages[readme], PurePosixPath(self.page).parent)
            )
        elif target in self.others and not target.startswith(f"{links.DOCS}/"):
            return path_instead(element, target)
        else:
            self.name(element, target)
            element.set("href", self.address(element.get("href", "")))
        return element

    def name(self, element: Element, target: str) -> None:
        """Give a link whose text is the name of a page's file the page's title."""
        path = element.get("href", "").partition("#")[0]
        title = self.titles.get(self.pages.get(target, ""))
        if title is not None and "".join(element.itertext()) in {path, target}:
            element.text = title
            element[:] = []


def path_instead(link: Element, path: str) -> Element:
    """Return a link's text and the path of its file, or the path alone where the text is in it."""
    span = Element("span")
    span.tail = link.tail
    text = "".join(link.itertext())
    if text in path:
        code = SubElement(span, "code")
    else:
        span.text, span[:] = link.text, [*link]
        code = SubElement(span, "code")
        if len(span) > 1:
            span[-2].tail = (span[-2].tail or "") + " ("
        else:
            span.text = (span.text or "") + " ("
        code.tail = ")"
    code.text = path
    return span


class Links(Extension):
    """Brings the site's links into its Markdown parser."""

    def __init__(self, processor: SiteLinks) -> None:
        super().__init__()
        self.processor = processor

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - Markdown's name
        """Register the links of the site."""
        md.treeprocessors.register(self.processor, "site_links", AFTER_INLINE)


STATE: dict[str, SiteLinks] = {}


def titles_of(menu: object) -> Iterator[tuple[str, str]]:
    """Yield the page and the title of each entry of a part of the menu."""
    match menu:
        case list():
            for each in menu:
                yield from titles_of(each)
        case dict():
            for title, part in menu.items():
                if isinstance(part, str):
                    yield part, title
                else:
                    yield from titles_of(part)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Bring links and anchors into the parser."""
    names = repository_files()
    pages = {name: page for name in names if (page := links.page_of(name)) is not None}
    STATE["links"] = SiteLinks(pages, names, dict(titles_of(config.nav)))
    config.markdown_extensions.append(Links(STATE["links"]))
    config.mdx_configs["toc"] = {
        **config.mdx_configs.get("toc", {}),
        "slugify": lambda heading, _: links.anchor_of(heading),
    }
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages and pictures that lie elsewhere in the repository."""
    for name, page in STATE["links"].pages.items():
        if not name.startswith(f"{links.DOCS}/"):
            files.append(File.generated(config, page, abs_src_path=str(ROOT / name)))
            folder = ROOT / Path(name).parent
            for picture in sorted(folder.glob("*.svg")):
                place = PurePosixPath(page).parent / picture.name
                files.append(File.generated(config, str(place), abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> None:
    """Note which page is read."""
    del markdown, config, files
    STATE["links"].page = page.file.src_uri


def on_post_build(*, config: MkDocsConfig) -> None:
    """Write the search's index where pages that are opened as files read it; check all pages.

    Raises
    ------
    PluginError
        A page loads something from another host.
    """
    index = Path(config.site_dir, "search", "search_index.json")
    script = f"var __index = {index.read_text(encoding='utf-8')}"
    index.with_suffix(".js").write_text(script, encoding="utf-8")
    for path in sorted(Path(config.site_dir).rglob("*")):
        if path.suffix in {".html", ".css"}:
            found = LOADED.search(path.read_text(encoding="utf-8"))
            if found:
                message = f"{path.relative_to(config.site_dir)} loads from another host: {found[0]}"
                raise PluginError(message)
