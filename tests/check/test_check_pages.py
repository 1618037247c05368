"""The pages of the rows are what their modules say."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

from tests.alone import alone
from tests.twin.on_twin import printed

ROOT = Path(__file__).parents[2]


def test_the_pages_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "tools/check_pages.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def find_unknown_kinds() -> None:
    """Import the pages' tool, which makes this a process without an NPU."""
    check_pages = importlib.import_module("tools.check_pages")
    known = {f"{row.name}/{kind.name}" for row in check_pages.ROWS for kind in row.kinds}
    unknown = sorted(check_pages.find_broken_operators().keys() - known)
    assert not unknown, unknown


def test_every_kind_that_the_corpus_names_exists() -> None:
    printed(alone(find_unknown_kinds))
