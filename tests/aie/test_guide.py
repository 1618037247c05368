"""The custom converter guide, with its sources as printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import torch

import torch_aie

# PyTorch calls TorchScript deprecated; the guide is about it.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")

PREFIX = Path(torch_aie.__file__).parent
TORCH = Path(torch.__file__).parent
COMPAT = PREFIX / "cmake" / "torch_aie_compat.cmake"
LIBRARY_PATH = os.pathsep.join([str(PREFIX / "lib"), str(TORCH / "lib")])


def run(*command: str, cwd: Path, **variables: str) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def block_with(guide: list[str], text: str) -> str:
    (found,) = [block for block in guide if text in block]
    return found


def printed_matrix(output: str, title: str) -> list[float]:
    """Return the 25 numbers after a title: rows as Python and as C++ print them."""
    numbers = re.findall(r"-?\d+\.?\d*(?:e[+-]\d+)?", output.split(title)[1])
    return [float(number) for number in numbers[:25]]


@pytest.mark.build
def test_python_path(guide: list[str], tmp_path: Path) -> None:
    (tmp_path / "csrc").mkdir()
    (tmp_path / "csrc" / "cumsum_converter.cpp").write_text(
        block_with(guide, "g_cumsumRegstration")
    )
    setup = block_with(guide, "CppExtension(")
    setup = re.sub('TORCH_AIE_PATH = ".*"', f'TORCH_AIE_PATH = "{PREFIX}"', setup)
    setup = re.sub('ASCEND_IE_PATH = ".*"', f'ASCEND_IE_PATH = "{PREFIX}"', setup)
    (tmp_path / "setup.py").write_text(setup)
    run(sys.executable, "setup.py", "build", cwd=tmp_path, MAX_JOBS="1")
    # The guide's names are those of Python 3.9.
    built = next(tmp_path.glob("build/lib.*/custom_converter*.so"))
    link = tmp_path / "build/lib.linux-x86_64-3.9/custom_converter.cpython-39-x86_64-linux-gnu.so"
    link.parent.mkdir()
    link.symlink_to(built)
    (tmp_path / "infer.py").write_text(block_with(guide, "import torch_aie\n"))
    output = run(
        sys.executable,
        "infer.py",
        cwd=tmp_path,
        LD_LIBRARY_PATH=LIBRARY_PATH,
        PYTHONPATH=str(PREFIX.parent),
    )
    assert "[aten::cumsum] node convert successfully" in output
    ours = printed_matrix(output, "aie output:")
    assert len(ours) == 25
    assert ours == printed_matrix(output, "torch output:")


@pytest.fixture
def cpp_project(guide: list[str], tmp_path: Path) -> Path:
    """Return the folder with both of the guide's CMake projects, built."""
    converters, inference = tmp_path, tmp_path / "infer"
    (converters / "csrc").mkdir()
    inference.mkdir()
    source = block_with(guide, "g_cumsumRegstration")
    (converters / "csrc" / "cumsum_converter.cpp").write_text(source)
    (converters / "CMakeLists.txt").write_text(block_with(guide, "PROJECT(CUSTOM_CONVERTERS)"))
    (inference / "CMakeLists.txt").write_text(block_with(guide, "PROJECT(MODEL_INFER)"))
    (inference / "cumsum_model_infer.cpp").write_text(block_with(guide, "#define LIB_PATH"))
    for project in (converters, inference):
        run(
            "cmake",
            "-B",
            "build",
            f"-DCMAKE_PROJECT_INCLUDE={COMPAT}",
            f"-DASCEND_IE_ROOT={PREFIX}",
            f"-DTORCH_AIE_ROOT={PREFIX}",
            f"-DTORCH_ROOT={TORCH}",
            "-DCMAKE_POLICY_VERSION_MINIMUM=3.13",
            cwd=project,
        )
        run("cmake", "--build", "build", cwd=project)
    return tmp_path


@pytest.mark.build
def test_cpp_path(cpp_project: Path) -> None:
    class Cumsum(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cumsum(x, 0)

    folder = cpp_project / "infer" / "build"
    traced = torch.jit.trace(Cumsum().eval(), torch.ones(5, 5))  # type: ignore[no-untyped-call]
    traced.save(str(folder / "cumsum_model.pth"))
    output = run("./cumsum_model_infer", cwd=folder, LD_LIBRARY_PATH=LIBRARY_PATH)
    assert "[aten::cumsum] node convert successfully" in output
    ours = printed_matrix(output, "aie output is:")
    assert len(ours) == 25
    assert ours == printed_matrix(output, "torch output is:")


def test_the_guides_names_are_those_of_another_python() -> None:
    # The link in test_python_path is needed as long as this holds.
    assert sysconfig.get_config_var("SOABI") != "cpython-39-x86_64-linux-gnu"
