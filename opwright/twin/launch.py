"""`opwright run`: choose between the twin and a real NPU, and become the command.

The command replaces this process, so its exit code, its signals and its standard streams are its
own.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Literal, NoReturn

from opwright.command_line.waiting import show_waiting
from opwright.errors import OpwrightError
from opwright.twin.environment import SWITCH, find_installed_packages, twin_environment
from opwright.twin.hardware import Hardware, find_hardware
from opwright.twin.toolkit import installed_toolkit, require_matching_torch
from opwright.twin.user_kernels import build_packages
from opwright.twin.user_kernels.packages import absent_packages

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from opwright.twin.settings import TwinSettings

__all__ = [
    "CommandNotFoundError",
    "NoHardwareError",
    "Target",
    "choose_target",
    "launch",
    "prepare",
]

Target = Literal["twin", "real"]


class NoHardwareError(OpwrightError):
    """A real NPU was asked for, but there is none."""

    id = "OPW-T020"
    title = "no real NPU to run on"
    usual_fix = "leave out --real, or install the NPU driver and source CANN's set_env.sh"


class CommandNotFoundError(OpwrightError):
    """The program to run does not exist."""

    id = "OPW-T021"
    title = "command not found"
    usual_fix = "check the name; after -- stands the program and its arguments, as in a shell"


def choose_target(hardware: Hardware, wish: Target | None) -> Target:
    """Return where to run; a real NPU is preferred unless the wish says otherwise.

    Raises
    ------
    NoHardwareError
        OPW-T020, if the wish is a real NPU and none is usable.
    """
    if wish == "real" and not hardware.usable:
        npus = ", ".join(hardware.npus) or "no /dev/davinci* device"
        raise NoHardwareError(
            where="--real", got=f"{npus}; CANN: {hardware.cann or 'none in ASCEND_HOME_PATH'}"
        )
    return wish or ("real" if hardware.usable else "twin")


def launch(
    command: Sequence[str],
    settings: TwinSettings,
    wish: Target | None,
    say: Callable[[str], None],
) -> NoReturn:
    """Become the command, on the twin or on a real NPU.

    Parameters
    ----------
    say
        Called with one line if a real NPU will be used.

    Raises
    ------
    NoHardwareError, CommandNotFoundError, ToolkitMissingError, OtherTorchError
        OPW-T020, OPW-T021, OPW-T010, OPW-T012.
    """
    program, environment = prepare(command, settings, wish, say)
    os.execve(program, list(command), environment)  # noqa: S606 - becoming the user's command is the purpose


def prepare(
    command: Sequence[str],
    settings: TwinSettings,
    wish: Target | None,
    say: Callable[[str], None],
) -> tuple[str, dict[str, str]]:
    """Return the path of the command's program and the environment that it runs in.

    Parameters and errors are those of `launch`.
    """
    hardware = find_hardware(os.environ)
    if choose_target(hardware, wish) == "real":
        say(
            f"running on the real NPU ({len(hardware.npus)} found, CANN in {hardware.cann}); "
            "--twin uses the twin"
        )
        environment = {**os.environ, SWITCH: "0"}
    else:
        environment = launch_environment(os.environ, settings)
        for wrong in absent_packages(find_installed_packages(os.environ)):
            say(f"warning: {wrong}")
    program = shutil.which(command[0], path=environment.get("PATH"))
    if program is None:
        is_file = os.path.isfile(command[0])  # noqa: PTH113 - as shutil.which sees it
        raise CommandNotFoundError(
            where="opwright run",
            got=f"{command[0]!r}, a file that is not executable" if is_file else repr(command[0]),
            fix="put its interpreter in front, as in `-- python FILE`" if is_file else None,
        )
    return program, environment


def launch_environment(base: Mapping[str, str], settings: TwinSettings) -> dict[str, str]:
    """Return the environment for a process on the twin, with its user kernels built."""
    require_matching_torch()
    packages: Sequence[Path] = ()
    if settings.kernels:
        with show_waiting("building kernels"):
            packages = build_packages(settings.kernels)
    return twin_environment(base, installed_toolkit(), settings, packages)
