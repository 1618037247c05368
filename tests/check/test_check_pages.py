"""The pages of the rows are what their modules say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
KINDS = """
import sys
sys.path.insert(0, "tools")
import check_pages
known = {f"{row.name}/{kind.name}" for row in check_pages.ROWS for kind in row.kinds}
print(sorted(check_pages.broken_operators().keys() - known))
"""


def test_the_pages_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "tools/check_pages.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_every_kind_that_the_corpus_names_exists() -> None:
    done = subprocess.run(
        [sys.executable, "-c", KINDS], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
