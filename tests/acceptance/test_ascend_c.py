"""The sample ascend_c: kernels in Ascend C, as a project and as one file, built and tested."""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.sample import assert_prints_what_the_readme_says, copied

if TYPE_CHECKING:
    from pathlib import Path
    from typing import TypeAlias

    Shown: TypeAlias = tuple[Path, subprocess.CompletedProcess[str]]

LIMIT = 900  # seconds; a minute and a half on two cores that nothing else uses
PACKAGE = "build/package/vendors/opwright_examples"


def run_sample(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the script and return its output, whatever its exit code."""
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    return subprocess.run(
        ["bash", "run.sh", *arguments],
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a copy of the sample without anything that was built in it before."""
    return copied("ascend_c", tmp_path)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """Return a copy in which the script has run, and how it ended."""
    folder = copied("ascend_c", tmp_path_factory.mktemp("ascend_c"))
    done = run_sample(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, done


@pytest.mark.twin
@pytest.mark.build
@pytest.mark.slow
def test_the_sample_shows_how_far_each_operator_is_from_its_reference(
    shown: Shown,
) -> None:
    folder, done = shown
    assert_prints_what_the_readme_says("ascend_c", done.stdout)
    assert "AddCustom, InplaceAxpy, MatmulCustom, RmsNormCustom: 8 kernels" in done.stderr
    package = folder / PACKAGE
    assert (package / "op_api" / "lib" / "libcust_opapi.so").is_file()
    assert list((folder / "build" / "dist").glob("asc_add-1.0.0-*.whl"))


@pytest.mark.twin
@pytest.mark.build
@pytest.mark.slow
def test_its_kernels_agree_with_the_references(
    shown: Shown,
) -> None:
    folder, _ = shown
    done = run_sample(folder, "test", "--built")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^\d+ passed", done.stdout, flags=re.MULTILINE), done.stdout


def test_there_has_to_be_a_build_to_take(folder: Path) -> None:
    done = run_sample(folder, "test", "--built")
    assert done.returncode == 1
    assert "nothing is built yet; leave out --built" in done.stderr


def test_an_unknown_argument_is_reported(folder: Path) -> None:
    done = run_sample(folder, "--chekcs")
    assert done.returncode == 1
    assert "unknown argument '--chekcs'" in done.stderr
    assert "  --checks  " in done.stderr
