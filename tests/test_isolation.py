"""Isolated tests end as they end in their own process."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.twin

CONFTEST = """
from tests.isolation import Isolation

def pytest_configure(config):
    config.addinivalue_line("markers", "isolated")
    config.pluginmanager.register(Isolation())
"""
TESTS = """
import os
import sys

import pytest

HERE = "torch_npu" not in sys.modules  # only the other process has imported it
isolated = pytest.mark.isolated

def test_is_not_isolated():
    assert HERE

@isolated
@pytest.mark.parametrize("name", ["a", "b[c]::d"])
def test_is_elsewhere(name, tmp_path):
    (tmp_path / "file").touch()
    assert not HERE and name

@isolated(STATE="set")
def test_has_variables():
    assert os.environ["STATE"] == "set"

@isolated
def test_fails():
    print("before the end")
    left, right = [1, 2], [1, 3]
    assert left == right

@isolated
def test_ends_the_process():
    print("before the end")
    os._exit(7)

@isolated
def test_is_skipped():
    pytest.skip("not here")

@isolated
@pytest.mark.xfail(strict=True, reason="known")
def test_is_expected_to_fail():
    assert HERE

@isolated
@pytest.mark.xfail(strict=True, reason="known")
def test_passes_unexpectedly():
    assert not HERE
"""


def test_isolated_tests_end_as_in_their_own_process(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_subprocess("-rs")
    result.assert_outcomes(passed=4, failed=3, skipped=1, xfailed=1)
    output = result.stdout.str()
    assert "assert [1, 2] == [1, 3]" in output  # as pytest explains it
    assert "the process ended with 7" in output
    assert output.count("before the end") == 2
    assert "not here" in output
    assert "[XPASS(strict)] known" in output
