"""The training scripts, used as their README says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.sample import assert_prints_what_the_readme_says, copied, run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.twin, pytest.mark.slow]


def test_losses_of_all_scripts_match_those_of_plain_torch(tmp_path: Path) -> None:
    sample = copied("training", tmp_path)
    done = run("bash", sample / "run.sh")
    assert done.returncode == 0, done.stdout + done.stderr
    assert_prints_what_the_readme_says("training", done.stdout)
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
