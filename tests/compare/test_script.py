"""The script of a difference: whether it fails where it should."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from opwright.compare import script

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.torch


@pytest.mark.parametrize(
    ("code", "fails"),
    [("assert 1 == 2", True), ("assert 1 == 1", False), ("raise ValueError", False)],
)
def test_only_an_assertion_shows_a_difference(code: str, fails: bool, tmp_path: Path) -> None:  # noqa: FBT001 - a column of the table
    file = tmp_path / "script.py"
    file.write_text(code)
    assert script.fails_an_assertion(sys.executable, file, os.environ) is fails


def test_a_script_that_does_not_end_shows_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "script.py"
    file.write_text("import threading\nthreading.Event().wait()\n")
    monkeypatch.setattr(script, "LIMIT", 0.5)
    assert not script.fails_an_assertion(sys.executable, file, os.environ)
