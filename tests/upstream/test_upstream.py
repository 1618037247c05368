"""Parts of the runners of other repositories' tests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import typer

from tests.upstream import reviewed
from tests.upstream.command import chosen_modules, judge
from tests.upstream.results import Result, results_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.upstream.results import Plan, Run

KINDS = ("device", "stub", "revision")
HEADER = "test\tkind\twhy\n"


def result(name: str, outcome: str) -> Result:
    return Result(test=name, outcome=outcome, message="why", seconds=0.0)


def entries(**kinds: str) -> dict[str, reviewed.Entry]:
    return {name: reviewed.Entry(test=name, kind=kind, why="so") for name, kind in kinds.items()}


def test_the_list_is_checked_both_ways() -> None:
    listed = entries(a="stub", b="revision", c="device", d="device")
    results = [
        result("a", "failed"),
        result("b", "passed"),
        result("c", "passed"),
        result("d", "failed"),
        result("e", "failed"),
        result("f", "skipped"),
        result("g", "passed"),
    ]
    lines = reviewed.complaints(results, listed)
    assert [line.split()[0] for line in lines] == ["b", "d", "e"]
    assert reviewed.summary(results, listed) == {
        "list: stub": 1,
        "list: revision": 1,
        "passed": 2,
        "failed": 2,
        "skipped": 1,
    }


@pytest.mark.parametrize("line", ["a\tother\twhy", "a\tstub\t", "a\tstub\twhy\na\tstub\twhy"])
def test_a_line_without_kind_or_reason_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "list.tsv"
    path.write_text(f"{HEADER}{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"list\.tsv"):
        reviewed.read(path, KINDS)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("base.test_a.*", ["base.test_a"]),
        ("base.test_a.Small.test_sum", ["base.test_a"]),
        ("base.*", ["base.test_a", "base.test_ab"]),
        ("*.Small.test_sum", ["base.test_a", "base.test_ab", "custom.test_a"]),
        ("custom*", ["custom.test_a"]),
    ],
)
def test_only_modules_that_a_pattern_may_be_about_are_run(
    pattern: str, expected: list[str]
) -> None:
    names = ["base.test_a", "base.test_ab", "custom.test_a"]
    assert chosen_modules(names, [pattern]) == expected
    assert chosen_modules(names, []) == names


def test_what_a_process_has_lost_is_run_by_another() -> None:
    plans = []

    def run_process(plan: Plan) -> Run:
        plans.append(plan)
        done = [{"test": "m.a", "outcome": "passed", "message": "", "seconds": 0.1}]
        if len(plans) == 1:
            return [{"begun": "m.a"}, *done, {"begun": "m.b"}], "it ended", "the output"
        return [{"end": "m"}], "", ""

    found = results_of("m", ["m.*"], run_process)
    assert [(each.test, each.outcome) for each in found] == [("m.a", "passed"), ("m.b", "ended")]
    assert found[1].message == "it ended: the output"
    assert [plan["done"] for plan in plans] == [[], ["m.a", "m.b"]]


def test_a_module_that_does_not_begin_is_one_result() -> None:
    (found,) = results_of("m", [], lambda _: ([], "it ended", "no such module"))
    assert found.test == "m.(before the first test)"


def test_a_run_is_judged_by_the_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.jsonl"
    parts = [[result("m.a", "passed")], [result("m.b", "failed")]]
    listed = entries(**{"m.c": "stub"})
    with pytest.raises(typer.Exit) as raised:
        judge(parts, listed, patterns=[], log=log)
    assert raised.value.exit_code == 1
    assert capsys.readouterr().out.splitlines() == [
        "m.b failed (the list has no entry): why",
        "m.c (on the list) is no test",
        "1 failed, 1 passed",
    ]
    assert [json.loads(line)["test"] for line in log.read_text("utf-8").splitlines()] == [
        "m.a",
        "m.b",
    ]
    with pytest.raises(typer.Exit) as raised:
        judge(parts, entries(**{"m.b": "stub"}), patterns=[], log=None)
    assert raised.value.exit_code == 0
    with pytest.raises(typer.BadParameter, match="no test is chosen"):
        judge([], {}, patterns=["n.*"], log=None)
