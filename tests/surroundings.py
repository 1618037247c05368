"""Settings of a shell, a terminal or a CI that tests do not depend on."""

from __future__ import annotations

import os
import signal
import sysconfig

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


def settle() -> None:
    """Make this process, and those that it starts, alike everywhere."""
    for name in [each for each in os.environ if each in TERMINAL | MAKE or each.startswith(GIT)]:
        del os.environ[name]
    scripts = sysconfig.get_path("scripts")  # of the tools, also where no shell knows of them
    if scripts not in os.environ["PATH"].split(os.pathsep):
        os.environ["PATH"] = f"{scripts}{os.pathsep}{os.environ['PATH']}"
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a background job of a script
        signal.signal(signal.SIGINT, signal.default_int_handler)
