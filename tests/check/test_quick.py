"""`opwright check --quick`: which cells and samples it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from opwright.check.quick import QUICK
from opwright.check.rows import ROWS
from opwright.check.samples import ALL, Samples
from tests.check.commands import HERE, check
from tests.check.corpus_cells import subjects

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.twin


def test_its_cells_exist_and_none_compiles() -> None:
    known = {row.name: row for row in ROWS}
    for each in QUICK:
        name, _, column = each.partition("/")
        assert known[name].cost == "low"
        assert known[name].process == "plain"
        assert not column or column in known[name].columns


def test_the_page_says_what_it_leaves_out() -> None:
    page = (HERE.parents[1] / "docs" / "check.md").read_text(encoding="utf-8")
    section = page.partition("## While you edit")[2].partition("\n## ")[0]
    whole = {each for each in QUICK if "/" not in each}
    columns = {each.partition("/")[0] for each in QUICK} - whole
    for row in ROWS:
        assert (row.name in section) == (row.name not in whole or row.name == "determinism")
        for column in row.columns if row.name in columns else ():
            assert (f"{row.name}/{column}" in QUICK) or column in section, (row.name, column)


def test_it_has_the_samples_that_are_not_random() -> None:
    found, _ = subjects("numerics")
    whole = list(Samples(found["twice"]).of(ALL, 20))
    quick = list(Samples(found["twice"], is_quick=True).of(ALL, 20))
    assert 1 < len(quick) < len(whole)
    assert quick == whole[: len(quick)]


def test_it_finds_what_its_rows_find(tmp_path: Path) -> None:
    file = HERE / "corpus" / "numerics.py"
    done = check(str(file), "--quick", "--op", "off_by_little", "--op", "twice", folder=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "off_by_little  numerics [eager]  wrong-values" in done.stdout
    assert "concurrency" not in done.stdout
