"""A new project's tests pass as it is, for every template."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from typing import TYPE_CHECKING

import pytest

from opwright.project.template import TEMPLATES

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.twin, pytest.mark.compile]

LIMIT = 300  # seconds; it takes about eight


@pytest.mark.parametrize("template", TEMPLATES)
def test_make_test_passes_untouched(tmp_path: Path, template: str) -> None:
    folder = tmp_path / "space & öther"
    folder.mkdir()
    scripts = sysconfig.get_path("scripts")
    environment = os.environ | {"PATH": os.pathsep.join([scripts, os.environ["PATH"]])}
    new = [sys.executable, "-m", "opwright", "new", "my_ops", "--from", template]
    subprocess.run(new, cwd=folder, check=True, capture_output=True, timeout=LIMIT)
    result = subprocess.run(
        ["make", "test"],
        cwd=folder / "my_ops",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    (passed,) = re.findall(r"(\d+) passed", result.stdout)
    assert int(passed) >= 11, result.stdout
    assert not re.search(r"\d+ (skipped|xfailed|deselected)", result.stdout)
