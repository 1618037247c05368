"""Runs the *_test.cpp here: programs in C++17, with the installed headers."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import torch

import torch_aie

SOURCES = [
    Path(__file__).with_name(f"{name}_test.cpp") for name in ("network", "errors", "runtime")
]
CHECKS = [
    (source.stem, check)
    for source in SOURCES
    for check in re.findall(r'\{"(\w+)",\s+\w+\}', source.read_text(encoding="utf-8"))
]
PREFIX = Path(torch_aie.__file__).parent
LIBRARIES = (PREFIX / "lib", Path(torch.__file__).parent / "lib")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("network")
    search = [flag for folder in LIBRARIES for flag in (f"-L{folder}", f"-Wl,-rpath-link,{folder}")]
    command = ["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{PREFIX / 'include'}"]
    for source in SOURCES:
        built = folder / source.stem
        subprocess.run([*command, source, "-o", built, *search, "-lascendie"], check=True)
    return folder


@pytest.mark.build
@pytest.mark.parametrize(("program", "check"), CHECKS)
def test_network(programs: Path, program: str, check: str) -> None:
    environment = {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(map(str, LIBRARIES))}
    done = subprocess.run(
        [programs / program, check], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
