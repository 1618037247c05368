"""The table of causes names rows and kinds that exist."""

from __future__ import annotations

from opwright.check.report.causes import CAUSES
from opwright.check.report.counts import BLOCKING
from opwright.check.rows import ROWS

KINDS = {f"{row.name}/{kind.name}" for row in ROWS for kind in row.kinds}
NAMED = set(CAUSES).union(*CAUSES.values())


def test_causes_and_consequences_are_kinds_of_rows() -> None:
    assert KINDS >= NAMED


def test_no_kind_follows_from_itself() -> None:
    assert [cause for cause, found in CAUSES.items() if cause in found] == []


def test_kinds_that_block_rows_are_reported_by_some_row_or_end_a_process() -> None:
    endings = {"crashed", "hung", "out-of-memory"}
    assert {kind.partition("/")[2] for kind in KINDS} | endings >= set(BLOCKING)
