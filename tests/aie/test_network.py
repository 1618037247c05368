"""Runs network_test.cpp, which is built with the installed headers, as a user's C++17 program."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import torch

import torch_aie

SOURCE = Path(__file__).with_name("network_test.cpp")
CHECKS = re.findall(r'\{"(\w+)", \w+\}', SOURCE.read_text(encoding="utf-8"))
PREFIX = Path(torch_aie.__file__).parent
LIBRARIES = (PREFIX / "lib", Path(torch.__file__).parent / "lib")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("network") / "network_test"
    search = [flag for folder in LIBRARIES for flag in (f"-L{folder}", f"-Wl,-rpath-link,{folder}")]
    command = ["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{PREFIX / 'include'}"]
    subprocess.run([*command, SOURCE, "-o", built, *search, "-lascendie"], check=True)
    return built


@pytest.mark.build
@pytest.mark.parametrize("check", CHECKS)
def test_network(program: Path, check: str) -> None:
    environment = {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(map(str, LIBRARIES))}
    done = subprocess.run(
        [program, check], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
