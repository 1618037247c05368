"""The sample of several ranks, used as its README says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

SAMPLE = Path(__file__).parents[2] / "examples" / "distributed"
LIMIT = 300  # seconds; it takes half a minute on a core of one's own

pytestmark = [pytest.mark.twin, pytest.mark.slow]


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command of the sample, and return its output, whatever its exit code."""
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    return subprocess.run(
        command,
        env=os.environ | {"PATH": path, "OMP_NUM_THREADS": "1"},  # others run beside it
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


def test_ranks_have_the_losses_of_one_process(tmp_path: Path) -> None:
    built = shutil.ignore_patterns("build", "__pycache__")
    sample = Path(shutil.copytree(SAMPLE, tmp_path / "sample", ignore=built))
    done = run("bash", sample / "run.sh")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines()][2:]
    assert [row[0] for row in rows] == ["ddp", "fsdp", "fsdp1"]
    for _, steps, first, last, difference in rows:
        assert steps == "20"
        assert float(last) < 0.8 * float(first)
        assert float(difference) <= 1e-3

    # The comparison itself: a loss that differs is found.
    build = sample / "build"
    losses = (build / "ddp.json").read_text(encoding="utf-8")
    (build / "ddp.json").write_text(losses.replace("[", "[1", 1), encoding="utf-8")
    done = run("python", sample / "compare.py", build / "cpu.json", build / "ddp.json")
    assert done.returncode == 1
    assert done.stderr == "compare.py: not the losses of one process: ddp\n"
