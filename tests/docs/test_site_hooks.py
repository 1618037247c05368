"""Links of the repository's pages in the site: to its pages, or paths where it has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

PAGES = {
    "README.md": "index.md",
    "docs/twin.md": "twin.md",
    "docs/checks/README.md": "checks/README.md",
    "examples/one/README.md": "examples/one/README.md",
    "aie/README.md": "aie/README.md",
    "aie/docs/guide.md": "aie/guide.md",
}
FILES = [*PAGES, "examples/one/run.sh", "docs/picture.svg"]


@pytest.fixture
def hooks() -> ModuleType:
    pytest.importorskip("mkdocs", reason="only make docs installs the site's generator")
    from tools import site_hooks  # noqa: PLC0415 - it imports the generator

    return site_hooks


@pytest.mark.parametrize(
    ("page", "text", "html"),
    [
        ("index.md", "[twin](docs/twin.md#a)", '<a href="twin.md#a">twin</a>'),
        ("index.md", "[docs/twin.md](docs/twin.md)", '<a href="twin.md">The twin</a>'),
        ("checks/README.md", "[`../twin.md`](../twin.md#a)", '<a href="../twin.md#a">The twin</a>'),
        ("twin.md", "[start](../README.md)", '<a href="index.md">start</a>'),
        ("twin.md", "[one](../examples/one)", '<a href="examples/one/README.md">one</a>'),
        ("twin.md", "[x](../aie/docs/guide.md#a)", '<a href="aie/guide.md#a">x</a>'),
        ("aie/guide.md", "[x](../../docs/twin.md)", '<a href="../twin.md">x</a>'),
        ("aie/README.md", "[x](docs/guide.md)", '<a href="guide.md">x</a>'),
        ("checks/README.md", "[x](../twin.md)", '<a href="../twin.md">x</a>'),
        ("examples/one/README.md", "[x](../../docs/twin.md)", '<a href="../../twin.md">x</a>'),
        ("twin.md", "[run.sh](../examples/one/run.sh)", "<code>examples/one/run.sh</code>"),
        ("twin.md", "[it](../examples/one/run.sh)", "it (<code>examples/one/run.sh</code>)"),
        ("twin.md", "[`a` b](../examples)!", "<code>a</code> b (<code>examples</code>)</span>!"),
        ("index.md", "![x](docs/picture.svg)", 'src="picture.svg"'),
        ("twin.md", "[x](#a) [y](https://host.example)", '<a href="https://host.example">y</a>'),
        # As it stands: the generator's own check reports it.
        ("twin.md", "[x](nowhere.md)", '<a href="nowhere.md">x</a>'),
        ("twin.md", "| a |\n|---|\n| `b\\|c` |", "<code>b|c</code>"),
    ],
)
def test_where_links_lead(hooks: ModuleType, page: str, text: str, html: str) -> None:
    from markdown import markdown  # noqa: PLC0415 - comes with the generator

    processor = hooks.SiteLinks(PAGES, FILES, {"twin.md": "The twin"})
    processor.page = page
    assert html in markdown(text, extensions=["tables", hooks.Links(processor)])


def test_titles_are_those_of_the_menu(hooks: ModuleType) -> None:
    menu = [{"Start": [{"Twin": "twin.md"}]}, {"Errors": "errors.md"}, "plain.md"]
    assert dict(hooks.titles_of(menu)) == {"twin.md": "Twin", "errors.md": "Errors"}


@pytest.mark.parametrize(
    ("text", "loads"),
    [
        ('<script src="https://host.example/x.js">', True),
        ('<link rel="stylesheet" href="//host.example/x.css">', True),
        ("@import 'https://host.example/x.css'", True),
        ("background: url(https://host.example/x.png)", True),
        ('<img alt="x" src="http://host.example/x.png">', True),
        ('<a href="https://host.example/">x</a>', False),
        ('<script src="../x.js"></script><link href="x.css" rel="stylesheet">', False),
    ],
)
def test_what_is_loaded_from_another_host(hooks: ModuleType, text: str, *, loads: bool) -> None:
    assert bool(hooks.LOADED.search(text)) is loads
