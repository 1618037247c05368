"""Run a script on the twin in a process of its own: for faults, limits and settings.

`python` runs what brings its own twin: a verb of `opwright`, a file, pytest.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from tests.surroundings import settle
from tests.twin.fork_server import fork_server

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROOT = Path(__file__).parents[2]
LIMIT = 900  # seconds; a script takes a few, one that compiles much half a minute

CHOICES = ("ASCEND_", "OPWRIGHT_", "PYTORCH_NPU_", "TASK_QUEUE_", "LD_LIBRARY_PATH")
settle()  # conftest.py, which does it as well, imports this first
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(CHOICES)}
# torchair and npugraph_ex can be in one process only if torchair comes first.
COMPILER = ("torchair", "torch._dynamo")
PREFIX = "import opwright.twin\nimport torch\nimport torch_npu\n"


def run(
    program: str | Callable[..., object], *arguments: object, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a program after importing torch and torch_npu, with these environment variables.

    It is a script, or a function of a module of tests, which is called with the arguments; these
    are sent as `repr` writes them. Without variables the process is forked from one that has
    imported torch and torch_npu, and torchair as well if the program's module has or the script
    names it.
    """
    script = textwrap.dedent(program) if isinstance(program, str) else call_of(program, arguments)
    if variables:
        return run_fresh(script, **variables)
    names = program if isinstance(program, str) else vars(sys.modules[program.__module__])
    return run_forked(script, compiles="torchair" in names)


def call_of(function: Callable[..., object], arguments: Sequence[object]) -> str:
    """Return a script that calls a function of a module with these arguments."""
    module, name = function.__module__, function.__qualname__
    assert name.isidentifier(), f"{name} is not at the top of its module"
    shown = ", ".join(map(repr, arguments))
    return f"from {module} import {name}\n{name}({shown})"


def run_forked(script: str, *, compiles: bool) -> subprocess.CompletedProcess[str]:
    """Run the script in a child of a process that has imported torch and torch_npu.

    `compiles` asks for one that has imported torchair as well.
    """
    environment = tuple({**CLEAN, "PYTHONPATH": str(ROOT)}.items())
    server = fork_server(COMPILER if compiles else (), environment)
    return server.run(PREFIX + script, limit=LIMIT)


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


def output(program: str | Callable[..., object], *arguments: object, **variables: str) -> str:
    """Run a program as `run` does; it must succeed. Return what it printed."""
    return printed(run(program, *arguments, **variables))


def printed(done: subprocess.CompletedProcess[str]) -> str:
    """Return what a script printed, which must have succeeded."""
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
