"""Paths from the command line -> the files of an extension of op-plugin."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.kit.op_plugin.errors import InputsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Inputs", "read_inputs", "render", "text_of"]

FUNCTIONS = "op_plugin_functions.yaml"
YAML = frozenset({".yaml", ".yml"})
HEADERS = frozenset({".h", ".hpp"})
SUFFIXES = frozenset({*YAML, *HEADERS, ".cpp", ".py"})
# Headers that are generated, and what a name within #include "..." cannot have.
GENERATED = frozenset({"tensors.h", "handles.h"})
INCLUDED = re.compile(r'["\\\x00-\x1f]')


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The files of an extension.

    Parameters
    ----------
    functions
        What op-plugin calls op_plugin_functions.yaml, or the entries that go into it.
    kernels
        C++ sources; headers stand beside them.
    python
        Modules with Meta functions, converters and the like.
    """

    functions: Path
    derivatives: Path | None = None
    kernels: tuple[Path, ...] = ()
    headers: tuple[Path, ...] = ()
    python: tuple[Path, ...] = ()


def render(path: Path) -> str:
    """Return a path as a person would write it: from the current folder if it is in there."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def text_of(file: Path) -> str:
    """Return a file's text.

    Raises
    ------
    InputsError
        OPW-O001.
    """
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputsError(
            where=render(file), got=str(error), fix="make it readable, in UTF-8"
        ) from error


def read_inputs(paths: Sequence[Path]) -> Inputs:
    """Sort files by what they are; a folder stands for the files in it.

    Raises
    ------
    InputsError
        OPW-O001.
    """
    files = list(dict.fromkeys(each.resolve() for path in paths for each in list_files(path)))
    documents = [file for file in files if file.suffix in YAML]
    derivatives = [file for file in documents if file.stem.endswith("derivatives")]
    functions = [file for file in documents if file not in derivatives]
    given = ", ".join(map(str, paths)) or "no path"
    for what, found in (("functions", functions), ("derivatives", derivatives)):
        if len(found) > 1:
            raise InputsError(
                where=given,
                got=f"{len(found)} YAML files of {what}: {', '.join(map(render, found))}",
                fix="join them into one file",
            )
    if not functions:
        raise InputsError(where=given, got="no YAML file with functions", allowed=[FUNCTIONS])
    check_names([file for file in files if file.suffix not in YAML])
    return Inputs(
        functions=functions[0],
        derivatives=derivatives[0] if derivatives else None,
        kernels=tuple(file for file in files if file.suffix == ".cpp"),
        headers=tuple(file for file in files if file.suffix in HEADERS),
        python=tuple(file for file in files if file.suffix == ".py"),
    )


def list_files(path: Path) -> Iterable[Path]:
    """Return the files that a path stands for."""
    if path.is_dir():
        return sorted(file for file in path.iterdir() if file.suffix in SUFFIXES)
    if not path.is_file():
        raise InputsError(where=str(path), got="no such file or folder", fix="correct the path")
    if path.suffix not in SUFFIXES:
        raise InputsError(where=str(path), got=f"a file *{path.suffix}", allowed=sorted(SUFFIXES))
    return [path]


def check_names(files: Iterable[Path]) -> None:
    """Raise for files that one folder, or generated code, cannot have by their names."""
    first: dict[str, Path] = {}
    for file in files:
        if file.suffix in HEADERS and (file.name in GENERATED or INCLUDED.search(file.name)):
            raise InputsError(
                where=render(file),
                got=f"a header named {file.name!r}, which generated code cannot include",
                fix="rename it",
            )
        other = first.setdefault(file.name, file)
        if other != file:
            raise InputsError(
                where=render(file),
                got=f"a second file of this name, after {render(other)}",
                fix="rename one of them",
            )
