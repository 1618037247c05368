"""Programs in processes of their own: what they load or decide once stays there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import torch_aie

PACKAGES = Path(torch_aie.__file__).parents[1]  # this tree's torch_aie, before another one
LIMIT = 600  # seconds

Done = subprocess.CompletedProcess[str]


def run(script: str, *arguments: str | Path, **variables: str) -> Done:
    """Run a program, without torch_npu and with one thread unless the variables say otherwise."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(PACKAGES),
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
        "OMP_NUM_THREADS": "1",
        **variables,
    }
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )
