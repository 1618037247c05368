"""The pages of the rows are what their sources say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tools import check_pages

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = '''"""What it proves."""
FAR = Kind("too-far", "a result is too far away", "correct it")
COLUMNS = ("eager", "meta")
ROW = Row(name="near", title="results are near", kinds=(FAR,), columns=COLUMNS, run=run)
'''


def test_the_pages_are_up_to_date() -> None:
    written = {
        path.name: path.read_text(encoding="utf-8") for path in check_pages.PAGES.glob("*.md")
    }
    assert written == check_pages.pages(), "run python tools/check_pages.py"


def test_every_kind_that_the_corpus_names_exists() -> None:
    known = {f"{row.name}/{fault.name}" for row in check_pages.row_pages() for fault in row.faults}
    assert check_pages.broken_operators().keys() <= known


def folder_with(path: Path, table: str, **sources: str) -> Path:
    (path / "__init__.py").write_text(f"ROWS: tuple[Row, ...] = ({table})\n")
    for name, text in sources.items():
        (path / f"{name}.py").write_text(text)
    return path


def test_a_row_is_read_without_running_it(tmp_path: Path) -> None:
    found = check_pages.row_pages(folder_with(tmp_path, "near.ROW,", near=SOURCE))
    assert found == (
        check_pages.RowPage(
            name="near",
            title="results are near",
            text="What it proves.",
            columns=("eager", "meta"),
            faults=(check_pages.Fault("too-far", "a result is too far away", "correct it"),),
        ),
    )


@pytest.mark.parametrize(
    ("table", "source", "message"),
    [
        ("", SOURCE, "does not list"),
        ("near.ROW,", SOURCE.partition("\n")[2], "no docstring"),
        ("near.ROW,", SOURCE.replace('"near"', "name()"), "no literal"),
        ("near.ROW,", SOURCE.replace("(FAR,)", "(NEAR,)"), "no Kind"),
    ],
)
def test_what_has_no_page_is_refused(tmp_path: Path, table: str, source: str, message: str) -> None:
    folder = folder_with(tmp_path, table, near=source)
    with pytest.raises(check_pages.PageError, match=message):
        check_pages.row_pages(folder)
