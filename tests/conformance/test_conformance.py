"""The ledger of `make conformance`, and how its cases are chosen.

The databases are imported in a process of their own: they change hypothesis' and torch's settings.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance import ledger
from tests.conformance.case import Case
from tests.conformance.pool import Result
from tests.conformance.sample import choose
from tests.conformance.verdict import judge, share_of

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    command = [sys.executable, "-m", "tests.conformance", "--list"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return [Case(*line.split("/")) for line in done.stdout.splitlines()]


def test_every_pattern_of_the_ledger_is_about_a_case(cases: list[Case]) -> None:
    for entry in ledger.read():
        for pattern in entry.cases:
            assert any(ledger.match(pattern, case) for case in cases), pattern


def test_no_case_is_in_two_entries_of_the_ledger(cases: list[Case]) -> None:
    entries = ledger.read()
    for case in cases:
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
    ]
    verdicts = judge(outcomes, expected)
    assert [verdict.complaint is not None for verdict in verdicts] == [False, True, True, False]
    share = share_of(verdicts)
    assert (share.cases, share.unsupported, share.passed, share.twin) == (4, 1, 2, 1)
    assert share.percent == pytest.approx(100 * 2 / 3)


@pytest.mark.parametrize(("reason", "allowed"), [("torch_npu", True), ("twin", False)])
def test_the_twin_may_not_crash(reason: ledger.Reason, *, allowed: bool) -> None:
    expected = [ledger.Expected(reason, "null pointer", ("a/*/*",))]
    (verdict,) = judge([result("a/float32/out", "crashed")], expected)
    assert (verdict.complaint is None) == allowed


def test_a_share_of_the_cases_is_chosen_by_the_text(cases: list[Case]) -> None:
    one, two = choose(cases, "one", 0.1), choose(cases, "two", 0.1)
    assert one == choose(reversed(cases), "one", 0.1)[::-1]
    assert one != two
    assert 0.08 < len(one) / len(cases) < 0.12
