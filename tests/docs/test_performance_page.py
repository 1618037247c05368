"""The page of performance: a person writes its summary, a tool the rest."""

from __future__ import annotations

import re

from tools.performance_page import BENCHMARKS, ROOT, SUMMARY, summary

PAGE = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")


def test_a_new_run_keeps_what_a_person_wrote() -> None:
    (kept,) = summary(PAGE)
    assert kept.startswith(SUMMARY)
    assert f"\n\n{kept}\n## " in PAGE
    assert summary(f"# Performance\n\n{kept}\n## Another\n\ntext\n") == [kept]


def test_a_page_without_one_gets_none() -> None:
    assert summary("") == summary("# Performance\n\n## A benchmark\n") == []


def test_the_summary_names_scripts_whose_tables_the_page_has() -> None:
    (kept,) = summary(PAGE)
    names = re.findall(r"`(\w+\.py)`", kept)
    assert names
    assert [name for name in names if not (BENCHMARKS / name).is_file()] == []
    assert [name for name in names if f"\n`benchmarks/{name}`\n" not in PAGE] == []
