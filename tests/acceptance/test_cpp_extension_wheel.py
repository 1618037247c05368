"""The example cpp_extension_wheel, used as a reader of its README would."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
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

# One worker runs them all: they share what the first one builds.
pytestmark = [
    pytest.mark.twin,
    pytest.mark.build,
    pytest.mark.slow,
]

RESULTS = 12  # forward, two gradients and their three Meta counterparts, for two dtypes
LIMIT = 600  # seconds; a build from nothing takes less than a minute on two cores


def run_example(folder: Path, *arguments: str, path: str) -> subprocess.CompletedProcess[str]:
    """Run the example's script and return its output, whatever its exit code."""
    return subprocess.run(
        ["bash", "run.sh", *arguments],
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


def tools() -> str:
    """Return a PATH that begins with the environment of this interpreter."""
    return os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])


def objects(folder: Path) -> dict[str, int]:
    """Return the compiled files of the extension and when they were written."""
    build = folder / "build"
    return {
        path.name: path.stat().st_mtime_ns
        for path in build.rglob("*.o")
        if build / "package" not in path.parents
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the example without anything that was built in it before."""
    return copied("cpp_extension_wheel", tmp_path_factory.mktemp("examples"))


@pytest.fixture(scope="module")
def demo(folder: Path) -> str:
    """Return what the demo prints."""
    run = run_example(folder, "--demo", path=tools())
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_the_wheel_is_built_and_contains_the_extension(demo: str, folder: Path) -> None:
    (wheel,) = (folder / "build" / "dist").glob("*.whl")
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert re.fullmatch(rf"custom_ops-1\.0-{tag}-{tag}-\w+\.whl", wheel.name)
    assert wheel.name in demo
    assert re.search(r"custom_ops_lib\S*\.so", demo)
    assert "custom_ops/add_custom.py" in demo


def test_all_tests_of_the_wheel_pass(demo: str) -> None:
    (summary,) = re.findall(r"^(\d+ .*) in [\d.:]+s", demo, flags=re.MULTILINE)
    # TorchAir switches its warnings on, whatever the filters are.
    assert re.fullmatch(r"\d+ passed(, \d+ warnings)?", summary), summary


def test_the_demo_prints_what_the_readme_says(demo: str) -> None:
    assert_prints_what_the_readme_says("cpp_extension_wheel", demo)


def test_forward_backward_and_meta_agree_with_the_cpu(demo: str) -> None:
    assert f"{RESULTS} of {RESULTS} results agree with the CPU" in demo
    assert "DIFFERS" not in demo
    for what in ("forward", "backward d/dx", "backward d/dy", "Meta forward"):
        assert re.search(rf"agrees +{what} ", demo), what


@pytest.mark.parametrize("shapes", ["static", "dynamic"])
@pytest.mark.parametrize("mode", ["reduce-overhead", "max-autotune"])
def test_both_compile_modes_agree_with_the_cpu(demo: str, mode: str, shapes: str) -> None:
    assert re.search(
        rf"^  agrees  {mode} +{shapes} +\d calls  max difference 0 ", demo, re.MULTILINE
    )


def test_the_generated_function_is_that_of_the_prototype(folder: Path, tmp_path: Path) -> None:
    made = tmp_path / "made.py"
    command = ["opwright", "proto", "gen", "custom_reg_op.h", "-o", str(made)]
    subprocess.run(command, cwd=folder / "graph", env=os.environ | {"PATH": tools()}, check=True)
    kept = folder / "custom_ops" / "auto_generated_ge_raw_custom_ops.py"
    assert kept.read_text(encoding="utf-8") == made.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("title", "category", "function"),
    [
        ("the operator of this wheel", "call", "aclnnAddCustomGetWorkspaceSize"),
        ("the operator of this wheel", "call", "aclnnAddCustom"),
        ("torch_npu's own operators", "call", "aclnnInplaceCopy"),
        ("tasks on the streams", "task", "aclnnAddCustom"),
    ],
)
def test_the_calls_are_counted(
    demo: str, folder: Path, title: str, category: str, function: str
) -> None:
    events = json.loads((folder / "build" / "trace.json").read_text(encoding="utf-8"))
    traced = [event for event in events if event["ph"] == "X" and event["cat"] == category]
    block = demo.partition(f"  {title} ")[2]
    printed = re.search(rf"^ +{function} +(\d+) ", block, flags=re.MULTILINE)
    assert printed, demo
    assert int(printed[1]) == sum(event["name"] == function for event in traced)
    # One forward for each of the two dtypes, and two copied gradients for each.
    assert int(printed[1]) == (4 if function == "aclnnInplaceCopy" else 2)


def test_a_second_run_compiles_nothing_but_a_kernel_in_ascend_c(demo: str, folder: Path) -> None:
    before = objects(folder)
    assert len(before) == len(list((folder / "csrc").glob("*.cpp"))), demo
    add_custom_project(folder.parent)
    (folder / "reference").rename(folder / "away")
    run = run_example(folder, "--ascend-c", path=tools())
    (folder / "away").rename(folder / "reference")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "AddCustom: 3 kernels" in run.stderr
    assert objects(folder) == before


def test_a_wrong_operator_is_found(demo: str, folder: Path) -> None:
    assert demo
    reference = folder / "reference" / "add_custom.py"
    right = reference.read_text(encoding="utf-8")
    try:
        reference.write_text(right.replace("torch.add(", "torch.sub("), encoding="utf-8")
        run = run_example(folder, "--demo", path=tools())
    finally:
        reference.write_text(right, encoding="utf-8")
    assert run.returncode == 1, run.stdout + run.stderr
    assert re.search(r"FAILED test/test_add_custom.py::test_forward_agrees_with_cpu", run.stdout)
    assert "== What was built" not in run.stdout


def test_an_environment_without_opwright_is_reported(folder: Path) -> None:
    run = run_example(folder, path="/usr/bin:/bin")
    assert run.returncode == 1
    assert "opwright is not on the PATH; activate its environment first" in run.stderr


def test_an_unknown_argument_is_reported(folder: Path) -> None:
    run = run_example(folder, "--dmeo", path=tools())
    assert run.returncode == 1
    assert "unknown argument '--dmeo'" in run.stderr
