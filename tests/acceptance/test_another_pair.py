"""Another pair of torch and torch_npu in the same clone: its main job; ours stays as it is.

Tests need no more than the default pair: this one runs where another pair was set up before, as
with `make setup TORCH=2.10.0`.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.pair_trees import ROOT, environment_outside, newest_tree

if TYPE_CHECKING:
    from pathlib import Path

# The wheel by hand and the declared one; nets are trained, graphs captured and compiled for GE.
GOALS = ("demo", "examples", "EXAMPLES=training torchair")
LIMIT = 3600  # seconds; where sources changed, its libraries are built anew

pytestmark = pytest.mark.slow


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
        env=environment_outside(),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert libraries() == before
