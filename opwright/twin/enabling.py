"""`opwright enable`: the twin as the CANN of a Python environment, and the way back.

Two files in site-packages do it: a .pth file, which Python runs at each start, and the module that
it calls (`site_module`). Both are entered among the files of the installed package, so that
uninstalling opwright removes them too.
"""

from __future__ import annotations

import importlib.metadata
import py_compile
import sysconfig
from importlib.util import cache_from_source
from pathlib import Path
from typing import Literal

from opwright.command_line.files import write_atomically
from opwright.errors import OpwrightError

__all__ = ["EnvironmentNotWritableError", "State", "disable", "enable", "site_packages", "state"]

State = Literal["disabled", "enabled", "preferred"]

SOURCE = Path(__file__).with_name("site_module.py")
MODULE = "_opwright_twin"
FILES = (f"{MODULE}.py", "opwright_twin.pth")  # the module first: the other one imports it


class EnvironmentNotWritableError(OpwrightError):
    """The environment's site-packages cannot be changed."""

    id = "OPW-T022"
    title = "this Python environment cannot be changed"
    usual_fix = "use a virtual environment of your own, or start programs with `opwright run`"


def site_packages() -> Path:
    """Return the folder of this environment's packages."""
    return Path(sysconfig.get_path("purelib"))


def line(*, prefer: bool) -> str:
    """Return what Python runs at each start."""
    return f"import {MODULE}; {MODULE}.install(prefer={prefer})\n"


def state(folder: Path) -> State:
    """Return whether programs of an environment run on the twin, from its site-packages."""
    file = folder / FILES[1]
    if not file.is_file():
        return "disabled"
    return "preferred" if file.read_text("utf-8") == line(prefer=True) else "enabled"


def enable(folder: Path, *, prefer: bool = False) -> None:
    """Make the twin the CANN of an environment; a second call changes nothing but `prefer`.

    Nothing is written where all is as it should be: the user of an image need not be able to.

    Parameters
    ----------
    folder
        Its site-packages.
    prefer
        Whether the twin goes before a CANN that the environment's variables name.

    Raises
    ------
    EnvironmentNotWritableError
        OPW-T022.
    """
    texts = (SOURCE.read_text("utf-8"), line(prefer=prefer))
    if all(map(has_text, (folder / name for name in FILES), texts)):
        return
    module, start = FILES
    try:
        write_atomically(folder / module, texts[0], force=True)
        # Programs without the right to write it would compile the module at each start.
        py_compile.compile(str(folder / module), doraise=True)
        record({name: f"{name},,\n" for name in FILES}, folder)
        write_atomically(folder / start, texts[1], force=True)  # last: it says that all is there
    except OSError as error:
        raise EnvironmentNotWritableError(where=str(folder), got=str(error)) from error


def disable(folder: Path) -> bool:
    """Take the twin out of an environment again; return whether it was in it.

    Raises
    ------
    EnvironmentNotWritableError
        OPW-T022.
    """
    found = state(folder) != "disabled"
    if not any((folder / name).exists() for name in FILES):
        return found
    try:
        for name in reversed(FILES):
            (folder / name).unlink(missing_ok=True)
        Path(cache_from_source(str(folder / FILES[0]))).unlink(missing_ok=True)
        record(dict.fromkeys(FILES, ""), folder)
    except OSError as error:
        raise EnvironmentNotWritableError(where=str(folder), got=str(error)) from error
    return found


def has_text(file: Path, text: str) -> bool:
    """Return whether a file is there and has this text."""
    return file.is_file() and file.read_text("utf-8") == text


def record(lines: dict[str, str], folder: Path) -> None:
    """Put lines about files into the list of what pip installed; an empty one takes it out.

    All other lines stay as they are, byte for byte: pip ends them with CR and LF.
    """
    for package in importlib.metadata.distributions(name="opwright", path=[str(folder)]):
        listed = next((each for each in package.files or () if each.name == "RECORD"), None)
        if listed is None:  # a package of the system has no list of pip's
            continue
        file = Path(str(package.locate_file(listed)))
        kept = [
            each
            for each in file.read_bytes().decode().splitlines(keepends=True)
            if each.partition(",")[0] not in lines
        ]
        write_atomically(file, "".join([*kept, *lines.values()]), force=True)
