"""Pages as their readers follow them: files are written, commands run, and their output compared.

A page is Markdown. A fenced block with a title is a file, one of language `console` has commands
(`$ ...`) and what they print on standard output; `...` stands for what differs from run to run.
Other blocks are for reading only.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.docs.tree import TAG

if TYPE_CHECKING:
    from collections.abc import Mapping

TAG_HERE = f"cp{sys.version_info.major}{sys.version_info.minor}"  # pages show the default's
DOCS = Path(__file__).parents[2] / "docs"
FENCE = re.compile(
    r'^```(?P<language>\w+)(?: title="(?P<file>[^"]+)")?\n(?P<text>.*?)^```$',
    re.MULTILINE | re.DOTALL,
)
LIMIT = 600  # seconds for one command: a build
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True, slots=True)
class File:
    """A file that the reader writes; its name may have folders."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command, and what the page says that it prints."""

    line: str
    expected: str


def steps(page: Path, before: str = "") -> list[File | Command]:
    """Return the files and commands of a page, in order, up to a line if one is given."""
    found: list[File | Command] = []
    text = page.read_text(encoding="utf-8")
    assert f"\n{before}\n" in text, f"{page}: no line {before!r}"
    for match in FENCE.finditer(text.partition(f"\n{before}\n")[0] if before else text):
        if match["file"]:
            found.append(File(match["file"], match["text"]))
        elif match["language"] == "console":
            for part in re.split(r"^\$ ", match["text"], flags=re.MULTILINE)[1:]:
                line, _, expected = part.partition("\n")
                found.append(Command(line, expected))
    return found


def follow(
    page: Path, folder: Path, *, before: str = "", environ: Mapping[str, str] | None = None
) -> None:
    """Do what a page says, beginning in an empty folder.

    Parameters
    ----------
    before
        The line at which to stop; the whole page if it is empty.
    environ
        The environment of the commands, as `run` takes it.

    Raises
    ------
    AssertionError
        A command failed, or printed something else; or the page has none.
    """
    commands = 0
    for step in steps(page, before):
        if isinstance(step, File):
            file = folder / step.name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(step.text, encoding="utf-8")
        elif step.line.startswith("cd "):
            folder = (folder / step.line[3:]).resolve(strict=True)
        else:
            run(step, folder, environ)
            commands += 1
    assert commands, f"{page}: no commands"


def run(command: Command, folder: Path, environ: Mapping[str, str] | None = None) -> None:
    """Run a command as a reader's shell does, and compare what it prints.

    Without an environment it is this process's, with its Python first on PATH.
    """
    if environ is None:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environ = {**os.environ, "PATH": path}
    done = subprocess.run(
        ["bash", "-c", command.line],
        cwd=folder,
        env={**environ, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )
    assert done.returncode == 0, f"$ {command.line}\n{done.stdout}{done.stderr}"
    expected = command.expected.replace(TAG, TAG_HERE)
    assert doctest.OutputChecker().check_output(expected, done.stdout, FLAGS), (
        f"$ {command.line}\nthe page:\n{expected}\nthe command:\n{done.stdout}"
    )
