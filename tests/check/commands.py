"""Run `opwright check` as a user does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.twin.on_twin import CLEAN

__all__ = ["HERE", "LIMIT", "check", "check_process"]

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LIMIT = 600  # seconds; on a busy machine the import of torch_npu alone takes many


def command(*arguments: str) -> list[str]:
    """Return the command line."""
    return [sys.executable, "-m", "opwright", "check", *arguments]


def check(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    return subprocess.run(
        command(*arguments),
        cwd=folder,
        env=CLEAN,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


def check_process(*arguments: str, **variables: str) -> subprocess.Popen[str]:
    """Start the command."""
    return subprocess.Popen(
        command(*arguments),
        cwd=ROOT,
        env={**CLEAN, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
