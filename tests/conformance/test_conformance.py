"""The ledger of `make conformance`, and how its cases are chosen.

The databases are imported in a process of their own: they change hypothesis' and torch's settings.
"""

from __future__ import annotations

import contextlib
import importlib
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conformance import ledger, pool, report
from tests.conformance.case import Case
from tests.conformance.pool import Result, run_cases
from tests.conformance.sample import choose
from tests.conformance.verdict import judge, share_of

if TYPE_CHECKING:
    from queue import SimpleQueue
    from types import ModuleType

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "tests.conformance")
SHARE = 0.005  # of all cases, in every run of the tests; another choice with each commit
PARTS = 4  # so that several processes can take one each

pytestmark = pytest.mark.twin


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    done = subprocess.run(
        [*COMMAND, "--list"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return [Case(*line.split("/")) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("part", range(PARTS))
def test_a_sample_is_as_the_ledger_says(part: int, cases: list[Case]) -> None:
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()
    chosen = choose(cases, commit, SHARE)[part::PARTS]
    assert chosen
    verdicts = judge(run_cases(chosen, 1), ledger.read())
    complaints = [verdict.complaint for verdict in verdicts if verdict.complaint]
    assert not complaints, f"at commit {commit}:\n" + "\n".join(complaints)


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


def test_a_case_that_compares_nothing_does_not_count_as_passed() -> None:
    expected = [ledger.Expected("no_sample", "the CPU refuses all", ("a/*/out",))]
    outcomes = [
        result("a/float32/out", "nothing"),
        result("a/float16/out", "passed"),
        result("b/float32/out", "nothing"),
    ]
    verdicts = judge(outcomes, expected)
    assert [verdict.complaint is not None for verdict in verdicts] == [False, True, True]
    assert verdicts[2].complaint == "b/float32/out nothing (the ledger has no entry): why"
    share = share_of(verdicts)
    assert (share.cases, share.nothing, share.supported, share.passed) == (3, 2, 1, 1)
    none = share_of(verdicts[:1])
    assert (none.supported, none.percent) == (0, None)
    assert report.row("bool", none) == "| bool | 1 | 1 | 0 | 0 | 0 | 0 | 0 | none |"


def test_a_pattern_without_a_case_is_an_error() -> None:
    done = subprocess.run(
        [*COMMAND, "no_such/*/*"], cwd=ROOT, check=False, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "no case is chosen by" in done.stderr


def of_a_constant() -> ModuleType:
    return importlib.import_module("tests.conformance.constant")


@pytest.mark.isolated
def test_a_case_without_a_gradient_compares_nothing() -> None:
    constant = of_a_constant()
    with pytest.raises(constant.RefusedError):
        constant.compare_gradients()


@pytest.mark.isolated
def test_a_tensor_that_cannot_be_moved_to_the_device_is_no_refusal_of_the_device() -> None:
    # Without the build, or without the driver.
    with pytest.raises((AssertionError, RuntimeError), match=r"CUDA|NVIDIA"):
        of_a_constant().refuses()


def test_an_early_end_waits_for_no_case_that_has_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    served, drained = [], threading.Event()
    drain = pool.drain

    def serve(waiting: SimpleQueue[Case], results: SimpleQueue[Result | BaseException]) -> None:
        while not waiting.empty():
            served.append(waiting.get())
            results.put(Result(served[-1], "passed", "", 0.0))
            assert drained.wait(60)

    def drain_and_tell(waiting: SimpleQueue[Case]) -> None:
        drain(waiting)
        drained.set()

    monkeypatch.setattr(pool, "serve_cases", serve)
    monkeypatch.setattr(pool, "drain", drain_and_tell)
    cases = [Case("a", "float32", "out"), Case("b", "float32", "out")]
    with contextlib.closing(run_cases(cases, 1)) as results:
        assert next(results).case == cases[0]
    assert served == cases[:1]


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
