"""Isolated tests end as they end in their own process."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.twin

TESTS = Path(__file__).parent / "programs" / "isolated_tests.py"  # no name that pytest collects

# Text: pytest wants it in a file of this name.
CONFTEST = """
from tests.isolation import Isolation

def pytest_configure(config):
    config.addinivalue_line("markers", "isolated")
    config.pluginmanager.register(Isolation())
"""


def test_isolated_tests_end_as_in_their_own_process(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    pytester.makeconftest(CONFTEST)
    shutil.copy(TESTS, pytester.path / "test_isolated.py")
    result = pytester.runpytest_subprocess("-rs")
    result.assert_outcomes(passed=4, failed=4, skipped=1, xfailed=1)
    output = result.stdout.str()
    assert "assert [1, 2] == [1, 3]" in output  # as pytest explains it
    assert "the process ended with 7" in output
    assert "the process ended with 9" in output
    assert output.count("before the end") == 2
    assert "not here" in output
    assert "[XPASS(strict)] known" in output
