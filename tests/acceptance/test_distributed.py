"""The sample of several ranks, used as its README says."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.sample import assert_prints_what_the_readme_says, copied, run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.twin, pytest.mark.slow]


def test_ranks_have_the_losses_of_one_process(tmp_path: Path) -> None:
    sample = copied("distributed", tmp_path)
    done = run("bash", sample / "run.sh")
    assert done.returncode == 0, done.stdout + done.stderr
    assert_prints_what_the_readme_says("distributed", done.stdout)
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


NODES = """
for rank in 0 1; do
  RANK=$rank LOCAL_RANK=0 ASCEND_RT_VISIBLE_DEVICES=$rank \\
    python train.py --parallel ddp --losses together.json & done
wait -n && wait -n
"""


def run_in(folder: Path, *command: str) -> None:
    """Run a command in a folder; it succeeds."""
    done = run("env", f"--chdir={folder}", *command)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_first_ranks_of_two_machines_train_on_different_rows(tmp_path: Path) -> None:
    sample = copied("distributed", tmp_path)
    alone = ["TORCH_DEVICE_BACKEND_AUTOLOAD=0", "python", "train.py", "--device", "cpu"]
    run_in(sample, *alone, "--losses", "alone.json")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    place = ["MASTER_ADDR=127.0.0.1", f"MASTER_PORT={port}", "WORLD_SIZE=2"]
    run_in(sample, *place, "opwright", "run", "--devices", "2", "--", "bash", "-c", NODES)
    run_in(sample, "python", "compare.py", "alone.json", "together.json")
