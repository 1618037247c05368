"""Call a function of a module of tests in a process that begins with nothing imported.

For what has to be killed, limited or left without torch. `tests.twin.on_twin` is for what runs on
the twin.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tests.twin.on_twin import call_of, python

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

__all__ = ["alone", "alone_command"]


def alone_command(function: Callable[..., object], *arguments: object) -> list[str]:
    """Return the command that calls the function; the root of the repository is on its path."""
    return [sys.executable, "-c", call_of(function, arguments)]


def alone(
    function: Callable[..., object], *arguments: object, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Call the function with arguments that `repr` writes, and with environment variables."""
    return python("-c", call_of(function, arguments), **variables)
