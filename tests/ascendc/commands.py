"""Commands on the twin, in a folder of a test's."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["on_twin"]


def on_twin(folder: Path, *command: str, limit: float = 240) -> subprocess.CompletedProcess[str]:
    """Run a command on the twin in a folder; `limit` is in seconds."""
    return subprocess.run(
        [sys.executable, "-m", "opwright", "run", "--", *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=limit,
    )
