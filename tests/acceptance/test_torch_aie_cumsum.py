"""The example torch_aie_cumsum, used as its README says, and with mistakes in its converter."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.acceptance.sample import assert_prints_what_the_readme_says, copied

# One worker runs them all: they share what the first one builds.
pytestmark = [pytest.mark.torch, pytest.mark.build, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 600  # seconds; it takes less than a minute on a core of one's own


def run(
    folder: Path, *command: str, path: str | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder with this interpreter's programs, whatever its exit code."""
    tools = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    environment = {"PATH": tools if path is None else path, "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the example without what was built in it before."""
    return copied("torch_aie_cumsum", tmp_path_factory.mktemp("with a space"))


@pytest.fixture(scope="module")
def output(example: Path) -> str:
    """Run the whole example, and return what it prints."""
    done = run(example, "bash", "run.sh")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_python_and_cpp_give_torchscripts_numbers_with_the_examples_converter(output: str) -> None:
    assert output.count("converter of this example: cumsum over dimension 0") == 2
    found = re.findall(r"^(\S+): largest difference from TorchScript (.*)$", output, re.MULTILINE)
    assert [(name, float(number)) for name, number in found] == [("Python", 0), ("C++", 0)]
    assert output.endswith("All numbers agree.\n")
    assert_prints_what_the_readme_says("torch_aie_cumsum", output)


@pytest.mark.usefixtures("output")
def test_the_tests_of_the_converters_pass(example: Path) -> None:
    done = run(example, "bash", "run.sh", "test")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^\d+ passed(, \d+ warnings)? in", done.stdout, re.MULTILINE), done.stdout


def test_the_later_converter_of_an_operator_is_taken(output: str) -> None:
    (built_in,) = re.findall(r"^built-in converter of gelu: (\S+) from gelu", output, re.MULTILINE)
    (ours,) = re.findall(r"^converter of this example:  (\d\S+)$", output, re.MULTILINE)
    assert float(built_in) < 1e-5
    assert 0.01 < float(ours) < 0.021


@pytest.mark.usefixtures("output")
def test_wrong_numbers_do_not_pass(example: Path) -> None:
    """A model that the library's converter is right for, and a threshold that it does not keep."""
    script = (example / "override.py").read_text(encoding="utf-8")
    wrong = example / "wrong.py"
    wrong.write_text(script.replace("1.702 * x", "1.5 * x"), encoding="utf-8")
    (library,) = example.glob("build/lib.*/gelu_converter.*.so")
    alone = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    done = run(example, sys.executable, "wrong.py", str(library), **alone)
    assert done.returncode == 1
    assert "not close" in done.stderr


@pytest.mark.usefixtures("output")
def test_what_is_missing_is_reported(example: Path) -> None:
    done = run(example, "bash", "run.sh", path="/nowhere:/bin", PYTHONPATH="")
    assert done.returncode == 1
    assert "is not on the PATH" in done.stderr or "cannot import torch_aie" in done.stderr
    done = run(example, "bash", "run.sh", "--frob")
    assert done.returncode == 1
    assert "unknown argument '--frob'" in done.stderr
    (model,) = example.glob("build/cumsum_model.pth")
    done = run(example, "build/cpp/cumsum_infer", "/nowhere.so", str(model))
    assert done.returncode == 1
    assert "/nowhere.so" in done.stderr
