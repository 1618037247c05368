"""Settings of a shell, a terminal or a CI that tests do not depend on."""

from __future__ import annotations

import os
import signal
import sysconfig
from pathlib import Path

__all__ = ["settle"]

# They colour what is compared, make it narrower, or add options to a pytest that a test starts.
TERMINAL = {
    *("CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "NO_COLOR", "PY_COLORS"),
    *("GITHUB_ACTIONS", "TTY_COMPATIBLE", "TTY_INTERACTIVE"),
    *("COLUMNS", "LINES", "TERMINAL_WIDTH", "PYTEST_ADDOPTS"),
}
# Of the make that runs the tests: another one would take its options, and build another pair.
MAKE = {
    *("MAKEFLAGS", "MAKEOVERRIDES", "MAKELEVEL", "MFLAGS"),
    *("TORCH", "TORCH_NPU", "PYTHON", "ARCH"),
}
GIT = "GIT_"  # in a hook, they name the repository of the hook
ROOT = Path(__file__).parents[1]


def settle() -> None:
    """Make this process, and those that it starts, alike everywhere."""
    for name in [each for each in os.environ if each in TERMINAL | MAKE or each.startswith(GIT)]:
        del os.environ[name]
    # A worker of pytest for each core, and small tensors: more threads would only wait for each
    # other. A test of several threads asks torch for them.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    # Extensions are built in half the time; optimization is no subject of these tests.
    os.environ.setdefault("CXXFLAGS", "-O0")
    # Constants of all modules, which hypothesis would collect anew in each folder that tests make.
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(ROOT / ".hypothesis"))
    scripts = sysconfig.get_path("scripts")  # of the tools, also where no shell knows of them
    if scripts not in os.environ["PATH"].split(os.pathsep):
        os.environ["PATH"] = f"{scripts}{os.pathsep}{os.environ['PATH']}"
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a background job of a script
        signal.signal(signal.SIGINT, signal.default_int_handler)
