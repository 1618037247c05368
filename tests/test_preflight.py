"""Preflight: every decision, without the machine that causes it."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING

import pytest

from opwright.pairs import Pair, read_pairs
from tools import preflight
from tools.repository import ROOT

if TYPE_CHECKING:
    from pathlib import Path

GOOD = preflight.Facts(
    folder="/home/me/opwright",
    system="Linux",
    machine="x86_64",
    torch="2.10.0",
    torch_npu="2.10.0.post7",
    python=(3, 12),
    compiler="12.2.0",
    disk=20 << 30,
    memory=8 << 30,
    torch_present=False,
)
PAIRS = (
    Pair("2.9.0", "2.9.0.post9", ("3.11",)),
    Pair("2.10.0", "2.10.0.post7", ("3.11", "3.12")),
)


def test_good_machine_has_no_problem() -> None:
    assert preflight.problems(GOOD, PAIRS) == []


@pytest.mark.parametrize(
    ("change", "what", "cure"),
    [
        ({"folder": "/home/me/my clone"}, "my clone has a space in its name", "without one"),
        ({"machine": "riscv64"}, "Linux on riscv64", "one of these processors"),
        ({"system": "Darwin"}, "Darwin", "a Linux machine"),
        ({"missing": ("qemu-user",)}, "are missing: qemu-user", "apt-get install qemu-user"),
        (
            {"python": (3, 9)},
            "no wheel of 2.10.0 for Python 3.9",
            "TORCH=2.10.0 with Python 3.11, ",
        ),
        ({"torch": "2.5.1"}, "torch 2.5.1 is none of the releases", "TORCH=2.9.0 with Python 3.11"),
        ({"torch_npu": "2.9.0"}, "2.9.0 does not belong to torch 2.10.0", "leave out TORCH_NPU"),
        ({"compiler": None}, "no C++ compiler", "apt-get install g++"),
        ({"compiler": "9.4.0"}, "g++ 9.4.0 is too old", "install g++ 11"),
        ({"compiler": ""}, "unknown version", "install g++ 11"),
        ({"disk": 5 << 30}, "5.0 GiB of disk", "free some space"),
        ({"memory": 3 << 30}, "3.0 GiB of memory", "close other programs"),
    ],
)
def test_each_problem_has_its_cure(change: dict[str, object], what: str, cure: str) -> None:
    facts = dataclasses.replace(GOOD, **change)  # type: ignore[arg-type]  # a table of fields
    (problem,) = preflight.problems(facts, PAIRS)
    assert what in problem.what
    assert cure in problem.cure


def test_a_machine_with_the_other_processor_has_no_problem() -> None:
    assert preflight.problems(dataclasses.replace(GOOD, machine="aarch64"), PAIRS) == []


def test_all_problems_are_reported_at_once() -> None:
    bad = dataclasses.replace(GOOD, python=(3, 9), compiler=None, disk=0)
    assert len(preflight.problems(bad, PAIRS)) == 3


def test_an_unpacked_torch_needs_no_room_again() -> None:
    facts = dataclasses.replace(GOOD, torch_present=True, disk=(5 << 30) // 2)
    assert preflight.problems(facts, PAIRS) == []


def test_every_pair_of_the_table_is_accepted() -> None:
    for pair in read_pairs():
        for python in pair.pythons:
            major, minor = map(int, python.split("."))
            facts = dataclasses.replace(
                GOOD, torch=pair.torch, torch_npu=pair.torch_npu, python=(major, minor)
            )
            assert preflight.problems(facts, read_pairs()) == []


def test_each_torch_has_its_release_of_torch_npu() -> None:
    assert preflight.npu_release("2.10.0", PAIRS) == "2.10.0.post7"
    assert preflight.npu_release("2.5.1", PAIRS) == "2.5.1"


@pytest.mark.parametrize(
    ("requirements", "cuda"),
    [
        (["sympy>=1.13", "filelock"], None),
        (["sympy", "nvidia-cublas-cu12==12.8; platform_system == 'Linux'"], "nvidia-cublas-cu12"),
        (["nvidia-ml-py; extra == 'monitor'"], None),
    ],
)
def test_build_that_pip_offers(requirements: list[str], cuda: str | None) -> None:
    metadata = {"name": "torch", "version": "2.13.0", "requires_dist": requirements}
    report = json.dumps({"install": [{"metadata": metadata}]})
    assert preflight.find_required_cuda(report) == cuda


def test_a_torch_that_is_installed_needs_no_room_again() -> None:
    release = version("torch").partition("+")[0]
    assert preflight.torch_problems(release, ["--no-index"], disk=0) == []
    assert preflight.torch_problems("0.0.1", ["--no-index"], disk=0) != []


def test_exit_code_and_message(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tools.preflight", "machine", "--venv", str(tmp_path / "venv")]
    done = subprocess.run(
        [*command, "--torch", "2.10.0", "--torch-npu", "2.9.0"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "torch_npu 2.9.0 does not belong to torch 2.10.0" in done.stderr
    assert "cure:" in done.stderr


@pytest.mark.parametrize("command", ["", "env g++"])
def test_the_compiler_may_have_arguments(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    plain = preflight.compiler_version()
    monkeypatch.setenv("CXX", command)
    assert plain is not None
    assert preflight.compiler_version() == plain
