"""The tutorial as a reader follows it: files written, commands run, output compared."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
FENCE = re.compile(
    r'^```(?P<language>\w+)(?: title="(?P<file>[^"]+)")?\n(?P<text>.*?)^```$',
    re.MULTILINE | re.DOTALL,
)
LIMIT = 600  # seconds for one command: a build


@dataclass
class Step:
    """A command and what the page says that it prints."""

    command: str
    expected: str


def steps(page: Path) -> list[tuple[str, str] | Step]:
    """Return the files (name, text) and the commands of a page, in order."""
    found: list[tuple[str, str] | Step] = []
    for match in FENCE.finditer(page.read_text(encoding="utf-8")):
        if match["file"]:
            found.append((match["file"], match["text"]))
        elif match["language"] == "console":
            for part in re.split(r"^\$ ", match["text"], flags=re.MULTILINE)[1:]:
                command, _, expected = part.partition("\n")
                found.append(Step(command, expected))
    return found


@pytest.mark.parametrize("page", ["tutorial.md"])
def test_its_commands_print_what_it_says(page: str, tmp_path: Path) -> None:
    folder = tmp_path
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    checker = doctest.OutputChecker()
    for step in steps(DOCS / page):
        if isinstance(step, tuple):
            (folder / step[0]).write_text(step[1], encoding="utf-8")
        elif step.command.startswith("cd "):
            folder /= step.command[3:]
        else:
            done = subprocess.run(
                ["bash", "-c", step.command],
                cwd=folder,
                env={**os.environ, "PATH": path, "COLUMNS": "200"},
                capture_output=True,
                text=True,
                check=False,
                timeout=LIMIT,
            )
            assert done.returncode == 0, f"$ {step.command}\n{done.stdout}{done.stderr}"
            assert checker.check_output(
                step.expected, done.stdout, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            ), f"$ {step.command}\nthe page:\n{step.expected}\nthe command:\n{done.stdout}"
