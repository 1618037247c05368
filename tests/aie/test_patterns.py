"""Converters of subgraphs: where they apply, where the operators stay, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import torch_aie

SOURCE = Path(__file__).with_name("patterns.cpp")
PREFIX = Path(torch_aie.__file__).parent
TORCH = Path(torch.__file__).parent

# In a process of its own: nothing takes a pattern back.
SCRIPT = """
import sys
import torch
import torch_aie

torch.ops.load_library(sys.argv[1])
X = torch.tensor([-1.0, 0.3, 2.0])


class Quantize(torch.nn.Module):
    def forward(self, x):
        scale = torch.tensor(10.0, dtype=torch.double)
        offset = torch.tensor(1.0, dtype=torch.double)
        return (x * scale + offset).round_().clamp(-128, 127)


class Sum(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + x + x * 2


class ReadTwice(torch.nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        return y + x + y


def show(name, model, **options):
    try:
        module = torch_aie.compile(torch.jit.trace(model.eval(), X), inputs=[X], **options)
    except Exception as e:
        print(name, type(e).__name__, str(e).splitlines()[0])
        return
    out = module(X)
    left = "torch_aie::subgraph" in str(module.graph)
    print(name, out.dtype, [round(v, 4) for v in out.tolist()], left)


show("quantize", Quantize(), require_full_compilation=True)
show("sum", Sum())
show("kept", Sum(), torch_executed_ops=["aten::relu"])
show("small", Sum(), min_block_size=100)
show("read", ReadTwice())
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("patterns") / "libpatterns.so"
    includes = [f"-I{PREFIX / 'include'}", "-isystem", str(TORCH / "include")]
    command = ["g++", "-std=c++20", "-shared", "-fPIC", "-Wall", "-Werror", *includes]
    links = [f"-L{PREFIX / 'lib'}", f"-L{TORCH / 'lib'}", "-ltorch_aie", "-ltorch_cpu", "-lc10"]
    search = [f"-Wl,-rpath,{PREFIX / 'lib'}", f"-Wl,-rpath,{TORCH / 'lib'}"]
    subprocess.run([*command, SOURCE, "-o", built, *links, *search], check=True)
    return built


def run(library: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, library],
        env={
            **os.environ,
            "PYTHONPATH": str(PREFIX.parent),
            "TORCH_AIE_LOG_LEVEL": "warn",
            "TORCH_AIE_LOG_PRINT_TO_STDOUT": "1",
            "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
            **environment,
        },
        capture_output=True,
        text=True,
        check=True,
    )


@pytest.mark.build
def test_patterns(library: Path) -> None:
    text = run(library).stdout
    lines = dict(line.split(" ", 1) for line in text.splitlines() if line.split(" ")[0].isalpha())
    # clamp(round(10 x + 1)) as int8; the in-place rounding is not in the way.
    assert lines["quantize"] == "torch.int8 [-9, 4, 21] False"
    # -x in place of relu(x) + x; what is added to it stays.
    assert lines["sum"] == "torch.float32 [-1.0, 0.3, 2.0] False"
    # What the operators compute: relu is kept, the block is too small, its result is read twice.
    assert lines["kept"] == "torch.float32 [-3.0, 1.2, 8.0] False"
    assert lines["small"] == lines["kept"]
    assert lines["read"] == "torch.float32 [-1.0, 0.9, 6.0] False"
    assert "the converter of a subgraph is replaced by a later one" in text


@pytest.mark.build
def test_broken_pattern(library: Path) -> None:
    lines = run(library, BROKEN_PATTERN="1").stdout.splitlines()
    expected = "ValueError a pattern of RegisterSubgraphConverters is not valid:"
    assert any(line.startswith(f"quantize {expected}") for line in lines)
