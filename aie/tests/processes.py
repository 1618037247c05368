"""Programs in processes of their own: what they load or decide once stays there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import torch_aie
from tests.twin.on_twin import call_of

if TYPE_CHECKING:
    from collections.abc import Callable

# The tests, and this tree's torch_aie before another one.
FOLDERS = (Path(__file__).parents[2], Path(torch_aie.__file__).parents[1])
LIMIT = 600  # seconds

Done = subprocess.CompletedProcess[str]


def run(program: str | Callable[..., object], *arguments: str, **variables: str) -> Done:
    """Run a program, without torch_npu and with one thread unless the variables say otherwise.

    It is a script, or a function at the top of a module of tests, which is called with the
    arguments.
    """
    script = program if isinstance(program, str) else call_of(program, arguments)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, FOLDERS)),
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
