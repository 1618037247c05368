"""Another pair of torch and torch_npu in the same clone: its main job; ours stays as it is.

Tests need no more than the default pair: these run where another pair was set up before, as with
`make setup TORCH=2.10.0`, or with `ARCH=aarch64` for an emulated processor.
"""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.pair_trees import ROOT, environment_outside, newest_tree

if TYPE_CHECKING:
    from pathlib import Path

# The wheel by hand and the declared one, compiled for GE and captured; nets are trained.
DEMO = ("demo",)
GRAPHS = ("examples", "EXAMPLES=training torchair")
# Under emulation without `torchair`, whose modes the demo has as well; and kernels in Ascend C.
EMULATED = ("examples", "EXAMPLES=training ascend_c")
LIMIT = 3600  # seconds; where sources changed, its libraries are built anew
EMULATED_LIMIT = 3 * LIMIT
# A graph that is replayed computes with what its inputs hold by then. Text: for the Python of
# another clone.
CAPTURED = """
import torch
x = torch.randn(64, 64).npu()
weight = torch.randn(64, 64).npu()
graph = torch.npu.NPUGraph()
with torch.npu.graph(graph):
    y = torch.softmax(x @ weight, -1)
for _ in range(3):
    values = torch.randn(64, 64)
    x.copy_(values)
    graph.replay()
    torch.testing.assert_close(y.cpu(), torch.softmax(values @ weight.cpu(), -1))
print("replayed")
"""

pytestmark = pytest.mark.slow


def libraries() -> dict[Path, int]:
    """Return when each native library of this clone was written."""
    return {path: path.stat().st_mtime_ns for path in (ROOT / "opwright").rglob("*.so")}


def run(*command: str | Path, limit: int) -> str:
    """Run a program that knows nothing of this process's pair; return what it printed."""
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment_outside(),
        capture_output=True,
        text=True,
        timeout=limit,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def test_another_pair_does_its_main_job_and_leaves_this_one_alone() -> None:
    tree = newest_tree()
    if tree is None:
        pytest.skip("no other pair is set up in build/pairs; make setup TORCH=2.10.0 would do it")
    before = libraries()
    torch, python = tree.name.removeprefix("torch-").split("-python-")
    interpreter = (tree / ".venv" / "bin" / f"python{python}").resolve()
    run("make", *DEMO, *GRAPHS, f"TORCH={torch}", f"PYTHON={interpreter}", limit=LIMIT)
    assert libraries() == before


def test_an_emulated_processor_does_the_main_job() -> None:
    tree = newest_tree("-aarch64")
    if tree is None:
        pytest.skip(
            "no pair for AArch64 is set up in build/pairs; "
            "make setup TORCH=2.10.0 ARCH=aarch64 would do it"
        )
    before = libraries()
    torch, python, arch = re.split("-python-|-", tree.name.removeprefix("torch-"))
    pair = (f"TORCH={torch}", f"PYTHON=python{python}", f"ARCH={arch}")
    printed = run("make", *DEMO, *pair, limit=EMULATED_LIMIT)
    assert f"-linux_{arch}.whl" in printed
    run("make", *EMULATED, *pair, limit=EMULATED_LIMIT)
    programs = tree / ".venv" / "bin"
    command = (programs / "opwright", "run", "--", programs / "python", "-c", CAPTURED)
    assert run(*command, limit=EMULATED_LIMIT).endswith("replayed\n")
    assert libraries() == before
