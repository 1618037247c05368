"""Runs a copy of a sample as its README says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
LIMIT = 300  # seconds; the samples take up to a minute on a core of one's own


def copied(name: str, folder: Path) -> Path:
    """Return a copy of a sample without what was built in it before."""
    built = shutil.ignore_patterns("build", "__pycache__")
    return Path(shutil.copytree(EXAMPLES / name, folder / "sample", ignore=built))


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
        env=os.environ | {"PATH": path, "OMP_NUM_THREADS": "1"},  # others run beside it
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
