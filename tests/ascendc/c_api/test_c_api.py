"""Kernels of the C API, compiled and run as their users do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.twin, pytest.mark.build]

SOURCE = Path(__file__).with_name("c_api.asc")
NUMBERS = 512  # of two blocks
LANES = 32  # that the mask leaves


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("c_api") / "program"
    command = ["bisheng", "--npu-arch=dav-2201", str(SOURCE), "-o", str(target)]
    done = run(*command)
    assert done.returncode == 0, done.stderr
    return target


def run(*command: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "opwright", "run", *options, "--", *command]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.parametrize("options", [(), ("--kernel-checks",)])
def test_instructions_over_pointers(program: Path, options: tuple[str, ...]) -> None:
    done = run(str(program), options=options)
    assert done.returncode == 0, done.stdout + done.stderr
    sums, twice = ([float(word) for word in line.split()] for line in done.stdout.splitlines())
    assert sums == [i + 0.5 for i in range(NUMBERS)]
    in_block = NUMBERS // 2
    expected = [
        0.0 if i % in_block == in_block - 1 else (2 * sums[i] if i % 64 < LANES else 7.0)
        for i in range(NUMBERS)
    ]
    assert twice == expected


def test_an_array_that_does_not_fit_is_refused(program: Path) -> None:
    done = run(str(program), "too large")
    assert done.returncode == 1
    assert "262144 bytes more than the 0 in use do not fit in the unified buffer" in done.stdout
