"""A sample of PyTorch's operator tests, another with every commit; `make conformance` runs all."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import opwright.twin  # noqa: F401 - before torch

# isort: split
from tests.conformance import ledger
from tests.conformance.cases import Case, all_cases
from tests.conformance.pool import Result, run_cases
from tests.conformance.sample import choose
from tests.conformance.verdict import judge, share_of

ROOT = Path(__file__).parents[2]
SHARE = 0.015
PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_sample_of_this_commit_is_as_the_ledger_says(part: int) -> None:
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()
    cases = choose(all_cases(), commit, SHARE)[part::PARTS]
    assert cases
    verdicts = judge(run_cases(cases, 1), ledger.read())
    complaints = [verdict.complaint for verdict in verdicts if verdict.complaint]
    assert not complaints, f"at commit {commit}:\n" + "\n".join(complaints)


def test_every_pattern_of_the_ledger_is_about_a_case() -> None:
    cases = list(all_cases())
    for entry in ledger.read():
        for pattern in entry.cases:
            assert any(ledger.match(pattern, case) for case in cases), pattern


def test_no_case_is_in_two_entries_of_the_ledger() -> None:
    entries = ledger.read()
    for case in all_cases():
        found = [entry.why for entry in entries if entry.matches(case)]
        assert len(found) <= 1, f"{case}: {found}"


def result(name: str, outcome: str) -> Result:
    return Result(Case(*name.split("/")), outcome, "why", 0.0)


def test_ledger_is_checked_both_ways() -> None:
    expected = [ledger.Expected("torch_npu", "no kernel", ("a,b*/float32/out",))]
    outcomes = [
        result("a/float32/out", "failed"),
        result("bc/float32/out", "passed"),
        result("a/float32/forward", "failed"),
        result("a/float16/out", "passed"),
        result("b/float32/out", "crashed"),
    ]
    verdicts = judge(outcomes, expected)
    assert [verdict.complaint is not None for verdict in verdicts] == [
        False,
        True,
        True,
        False,
        True,
    ]
    share = share_of(verdicts)
    assert (share.cases, share.unsupported, share.passed, share.twin) == (5, 2, 2, 1)
    assert share.percent == pytest.approx(100 * 2 / 3)


def test_a_share_of_the_cases_is_chosen_by_the_text() -> None:
    cases = list(all_cases())
    one, two = choose(cases, "one", 0.1), choose(cases, "two", 0.1)
    assert one == choose(reversed(cases), "one", 0.1)[::-1]
    assert one != two
    assert 0.08 < len(one) / len(cases) < 0.12
