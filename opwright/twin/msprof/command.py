"""The command line of the twin's msprof: what torch_npu's analysis calls."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from opwright.errors import OpwrightError
from opwright.twin.msprof.errors import MsprofOptionError
from opwright.twin.msprof.export import export

__all__ = ["main"]

USAGE = """usage: msprof --export=on --output=FOLDER
       msprof --analyze=on --output=FOLDER

The twin's msprof. FOLDER is a PROF_... folder that torch_npu.profiler wrote on the twin.

  --export=on    write timeline and tables to FOLDER/mindstudio_profiler_output
  --analyze=on   nothing to do: there are no links between chips to analyse
"""
# torch_npu's analysis looks for the results ten times a second while msprof runs, and
# gives up when it has ended before the next look, which CANN's slower one does not.
LINGER = 0.5  # seconds

ALLOWED = ("--export=on", "--analyze=on", "--output=FOLDER", "--help")


def run(arguments: list[str]) -> None:
    """Do what the arguments say."""
    options: dict[str, str] = {}
    for argument in arguments:
        name, _, value = argument.partition("=")
        options[name] = value
        known = {"--export": ("on",), "--analyze": ("on",), "--output": (value,)}.get(name, ())
        if not value or value not in known:
            raise MsprofOptionError(where="msprof", got=argument, allowed=ALLOWED)
    if "--output" not in options or not {"--export", "--analyze"} & options.keys():
        got = " ".join(arguments) or "no options"
        raise MsprofOptionError(where="msprof", got=got, allowed=ALLOWED)
    if "--export" in options:
        export(Path(options["--output"]))
        time.sleep(LINGER)


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    if "--help" in given:
        sys.stdout.write(USAGE)
        return 0
    try:
        run(given)
    except OpwrightError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0
