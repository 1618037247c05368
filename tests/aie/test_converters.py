"""Converters of a user's library: they replace built-in ones, and what they do wrong is told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import torch_aie

SOURCE = Path(__file__).with_name("converters.cpp")
PREFIX = Path(torch_aie.__file__).parent
TORCH = Path(torch.__file__).parent

# In a process of its own: nothing takes a converter back.
SCRIPT = """
import sys
import torch
import torch_aie

torch.ops.load_library(sys.argv[1])


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.{operator}(x)


module = torch.jit.trace(Model().eval(), torch.ones(2))
print(torch_aie.compile(module, inputs=[torch.ones(2)])(torch.ones(2)).tolist())
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("converters") / "libconverters.so"
    includes = [f"-I{PREFIX / 'include'}", "-isystem", str(TORCH / "include")]
    command = ["g++", "-std=c++20", "-shared", "-fPIC", "-Wall", "-Werror", *includes]
    links = [f"-L{PREFIX / 'lib'}", f"-L{TORCH / 'lib'}", "-ltorch_aie", "-ltorch_cpu", "-lc10"]
    search = [f"-Wl,-rpath,{PREFIX / 'lib'}", f"-Wl,-rpath,{TORCH / 'lib'}"]
    subprocess.run([*command, SOURCE, "-o", built, *links, *search], check=True)
    return built


@pytest.mark.build
@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("erf", "aten::erf(%x) at <string>"),
        ("erf", "its converter returned false"),
        ("sin", "its converter associated nothing with the output %"),
        ("exp", "[-1.0, -1.0]"),
        ("exp", "the converter of aten::exp is replaced by a later one"),
    ],
)
def test_converter(library: Path, operator: str, expected: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(operator=operator), library],
        env={**os.environ, "PYTHONPATH": str(PREFIX.parent), "TORCH_AIE_LOG_LEVEL": "warn"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert expected in done.stdout + done.stderr
