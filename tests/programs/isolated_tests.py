"""Tests of which most are isolated; test_isolation.py runs them with a pytest of its own."""

from __future__ import annotations

import atexit
import os
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

HERE = "torch_npu" not in sys.modules  # only the other process has imported it
isolated = pytest.mark.isolated


def test_is_not_isolated() -> None:
    assert HERE


@isolated
@pytest.mark.parametrize("name", ["a", "b[c]::d"])
def test_is_elsewhere(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert not HERE
    assert name


@isolated(STATE="set")
def test_has_variables() -> None:
    assert os.environ["STATE"] == "set"


@isolated
def test_fails() -> None:
    print("before the end")  # noqa: T201 - it is reported
    left, right = [1, 2], [1, 3]
    assert left == right


@isolated
def test_ends_the_process() -> None:
    print("before the end")  # noqa: T201 - it is reported
    os._exit(7)


@isolated
def test_is_skipped() -> None:
    pytest.skip("not here")


@isolated
def test_is_skipped_before_the_process_fails() -> None:
    atexit.register(os._exit, 9)
    pytest.skip("not seen")


@isolated
@pytest.mark.xfail(strict=True, reason="known")
def test_is_expected_to_fail() -> None:
    assert HERE


@isolated
@pytest.mark.xfail(strict=True, reason="known")
def test_passes_unexpectedly() -> None:
    assert not HERE
