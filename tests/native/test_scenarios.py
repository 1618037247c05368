"""Runs every native scenario in a process of its own, under each sanitizer build."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = sorted(path.stem for path in Path(__file__).parent.glob("*_test.cpp"))

# One build per group of sanitizers; `make native-tests` makes them.
BUILDS = {
    "asan": ROOT / "build" / "asan",
    "tsan": ROOT / "build" / "tsan",
}
ENVIRONMENT = {
    # Small windows: sanitizers keep shadow memory for the whole address space.
    "OPWRIGHT_MEMORY": "64M",
    "OPWRIGHT_DEVICES": "2",
    "ASAN_OPTIONS": "detect_leaks=1:handle_segv=0:abort_on_error=0",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1:handle_segv=0",
}


def scenarios() -> list[tuple[str, str, str]]:
    found: list[tuple[str, str, str]] = []
    for build, folder in BUILDS.items():
        for program in PROGRAMS:
            path = folder / "tests" / "native" / program
            if not path.exists():
                found.append((build, program, "is built"))
                continue
            listed = subprocess.run([path, "--list"], check=True, capture_output=True, text=True)
            found += [(build, program, name) for name in listed.stdout.split()]
    return found


@pytest.mark.build
@pytest.mark.parametrize(("build", "program", "name"), scenarios())
def test_scenario(build: str, program: str, name: str) -> None:
    path = BUILDS[build] / "tests" / "native" / program
    assert path.exists(), f"{path} is missing; run `make native-tests`"
    # Other tests put the twin into this process's environment; its libraries are not instrumented.
    inherited = {key: value for key, value in os.environ.items() if key != "LD_LIBRARY_PATH"}
    run = subprocess.run(
        [path, name],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
        env={**inherited, **ENVIRONMENT},
    )
    assert run.returncode == 0, f"{run.stdout}\n{run.stderr}"
