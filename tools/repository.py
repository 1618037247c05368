"""The files of this repository; also in a tree of a pair, which git does not know."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIST = ".sources"  # in a tree of a pair: the files that came from the repository


def repository_files(root: Path = ROOT) -> list[str]:
    """Return all files, relative to the root, also those that are not committed yet."""
    laid = root / LIST
    if laid.is_file():
        names = laid.read_text(encoding="utf-8").splitlines()
    else:
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
        names = done.stdout.split("\0")
    # One that is removed and not committed is listed still.
    return [name for name in names if name and (root / name).is_file()]
