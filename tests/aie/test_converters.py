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
        ("exp", "the converter of aten::exp is replaced by a later one, of "),
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


# What is wrong with a registration is told once, and again when the operator is compiled.
REFUSED = """
import sys
import torch
import torch_aie

torch.ops.load_library(sys.argv[1])


class Model(torch.nn.Module):
    def __init__(self, operator):
        super().__init__()
        self.operator = operator

    def forward(self, x):
        return self.operator(x)


def outcome(operator):
    module = torch.jit.trace(Model(operator).eval(), torch.ones(2))
    try:
        compiled = torch_aie.compile(module, inputs=[torch.ones(2)])
    except ValueError as error:
        return str(error)
    assert torch.equal(compiled(torch.ones(2)), module(torch.ones(2)))
    return str(compiled.graph).count("execute_engine")


for operator in (torch.relu, torch.relu, torch.tan, torch.erf, torch.ceil, torch.relu):
    print(repr(outcome(operator)))
"""


@pytest.mark.build
def test_registrations_that_are_refused(library: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", REFUSED, library],
        env={
            **os.environ,
            "PYTHONPATH": str(PREFIX.parent),
            "REFUSED_CONVERTERS": "1",
            "TORCH_AIE_LOG_LEVEL": "error",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    first, second, tan, erf, ceil, last = done.stdout.splitlines()
    for text in (
        "the converter of 'aten::tan(Tensor self -> Tensor', of ",
        "libconverters.so, is not registered: ",
        "the converter of 'aten::atan(Tensor self) -> Tensor', of ",
        "its function is empty",
    ):
        assert text in first
        assert text in done.stderr  # while the library was loaded
    assert (second, last) == ("1", "1")
    assert "aten::tan(Tensor self -> Tensor" in tan
    assert "aten::atan" not in tan
    assert "its converter returned false" in erf
    assert ceil == "0"  # on libtorch: its converter declines


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_library_that_lacks_a_symbol(tmp_path: Path) -> None:
    source = tmp_path / "library.c"
    source.write_text(
        "void absent_in_torch_aie(void);\nvoid use(void) { absent_in_torch_aie(); }\n"
    )
    library = tmp_path / "liblacking.so"
    command = ["gcc", "-shared", "-fPIC", "-Wl,-z,now", str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    with pytest.raises(OSError, match="Could not load this library: ") as error:
        torch.ops.load_library(str(library))  # type: ignore[no-untyped-call]  # torch's
    assert "undefined symbol: absent_in_torch_aie" in str(error.value.__cause__)
    module = torch.jit.script(torch.nn.ReLU().eval())
    compiled = torch_aie.compile(module, inputs=[torch.ones(2)])
    assert torch.equal(compiled(-torch.ones(2)), torch.zeros(2))
