"""Pairs of torch and torch_npu: what decides about a test, and the page of the matrix."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict
from typing import TYPE_CHECKING

import pytest

from opwright.pairs import installed_minor, minor_of, read_pairs
from tests import by_version
from tests.where import Where, has
from tools import matrix
from tools.repository import ROOT

if TYPE_CHECKING:
    from pathlib import Path

REPORT = """\
<testsuites><testsuite>
<testcase classname="tests.kit.live.test_a" name="test_1"/>
<testcase classname="tests.kit.live.test_a" name="test_two"><failure message="no"/></testcase>
<testcase classname="tests.kit.live.test_a" name="test_3"><skipped type="pytest.xfail"/></testcase>
<testcase classname="tests.twin.ops.test_b" name="test_4"><skipped type="pytest.skip"/></testcase>
<testcase classname="tests.test_c" name="test_5"/>
<testcase classname="aie.tests.test_d" name="test_6"/>
</testsuite></testsuites>
"""


def test_the_installed_torch_is_one_of_the_pairs() -> None:
    assert installed_minor() in {minor_of(pair.torch) for pair in read_pairs()}


def test_every_pair_of_the_matrix_is_a_pair() -> None:
    known = {f"{pair.torch}/{python}" for pair in read_pairs() for python in pair.pythons}
    assert known.issuperset(matrix.PAIRS)
    emulated = [matrix.Parts.of(pair) for pair in matrix.EMULATED]
    assert known.issuperset(f"{parts.torch}/{parts.python}" for parts in emulated)
    assert {parts.arch for parts in emulated} == {"aarch64"}


def test_every_entry_names_tests_that_exist() -> None:
    for entry in by_version.read():
        for name in entry.tests:
            path, _, function = name.partition("::")
            file = by_version.ROOT / path
            assert file.is_file(), name
            assert f"def {function.partition('[')[0]}" in file.read_text(encoding="utf-8"), name


def test_features_are_found_without_an_import() -> None:
    assert has("json.decoder:JSONDecoder")
    assert not has("json.decoder:Absent")
    assert not has("json.absent")
    assert not has("absent_package.module")


def test_an_entry_is_about_ranges_of_versions_and_features() -> None:
    assert Where().is_here()
    assert Where(torch=">=2.7").is_here()
    assert not Where(torch="<2.7").is_here()
    assert Where(python=">=3.10", lacks="json.absent").is_here()
    assert not Where(lacks="json.decoder").is_here()
    assert Where.of({"torch": "<2.7", "reason": "r"}, ("reason",)) == Where(torch="<2.7")


def test_a_misspelt_key_is_an_error() -> None:
    with pytest.raises(ValueError, match="unknown keys \\['pyton'\\]; allowed"):
        Where.of({"pyton": "<3.12", "reason": "r"}, ("reason",))


def test_a_report_is_counted_by_suite(tmp_path: Path) -> None:
    file = tmp_path / "tests-0.xml"
    file.write_text(REPORT, encoding="utf-8")
    suites, failures = matrix.count([file])
    assert suites == {
        "aie": {"passed": 1},
        "kit/live": {"passed": 1, "failed": 1, "differs": 1},
        "others": {"passed": 1},
        "twin/ops": {"skipped": 1},
    }
    assert failures == ["tests.kit.live.test_a::test_two"]


def test_tests_that_run_again_have_their_last_outcome(tmp_path: Path) -> None:
    first, again = tmp_path / "tests-0.xml", tmp_path / "tests-1.xml"
    first.write_text(REPORT, encoding="utf-8")
    again.write_text(REPORT.replace('<failure message="no"/>', ""), encoding="utf-8")
    suites, failures = matrix.count([first, again])
    assert suites["kit/live"] == {"passed": 2, "differs": 1}
    assert failures == []
    assert matrix.count([again, first]) == matrix.count([first])


def test_results_of_other_machines_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "RESULTS", tmp_path)
    for pair in ("2.14.0/3.13", "2.7.1/3.11"):
        text = json.dumps(asdict(matrix.Result(pair, "2.7.1.post10")))
        matrix.result_file(pair).write_text(text, encoding="utf-8")
    assert [result.pair for result in matrix.read_stored_results()] == ["2.7.1/3.11", "2.14.0/3.13"]


def test_the_page_is_made_from_the_results_in_git() -> None:
    page = (ROOT / "docs" / "versions.md").read_text(encoding="utf-8")
    assert page == matrix.page(matrix.read_stored_results())


def test_the_page_shows_pairs_suites_and_failures() -> None:
    steps = dict.fromkeys(matrix.STEPS, True)
    result = matrix.Result(
        "2.10.0/3.11",
        "2.10.0.post7",
        left_out=["tests/twin/graphs"],
        steps=steps,
        suites={"kit/live": {"passed": 199, "failed": 1, "skipped": 7}},
        failures=["tests.kit.live.test_a::test_two"],
        conformance={"passed": 2997, "supported": 3000},
        commit="0123abcd",
    )
    text = matrix.page([result])
    row = (
        "| 2.10.0, 2.10.0.post7 | 3.11 | yes | yes | yes | yes |"
        " 199 of 200, 99.5% | 2997 of 3000, 99.9% | 0123abcd |\n"
    )
    assert row in text
    assert "Left out with 2.10.0/3.11: `tests/twin/graphs`.\n" in text
    assert "| kit/live | 199 of 200, 99.5% |\n" in text
    assert "* 2.10.0/3.11: `tests.kit.live.test_a::test_two`\n" in text


def test_an_emulated_pair_has_a_tree_and_a_row_of_its_own() -> None:
    pair = "2.10.0/3.11/aarch64"
    assert matrix.tree_of(pair) == matrix.TREES / "torch-2.10.0-python-3.11-aarch64"
    assert matrix.order_of("2.10.0/3.11") < matrix.order_of(pair) < matrix.order_of("2.10.0/3.12")
    steps = {"setup": True, "demo": True, "examples": False}
    text = matrix.page([matrix.Result(pair, "2.10.0.post7", steps=steps)])
    row = "| 2.10.0, 2.10.0.post7 | 3.11, aarch64 | yes | yes | not run | no |  | not run |  |\n"
    assert row in text
    assert "qemu-user emulates another processor" in text


def test_an_interpreter_that_does_not_run_is_said_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shim = tmp_path / "python3.12"
    shim.write_text("#!/bin/sh\necho 'pyenv: python3.12: command not found' >&2\nexit 127\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    reason = matrix.find_reason_to_leave_out("2.10.0/3.12")
    assert reason.startswith(f"{shim} does not run (pyenv: python3.12: command not found): put ")
    assert "PYENV_VERSION" in reason
    # Not in a pair's tree, which has an interpreter.
    command = ["make", "-f", str(ROOT / "Makefile"), "--dry-run", "setup", "PYTHON=python3.12"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "PYTHON=python3.12 does not run" in done.stderr
    assert matrix.find_reason_to_leave_out("2.10.0/3.99") == "there is no python3.99 on the PATH"
