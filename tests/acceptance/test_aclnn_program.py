"""The example aclnn_program, used as its README says."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.sample import assert_prints_what_the_readme_says, copied, run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.twin, pytest.mark.slow]


def test_the_layer_has_the_numbers_of_plain_cpp(tmp_path: Path) -> None:
    sample = copied("aclnn_program", tmp_path)
    done = run("bash", sample / "run.sh")
    assert done.returncode == 0, done.stdout + done.stderr
    assert_prints_what_the_readme_says("aclnn_program", done.stdout)

    # The comparison itself: a layer that differs is found.
    source = sample / "src" / "layer.cpp"
    source.write_text(
        source.read_text(encoding="utf-8").replace(
            "RUN(device, aclnnInplaceRelu", "if (wrong) RUN(device, aclnnInplaceRelu"
        )
    )
    done = run("bash", sample / "run.sh")
    assert done.returncode == 1, done.stdout + done.stderr


def test_every_compiler_builds_it_and_mistakes_are_reported(tmp_path: Path) -> None:
    sample = copied("aclnn_program", tmp_path)
    done = run("bash", sample / "run.sh", "test")
    assert done.returncode == 0, done.stdout + done.stderr
    ways = 3 if shutil.which("clang++") else 2
    differences = re.findall(
        r"^largest difference from plain C\+\+ (\S+)$", done.stdout, re.MULTILINE
    )
    assert [float(difference) < 1e-4 for difference in differences] == [True] * ways
    assert "failed with 161002: aclnnAddmmGetWorkspaceSize: " in done.stdout
    assert done.stdout.endswith("All numbers agree.\n")
