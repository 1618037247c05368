"""Preflight: every decision, without the machine that causes it."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools import preflight

GOOD = preflight.Facts(
    system="Linux",
    machine="x86_64",
    python=(3, 11),
    compiler="12.2.0",
    disk=20 << 30,
    memory=8 << 30,
    torch_present=False,
    torch_cuda=None,
)


def test_good_machine_has_no_problem() -> None:
    assert preflight.problems(GOOD) == []


@pytest.mark.parametrize(
    ("change", "what", "cure"),
    [
        ({"machine": "aarch64"}, "Linux on aarch64", "x86-64 Linux"),
        ({"system": "Darwin"}, "Darwin", "x86-64 Linux"),
        ({"python": (3, 13)}, "Python 3.13 was found, Python 3.11 is needed", "make PYTHON="),
        ({"compiler": None}, "no C++ compiler", "apt-get install g++"),
        ({"compiler": "9.4.0"}, "g++ 9.4.0 is too old", "install g++ 11"),
        ({"compiler": ""}, "unknown version", "install g++ 11"),
        ({"disk": 5 << 30}, "5.0 GiB of disk", "free some space"),
        ({"memory": 3 << 30}, "3.0 GiB of memory", "close other programs"),
        ({"torch_present": True, "torch_cuda": "12.8"}, "CUDA 12.8", "--extra-index-url"),
    ],
)
def test_each_problem_has_its_cure(change: dict[str, object], what: str, cure: str) -> None:
    (problem,) = preflight.problems(dataclasses.replace(GOOD, **change))  # type: ignore[arg-type]  # a table of fields
    assert what in problem.what
    assert cure in problem.cure


def test_all_problems_are_told_at_once() -> None:
    bad = dataclasses.replace(GOOD, python=(3, 9), compiler=None, disk=0)
    assert len(preflight.problems(bad)) == 3


def test_an_unpacked_torch_needs_no_room_again() -> None:
    assert (
        preflight.problems(dataclasses.replace(GOOD, torch_present=True, disk=(5 << 30) // 2)) == []
    )


@pytest.mark.parametrize(
    ("text", "cuda"),
    [
        ("__version__ = '2.13.0+cpu'\ncuda: Optional[str] = None\n", None),
        ("__version__ = '2.13.0'\ncuda: Optional[str] = '12.8'\n", "12.8"),
        ("cuda = '12.8'\n", "12.8"),
        ("", None),
    ],
)
def test_cuda_version_of_an_installed_torch(text: str, cuda: str | None) -> None:
    assert preflight.cuda_version(text) == cuda


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
    assert preflight.offered_cuda(report) == cuda


def test_exit_code_and_message(tmp_path: Path) -> None:
    folder = tmp_path / "venv/lib/python3.11/site-packages/torch"
    folder.mkdir(parents=True)
    (folder / "version.py").write_text("cuda: str = '12.8'\n", encoding="utf-8")
    script = Path(preflight.__file__)
    command = [sys.executable, str(script), "machine", "--venv", str(tmp_path / "venv")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "the virtual environment has torch for CUDA 12.8" in done.stderr
    assert "cure:" in done.stderr


@pytest.mark.parametrize("command", ["", "env g++"])
def test_the_compiler_may_have_arguments(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    plain = preflight.compiler_version()
    monkeypatch.setenv("CXX", command)
    assert plain is not None
    assert preflight.compiler_version() == plain
