"""Runs the compiler, and only where what it would read has changed since its last run."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.kit.packaging.toolchain import find_compiler

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.errors import OpwrightError

__all__ = ["Compilation", "compile_all", "list_files_read"]

TIME_LIMIT = 600  # seconds for one run


@dataclass(frozen=True, slots=True, kw_only=True)
class Compilation:
    """One run of the compiler.

    Parameters
    ----------
    what
        For people: the source, or the kernel and its column.
    options
        Without the compiler, -o and the output.
    inputs
        Files among the options that the compiler does not list as read: objects of a link.
    error
        What is raised if the compiler refuses.
    """

    what: str
    options: tuple[str, ...]
    output: Path
    error: type[OpwrightError]
    inputs: tuple[Path, ...] = ()


def compile_all(compilations: Sequence[Compilation], jobs: int) -> int:
    """Run those whose output is not current; return how many ran.

    Raises
    ------
    OpwrightError
        The error of the first compilation that fails.
    """
    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        return sum(pool.map(compile_one, compilations))


def compile_one(compilation: Compilation) -> bool:
    """Run the compiler unless the output is current; return whether it ran."""
    command = [*find_compiler(os.environ), *compilation.options]
    stamp = compilation.output.with_name(compilation.output.name + ".stamp")
    includes = compilation.output.with_name(compilation.output.name + ".d")
    if (
        compilation.output.exists()
        and stamp.exists()
        and stamp.read_text(encoding="utf-8")
        == digest(command, [*compilation.inputs, *list_files_read(includes)])
    ):
        return False
    compilation.output.parent.mkdir(parents=True, exist_ok=True)
    stamp.unlink(missing_ok=True)  # whatever happens now, what is there is not of the last run
    made = compilation.output.with_name(compilation.output.name + ".new")
    command_line = [*command, "-MD", "-MF", str(includes), "-o", str(made)]
    mark = compilation.output.with_name(compilation.output.name + ".begun")
    mark.touch()  # the file system's clock, not the system's
    begun = mark.stat().st_mtime_ns
    mark.unlink()
    try:
        result = subprocess.run(
            command_line,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=TIME_LIMIT,
        )
    except subprocess.TimeoutExpired as error:
        raise compilation.error(
            where=compilation.what,
            got=f"no end after {TIME_LIMIT} seconds: {shlex.join(command_line)}",
            fix="make the source smaller, or include less",
        ) from error
    if result.returncode != 0:
        raise compilation.error(
            where=compilation.what,
            got=f"exit code {result.returncode} of {shlex.join(command_line)}\n"
            f"{result.stderr}".rstrip(),
        )
    made.replace(compilation.output)
    read = [*compilation.inputs, *list_files_read(includes)]
    # A file that was saved while the compiler ran may be newer than the text that it read.
    if not any(path.exists() and path.stat().st_ctime_ns > begun for path in read):
        stamp.write_text(digest(command, read), encoding="utf-8")
    return True


def list_files_read(includes: Path) -> list[Path]:
    """Return the files that a compilation read, as its rule for make lists them."""
    if not includes.exists():
        return []
    _, _, listed = includes.read_text(encoding="utf-8").partition(":")
    # A blank within a name is written with a backslash before it.
    names = re.split(r"(?<!\\)\s+", listed.replace("\\\n", " ").strip())
    return [Path(name.replace("\\ ", " ")) for name in names if name]


def digest(command: Sequence[str], files: Sequence[Path]) -> str:
    """Return a hash of a command and of the content of files."""
    result = hashlib.sha256("\0".join(command).encode())
    for path in files:
        result.update(str(path).encode())
        if path.exists():
            result.update(hashlib.sha256(path.read_bytes()).digest())
    return result.hexdigest()
