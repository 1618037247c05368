"""The sample op_plugin_invocation, used as its script says."""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.sample import (
    add_custom_project,
    assert_prints_what_the_readme_says,
    copied,
)

if TYPE_CHECKING:
    from pathlib import Path

LIMIT = 900  # seconds; half a minute on two cores


def run_sample(
    folder: Path, *arguments: str, script: str = "run_op_plugin.sh"
) -> subprocess.CompletedProcess[str]:
    """Run the script, with a cache of its own, and return its output."""
    variables = {"XDG_CACHE_HOME": str(folder / "build" / "cache")}
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    return subprocess.run(
        ["bash", script, *arguments],
        cwd=folder,
        env=os.environ | variables | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


def assert_all_tests_pass(printed: str) -> None:
    """Compare what unittest says about both files."""
    ran = re.findall(r"^Ran (\d+) tests", printed, flags=re.MULTILINE)
    assert ran == ["4", "3"], printed
    assert len(re.findall(r"^OK$", printed, flags=re.MULTILINE)) == len(ran)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the sample without anything that was built in it before."""
    return copied("op_plugin_invocation", tmp_path_factory.mktemp("examples"))


@pytest.mark.twin
@pytest.mark.build
@pytest.mark.slow
def test_the_sample_builds_and_passes_in_eager_mode_and_in_graphs(folder: Path) -> None:
    done = run_sample(folder, script="run.sh")
    assert done.returncode == 0, done.stdout + done.stderr
    compiled = re.findall(r"^compile +(\S+) +[\d.]+ s$", done.stdout, flags=re.MULTILINE)
    assert sorted(compiled) == ["AddCustomKernelNpuApi.cpp", "operators.cpp"]
    assert_all_tests_pass(done.stderr)
    assert_prints_what_the_readme_says("op_plugin_invocation", done.stdout + done.stderr)


@pytest.mark.twin
@pytest.mark.build
@pytest.mark.slow
def test_the_kernel_in_ascend_c_takes_the_place_of_the_reference(folder: Path) -> None:
    add_custom_project(folder.parent)
    (folder / "reference.py").rename(folder / "reference.txt")
    done = run_sample(folder, "--ascend-c")
    (folder / "reference.txt").rename(folder / "reference.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "AddCustom: 3 kernels" in done.stderr
    assert_all_tests_pass(done.stderr)


def test_the_sample_writes_the_patch(folder: Path, tmp_path: Path) -> None:
    config = tmp_path / "op_plugin" / "config"
    config.mkdir(parents=True)
    (config / "op_plugin_functions.yaml").write_text("custom:\n  - func: f(Tensor x) -> Tensor\n")
    meta = tmp_path / "op_plugin" / "python" / "meta"
    meta.mkdir(parents=True)
    (meta / "_meta_registrations.py").write_text("m = None\n")
    done = run_sample(folder, "--patch", str(tmp_path))
    assert done.returncode == 1, done.stderr
    assert "npu_add_custom_converter.py is left out" in done.stderr  # op-plugin has no TorchAir
    patch = folder / "build" / "add_custom.patch"
    alone = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}
    subprocess.run(["git", "apply", str(patch)], cwd=tmp_path, env=alone, check=True)
    text = (config / "op_plugin_functions.yaml").read_text(encoding="utf-8")
    assert text.startswith("custom:\n  - func: npu_add_custom(Tensor x, Tensor y) -> Tensor\n")


def test_an_unknown_argument_is_reported(folder: Path) -> None:
    done = run_sample(folder, "--pacth")
    assert done.returncode == 1
    assert "unknown argument '--pacth'" in done.stderr
