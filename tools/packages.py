"""Install packages with pip, and show how far it is.

    python -m tools.packages [ARGUMENTS OF pip install]

Uses the standard library and this interpreter's pip. On a terminal one line is kept up to
date; elsewhere, as in a log of CI, a line is written every ten seconds.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

LOG_INTERVAL = 10.0  # seconds between two lines where no terminal overwrites the last one
TERMINAL_INTERVAL = 0.2  # seconds between two states on a terminal
WIDTH = 78
INSTALLING_PHASE = "installing"
MB = 1e6
COLLECTING = re.compile(r"Collecting (?P<name>[\w.-]+)")
DOWNLOADING = re.compile(r"\s*Downloading (?:\S*/)?(?P<name>[^-\s]+)-\S+(?<!\.metadata) \(")
PROGRESS = re.compile(r"Progress (?P<done>\d+) of (?P<size>\d+)")
INSTALLING = re.compile(r"Installing collected packages: (?P<names>.*)")


@dataclass(frozen=True)
class State:
    """How far pip is, by the lines that it has written."""

    phase: str = "looking at what is installed"
    subject: str = ""  # the package at hand, or how many there are
    collected: int = 0
    started: float = 0.0  # when the file at hand was begun, in seconds
    done: int = 0  # bytes of the file at hand
    size: int = 0

    def text(self, now: float) -> str:
        """Return what pip does, and how much of a download is left."""
        text = f"{self.phase} {self.subject}".rstrip()
        if self.size:
            text += f", {self.done / MB:.0f} of {self.size / MB:.0f} MB"
        if 0 < self.done < self.size:
            left = (now - self.started) * (self.size - self.done) / self.done
            text += f", about {format_duration(left)} left of it"
        return text


def follow(state: State, line: str, now: float) -> State:
    """Return the state after one more line of pip's."""
    if match := PROGRESS.match(line):
        return replace(state, done=int(match["done"]), size=int(match["size"]))
    if match := DOWNLOADING.match(line):
        return State("downloading", match["name"], state.collected, now)
    if match := COLLECTING.match(line):
        count = state.collected + 1
        return State("looking up", f"package {count}, {match['name']}", count)
    if match := INSTALLING.match(line):
        return State(
            INSTALLING_PHASE, f"{len(match['names'].split(','))} packages", state.collected
        )
    return state


def format_duration(seconds: float) -> str:
    """Return a duration as minutes and seconds.

    >>> format_duration(75.2)
    '1:15'
    """
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


@dataclass
class Display:
    """Where the state is shown."""

    begin: float
    is_terminal: bool
    last_update: float = 0.0
    is_installing: bool = False

    def show(self, state: State, now: float) -> None:
        """Write the state, unless the last line is a moment old.

        While pip installs it writes nothing, so the beginning of that is always shown.
        """
        begins_to_install = state.phase == INSTALLING_PHASE and not self.is_installing
        pause = TERMINAL_INTERVAL if self.is_terminal else LOG_INTERVAL
        if now - self.last_update < pause and not begins_to_install:
            return
        self.last_update, self.is_installing = now, state.phase == INSTALLING_PHASE
        text = f"  {format_duration(now - self.begin)} {state.text(now)}"
        if self.is_terminal:
            print(f"\r{text:{WIDTH}.{WIDTH}}", end="", flush=True)
        else:
            print(text, flush=True)

    def close(self) -> None:
        """Clear the terminal's line."""
        if self.is_terminal and self.last_update:
            print(f"\r{'':{WIDTH}}\r", end="", flush=True)


def install(arguments: Iterable[str]) -> int:
    """Run pip install, show its progress, and return its exit code.

    Its warnings and errors are shown if it fails.
    """
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install"]
    command += ["--progress-bar=raw", "--root-user-action=ignore", *arguments]
    display = Display(time.monotonic(), sys.stdout.isatty())
    state = State()
    with tempfile.TemporaryFile("w+") as errors:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process:
            for line in process.stdout or ():
                now = time.monotonic()
                state = follow(state, line, now)
                display.show(state, now)
        display.close()
        if process.returncode != 0:
            errors.seek(0)
            shutil.copyfileobj(errors, sys.stderr)
    return process.returncode


if __name__ == "__main__":
    sys.exit(install(sys.argv[1:]))
