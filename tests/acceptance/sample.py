"""Runs a copy of a sample as its README says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
LIMIT = 900  # seconds; the samples take up to a minute on a core of one's own


def copied(name: str, folder: Path) -> Path:
    """Return a copy of a sample without what was built in it before, and the verbs beside it."""
    built = shutil.ignore_patterns("build", "dist", "generated", "*.egg-info", "__pycache__")
    shutil.copy(EXAMPLES / "verbs.sh", folder)
    return Path(shutil.copytree(EXAMPLES / name, folder / "sample", ignore=built))


def promised(name: str) -> list[str]:
    """Return the lines that a sample prints as its README says, without their numbers."""
    readme = (EXAMPLES / name / "README.md").read_text(encoding="utf-8")
    section = readme.partition("\n## What it prints\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    blocks += re.findall(r"^\|.*$", section, re.MULTILINE)
    lines = [line for block in blocks for line in block.splitlines() if line.strip(" .")]
    assert lines, f"{name}/README.md: nothing below What it prints"
    return [without_numbers(line) for line in lines]


def without_numbers(line: str) -> str:
    """Replace numbers, and the blanks beside them that fill columns."""
    return re.sub(r"\s*\d[\d.]*(e[-+]\d+)?\s*", " # ", " ".join(line.split())).strip()


def assert_prints_what_the_readme_says(name: str, printed: str) -> None:
    """Fail for lines of the README that are not among those printed, whatever the numbers."""
    found = {without_numbers(line) for line in printed.splitlines()}
    assert [line for line in promised(name) if line not in found] == []


def add_custom_project(folder: Path) -> None:
    """Put the operator AddCustom of the sample ascend_c, without its others, beside a sample."""
    project = EXAMPLES / "ascend_c"
    names = ["CMakePresets.json", "op_host/split.h", "op_kernel/add_custom.cpp"]
    names += ["op_host/add_custom.cpp", "op_host/add_custom_tiling.h"]
    for name in names:
        target = folder / "ascend_c" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(project / name, target)


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command of a sample, and return its output, whatever its exit code."""
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    return subprocess.run(
        command,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
