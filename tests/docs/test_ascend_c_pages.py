"""The list of what Ascend C has is that of the headers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_lists_what_the_headers_have() -> None:
    command = [sys.executable, "tools/ascend_c_pages.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
