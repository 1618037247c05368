"""Which files are read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.lint.errors import LintPathError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["CPP", "PYTHON", "Found", "find_files"]

CPP = frozenset({".cpp", ".cc", ".cxx", ".c++", ".cu", ".h", ".hh", ".hpp", ".hxx", ".cuh", ".inl"})
PYTHON = frozenset({".py"})
YAML = frozenset({".yaml", ".yml"})
# Folders whose content is not the project's own.
FOREIGN = frozenset(
    {"third_party", "thirdparty", "3rdparty", "node_modules", "site-packages", "__pycache__"}
    | {"build", "venv", ".venv"}
)
TESTS = frozenset({"test", "tests"})
LARGEST = 8 << 20  # bytes; what is larger was written by a program


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The files to read, by the name that reports show, and what was left out."""

    files: tuple[tuple[str, Path], ...]
    skipped: tuple[tuple[str, str], ...]


def find_files(paths: Sequence[Path], *, exclude: Sequence[str] = (), tests: bool = False) -> Found:
    """Return all source files below paths, each once.

    Symbolic links to folders are not followed, so that a loop has no end but is none here.
    Repositories inside of a repository (submodules) are left out, as are folders of tests.

    Raises
    ------
    LintPathError
        OPW-C060.
    """
    files: dict[Path, str] = {}
    skipped: list[tuple[str, str]] = []
    for path in paths:
        if path.is_file():
            files.setdefault(path.resolve(), render(path, path.resolve()))
        elif path.is_dir():
            for each in walk(path, exclude, skipped, tests=tests):
                resolved = each.resolve()
                files.setdefault(resolved, render(each, resolved))
        else:
            raise LintPathError(where="opwright lint", got=f"{str(path)!r}, which is not there")
    known = CPP | PYTHON | YAML
    kept = tuple((name, path) for path, name in files.items() if path.suffix.lower() in known)
    if not kept:
        names = ", ".join(repr(str(each)) for each in paths)
        raise LintPathError(where="opwright lint", got=f"{names} without any source file")
    return Found(files=tuple(sorted(kept)), skipped=tuple(skipped))


def render(path: Path, resolved: Path) -> str:
    """Return a path as reports show it: relative to the working folder where that is shorter."""
    try:
        return resolved.relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()


def walk(
    root: Path, exclude: Sequence[str], skipped: list[tuple[str, str]], *, tests: bool
) -> Iterator[Path]:
    """Yield the files below a folder."""
    known = CPP | PYTHON | YAML
    for folder, folders, names in os.walk(root, followlinks=False):
        here = Path(folder)
        kept = []
        for name in sorted(folders):
            path = here / name
            relative = path.relative_to(root).as_posix()
            if name.startswith(".") or name in FOREIGN or name.endswith(".egg-info"):
                continue
            if not tests and name in TESTS:
                skipped.append((render(path, path.resolve()), "tests"))
            elif any(fnmatch(relative, pattern) for pattern in exclude):
                skipped.append((render(path, path.resolve()), "excluded"))
            elif (path / ".git").exists():
                skipped.append((render(path, path.resolve()), "a repository of its own"))
            else:
                kept.append(name)
        folders[:] = kept
        for name in sorted(names):
            path = here / name
            relative = path.relative_to(root).as_posix()
            if path.suffix.lower() not in known:
                continue
            if any(fnmatch(relative, pattern) for pattern in exclude):
                continue
            if not path.is_file():
                continue
            if path.stat().st_size > LARGEST:
                skipped.append((render(path, path.resolve()), "too large"))
                continue
            yield path
