"""Another pair of torch and torch_npu in the same clone: its main job; ours stays as it is.

Tests need no more than the default pair: this one runs where another pair was set up before, as
with `make setup TORCH=2.10.0`.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TREE = re.compile(r"torch-(\d+)\.(\d+)\.(\d+)-python-\d\.\d+")
# The wheel by hand and the declared one; nets are trained, graphs captured and compiled for GE.
GOALS = ("demo", "examples", "EXAMPLES=training torchair")
LIMIT = 3600  # seconds; where sources changed, its libraries are built anew
# What this process has from make and from the twin of the default pair.
OURS = ("MAKE", "MFLAGS", "ASCEND", "OPWRIGHT", "LD_LIBRARY_PATH", "CMAKE_PREFIX_PATH")

pytestmark = pytest.mark.slow


def newest_tree() -> Path | None:
    """Return the tree of the newest torch whose packages are installed, if there is one."""
    trees = [tree.parents[2] for tree in (ROOT / "build" / "pairs").glob("*/.venv/stamps/python")]
    named = {match: tree for tree in trees if (match := TREE.fullmatch(tree.name))}
    newest = max(named, key=lambda match: [int(part) for part in match.groups()], default=None)
    return named[newest] if newest else None


def libraries() -> dict[Path, int]:
    """Return when each native library of this clone was written."""
    return {path: path.stat().st_mtime_ns for path in (ROOT / "opwright").rglob("*.so")}


def test_another_pair_does_its_main_job_and_leaves_this_one_alone() -> None:
    tree = newest_tree()
    if tree is None:
        pytest.skip("no other pair is set up in build/pairs; make setup TORCH=2.10.0 would do it")
    before = libraries()
    torch, python = tree.name.removeprefix("torch-").split("-python-")
    interpreter = (tree / ".venv" / "bin" / f"python{python}").resolve()
    done = subprocess.run(
        ["make", *GOALS, f"TORCH={torch}", f"PYTHON={interpreter}"],
        cwd=ROOT,
        env={name: text for name, text in os.environ.items() if not name.startswith(OURS)},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert libraries() == before
