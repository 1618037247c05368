"""The compiler's messages -> the first error, with its place, its operator, the lines around it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.kit.packaging.errors import CompileError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

__all__ = ["CompilerFailure", "FirstError", "describe", "first_error"]

AROUND = 3  # lines of the source before and after the error
ERROR = re.compile(r"(?P<file>[^:\n]+):(?P<line>\d+)(?::\d+)?: (?:fatal )?error: (?P<text>.*)")
# Where a file was included or a template used, nearest first: "from F:L:" and "F:L:C:   required".
FROM = re.compile(
    r"(?:In file included from|\s+from) (?P<file>[^:\n]+):(?P<line>\d+)"
    r"|(?P<file2>[^:\n]+):(?P<line2>\d+):\d+:\s+(?:required|in .*expansion)"
)
# Failures whose cause is the machine, and how to mend them.
CAUSES = {
    re.compile(
        "No space left on device"
    ): "free space on the disk, or set XDG_CACHE_HOME and TMPDIR",
    re.compile("Killed signal|cannot allocate|virtual memory exhausted"): (
        "free memory, or run fewer compilers at a time: -j 1"
    ),
}


class CompilerFailure(Exception):  # noqa: N818 - a failure of a program, not yet reported to a person
    """A run of the compiler that failed.

    Parameters
    ----------
    command
        Its arguments.
    output
        What it wrote to its error stream.
    """

    def __init__(self, source: Path, command: Sequence[str], code: int, output: str) -> None:
        self.source = source
        self.command = tuple(command)
        self.code = code
        self.output = output
        super().__init__(str(source), code)


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstError:
    """The first error in the compiler's output.

    Parameters
    ----------
    file, line
        The nearest place in one of the project's sources.
    reported
        Where the compiler found it, if that is a header elsewhere.
    """

    file: Path
    line: int
    text: str
    reported: str | None = None


def first_error(output: str, sources: Sequence[Path], folder: Path) -> FirstError | None:
    """Find the first error; None if the output has none of the usual form.

    Parameters
    ----------
    sources
        Folders with the project's sources.
    folder
        Where the compiler ran, for relative paths.
    """
    lines = output.splitlines()
    for index, line in enumerate(lines):
        match = ERROR.match(line)
        if match is None:
            continue
        place = (folder / match["file"]).resolve()
        if is_ours(place, sources):
            return FirstError(file=place, line=int(match["line"]), text=match["text"])
        user = user_place(lines, index, sources, folder)
        if user is not None:
            reported = f"{match['file']}:{match['line']}"
            return FirstError(file=user[0], line=user[1], text=match["text"], reported=reported)
    return None


def user_place(
    lines: Sequence[str], error: int, sources: Sequence[Path], folder: Path
) -> tuple[Path, int] | None:
    """Return the place in the project's sources that led to an error elsewhere."""
    # The way there stands in the lines before it, up to the message before; "required from here"
    # of a macro stands behind it.
    before = list(reversed(lines[:error]))
    for line in [*before, *lines[error + 1 :]]:
        match = FROM.match(line)
        if match is not None:
            place = (folder / (match["file"] or match["file2"])).resolve()
            if is_ours(place, sources):
                return place, int(match["line"] or match["line2"])
    return None


def is_ours(place: Path, sources: Sequence[Path]) -> bool:
    """Return whether a file is one of the project's sources."""
    return any(place.is_relative_to(folder.resolve()) for folder in sources)


def describe(
    failure: CompilerFailure,
    sources: Sequence[Path],
    declared: Mapping[str, str],
    log: Path,
    names: Callable[[Path], str],
) -> CompileError:
    """Return the error for a person.

    Parameters
    ----------
    declared
        By an operator's identifier in C++: its name and the place of its declaration.
    log
        The file with the whole output.
    names
        What a file is called for the reader: the one that a person would edit.
    """
    found = first_error(failure.output, sources, failure.source.parent)
    if found is None:
        return report_without_place(failure, log, names)
    text = found.file.read_text(encoding="utf-8", errors="replace")
    operator = operator_of(text.splitlines(), found.line, declared)
    where = f"{names(found.file)}:{found.line}"
    if operator is not None:
        where += f", operator {declared[operator]}"
    elsewhere = f"\n  (found in {found.reported})" if found.reported else ""
    return CompileError(
        where=where,
        got=f"{found.text}{elsewhere}\n{excerpt(text.splitlines(), found.line)}\n"
        f"  all messages: {names(log)}",
    )


def report_without_place(
    failure: CompilerFailure, log: Path, names: Callable[[Path], str]
) -> CompileError:
    """Return the error for a failure that no line of a source caused."""
    fix = f"read {names(log)}, which begins with the command"
    got = failure.output.strip().partition("\n")[0] or "no message"
    for pattern, mend in CAUSES.items():
        match = pattern.search(failure.output)
        if match is not None:
            got, fix = match[0], mend
    return CompileError(
        where=names(failure.source),
        got=f"{got} (exit code {failure.code}; all messages: {names(log)})",
        fix=fix,
    )


def excerpt(lines: Sequence[str], line: int) -> str:
    """Return the lines around a line, which is marked."""
    first, last = max(1, line - AROUND), min(len(lines), line + AROUND)
    width = len(str(last))
    return "\n".join(
        f"  {'>' if number == line else ' '} {number:{width}} | {lines[number - 1]}"
        for number in range(first, last + 1)
    )


def operator_of(lines: Sequence[str], line: int, declared: Mapping[str, str]) -> str | None:
    """Return the operator whose code a line is in.

    The nearest line before, or the line itself, that has an operator's identifier as a whole word
    or at a word's start (`scale_npu`); of several the longest.
    """
    words = {
        name: re.compile(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9])") for name in declared
    }
    for text in reversed(lines[:line]):
        names = [name for name, pattern in words.items() if pattern.search(text)]
        if names:
            return max(names, key=len)
    return None
