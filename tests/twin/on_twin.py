"""Run a script on the twin in a process of its own: for faults, limits and settings.

`python` runs what brings its own twin: a verb of `opwright`, a file, pytest.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

from tests.twin.fork_server import fork_server

ROOT = Path(__file__).parents[2]
LIMIT = 900  # seconds; a script takes a few, one that compiles much half a minute

CHOICES = ("ASCEND_", "OPWRIGHT_", "PYTORCH_NPU_", "TASK_QUEUE_", "LD_LIBRARY_PATH")
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(CHOICES)}
# torchair and npugraph_ex can be in one process only if torchair comes first.
COMPILER = ("torchair", "torch._dynamo")
PREFIX = "import opwright.twin\nimport torch\nimport torch_npu\n"


def run(script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the script after importing torch and torch_npu, with these environment variables.

    Without variables the process is forked from one that has imported them, and torchair as well
    if the script names it.
    """
    if variables:
        return run_fresh(script, **variables)
    modules = COMPILER if "torchair" in script else ()
    environment = tuple({**CLEAN, "PYTHONPATH": str(ROOT)}.items())
    return fork_server(modules, environment).run(PREFIX + textwrap.dedent(script), limit=LIMIT)


def run_fresh(script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the script in a process that imports torch and torch_npu itself."""
    return python("-c", PREFIX + textwrap.dedent(script), **variables)


def python(*arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python as a user does whose shell knows nothing of the twin but these variables."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=ROOT,
        env={**CLEAN, "PYTHONPATH": str(ROOT), **variables},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


def output(script: str, **variables: str) -> str:
    """Run the script, which must succeed, and return what it printed."""
    return printed(run(script, **variables))


def printed(done: subprocess.CompletedProcess[str]) -> str:
    """Return what a script printed, which must have succeeded."""
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
