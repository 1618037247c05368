"""The custom converter guide: its sources as printed, where its paths lead to the prefix.

What is changed is what the guide asks its readers to set: the root of its paths, and the name of
the built extension, which is that of Python 3.9.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import torch

from torch_aie import prefix

if TYPE_CHECKING:
    from pathlib import Path

# PyTorch calls TorchScript deprecated; the guide is about it.
pytestmark = [
    pytest.mark.build,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning"),
]

PRESET = prefix.PREFIX / "cmake" / "torch_aie_preset.cmake"
LAUNCHER = prefix.PREFIX / "bin" / "torch_aie_cxx"
CONVERTED = "[aten::cumsum] node convert successfully"
LIMIT = 600  # seconds; a build takes half a minute on a core of its own


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", **variables},
        capture_output=True,
        text=True,
        timeout=LIMIT,
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
    assert len(numbers) >= 25
    return [float(number) for number in numbers[:25]]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder below which the guide's paths lead to the prefix."""
    folder = tmp_path_factory.mktemp("root")
    run(
        sys.executable, "-m", "torch_aie.prefix", "link", "--root", folder, cwd=prefix.PREFIX.parent
    )
    return folder


@pytest.fixture
def project(guide: list[str], tmp_path: Path) -> Path:
    """Return a folder with the converter's source, where both of its builds look."""
    (tmp_path / "csrc").mkdir()
    source = block_with(guide, "g_cumsumRegstration")
    (tmp_path / "csrc" / "cumsum_converter.cpp").write_text(source, encoding="utf-8")
    return tmp_path


def test_python_path(guide: list[str], project: Path, root: Path) -> None:
    setup = block_with(guide, "CppExtension(").replace('= "/', f'= "{root}/')
    assert setup.count(str(root)) == 2
    (project / "setup.py").write_text(setup, encoding="utf-8")
    install = [sys.executable, "setup.py", "install", "--user"]
    user = {"PYTHONUSERBASE": str(project / "user"), "PYTHONWARNINGS": "ignore"}
    run(*install, cwd=project, CFLAGS="-g0 -O1", **user)  # half of the time of Python's own flags
    (installed,) = (project / "user").glob("lib/python*/site-packages/**/custom_converter*.so")
    assert installed.stat().st_size > 0
    with_packages = {"PYTHONPATH": str(prefix.PREFIX.parent)}
    run(sys.executable, "-m", "torch_aie.prefix", "link-extension", cwd=project, **with_packages)

    script = block_with(guide, "import torch_aie\n")
    (project / "infer.py").write_text(script, encoding="utf-8")
    output = run(sys.executable, "infer.py", cwd=project, **with_packages)
    assert output.count(CONVERTED) == 1
    assert printed_matrix(output, "aie output:") == printed_matrix(output, "torch output:")


def test_cpp_path(guide: list[str], project: Path, root: Path) -> None:
    """The preset builds the converters; the program is built as a CMake before 3.19 has to."""
    makefile = block_with(guide, "PROJECT(CUSTOM_CONVERTERS)")
    (project / "CMakeLists.txt").write_text(makefile, encoding="utf-8")
    run("cmake", "-C", PRESET, "-B", "build", cwd=project)
    run("cmake", "--build", "build", cwd=project)

    inference = project / "infer"
    inference.mkdir()
    makefile = block_with(guide, "PROJECT(MODEL_INFER)")
    (inference / "CMakeLists.txt").write_text(makefile, encoding="utf-8")
    program = block_with(guide, "#define LIB_PATH")
    (inference / "cumsum_model_infer.cpp").write_text(program, encoding="utf-8")
    paths = [
        f"-DTORCH_ROOT={root}/usr/local/libtorch2.0.0",
        f"-DTORCH_AIE_ROOT={root}/usr/local/Ascend/aie/latest",
    ]
    run("cmake", "-B", "build", *paths, f"-DCMAKE_CXX_COMPILER_LAUNCHER={LAUNCHER}", cwd=inference)
    run("cmake", "--build", "build", cwd=inference)

    class Cumsum(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cumsum(x, 0)

    traced = torch.jit.trace(Cumsum().eval(), torch.ones(5, 5))  # type: ignore[no-untyped-call]
    traced.save(str(inference / "build" / "cumsum_model.pth"))
    environment = f"source {root}/usr/local/Ascend/aie/set_env.sh"
    output = run(
        "bash",
        "-euc",
        f"{environment}; cd build; exec ./cumsum_model_infer",
        cwd=inference,
        LD_LIBRARY_PATH="",
    )
    assert output.count(CONVERTED) == 1
    ours = printed_matrix(output, "aie output is:")
    assert ours == printed_matrix(output, "torch output is:")
    assert len(set(ours)) > 1
