"""The training scripts, used as their README says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

SAMPLE = Path(__file__).parents[2] / "examples" / "training"
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


def test_losses_of_all_scripts_match_those_of_plain_torch(tmp_path: Path) -> None:
    built = shutil.ignore_patterns("build", "__pycache__")
    sample = Path(shutil.copytree(SAMPLE, tmp_path / "sample", ignore=built))
    done = run("bash", sample / "run.sh")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines()][2:]
    assert [row[0] for row in rows] == ["llama", "mixture", "diffusion", "resnet"]
    for name, steps, first, npu, cpu, difference in rows:
        assert steps == "20"
        assert abs(float(npu) - float(cpu)) <= 1e-3
        assert float(difference) <= 1e-3
        assert float(npu) < float(first)
        log = (sample / "build" / f"{name}.npu.log").read_text(encoding="utf-8")
        assert re.search(r"^[\d.]+ ms per step on npu$", log, re.MULTILINE)

    # The comparison itself: a loss that differs is found.
    losses = sample / "build" / "llama.npu.json"
    text = losses.read_text(encoding="utf-8")
    losses.write_text(re.sub(r"\[(\d)\.", "[9.", text), encoding="utf-8")
    done = run("python", sample / "compare.py", sample / "build", "llama", "resnet")
    assert done.returncode == 1
    assert done.stderr == "compare.py: NPU and CPU do not agree: llama\n"
