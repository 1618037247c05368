"""The tools of a build: the compiler; torch and torch_npu, which are not imported."""

from __future__ import annotations

import ast
import importlib.util
import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.kit.packaging.errors import CommandLineError, ToolError, VersionPairError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Toolchain", "cores", "find_toolchain"]

TIME_LIMIT = 600  # seconds for one run of the compiler


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """Programs and folders of a build.

    Parameters
    ----------
    compiler
        The command, which may have arguments (`ccache g++`).
    compiler_version
        What it says about itself and its target, on one line.
    flags
        The user's CXXFLAGS.
    torch, torch_npu
        Folders of the installed packages.
    """

    compiler: tuple[str, ...]
    compiler_version: str
    flags: tuple[str, ...]
    torch: Path
    torch_npu: Path
    torch_version: str
    torch_npu_version: str

    def run(self, arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
        """Run the compiler in a folder.

        Raises
        ------
        ToolError
            OPW-B010: it does not end.
        """
        try:
            return subprocess.run(
                [*self.compiler, *arguments],
                cwd=folder,
                env={**os.environ, "LC_ALL": "C"},  # messages are read
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=TIME_LIMIT,
            )
        except subprocess.TimeoutExpired as error:
            raise ToolError(
                where=shlex.join([*self.compiler, *arguments]),
                got=f"no end after {TIME_LIMIT} seconds",
                fix="make the source smaller, or include less",
            ) from error


def find_toolchain(environ: Mapping[str, str], wanted_torch: str) -> Toolchain:
    """Return what is installed.

    Parameters
    ----------
    wanted_torch
        Minor version of torch and torch_npu that the sources are for.

    Raises
    ------
    ToolError, VersionPairError, CommandLineError
        OPW-B010, OPW-B011, OPW-B024.
    """
    compiler = find_compiler(environ)
    folders = {name: package_folder(name) for name in ("torch", "torch_npu")}
    versions = {name: package_version(folder) for name, folder in folders.items()}
    for name, version in versions.items():
        if version.split(".")[:2] != wanted_torch.split("."):
            raise VersionPairError(
                where="[tool.opwright], torch",
                got=f"{name} {version} in {folders[name].parent}",
                allowed=(f"{name} {wanted_torch}.*",),
            )
    return Toolchain(
        compiler=compiler,
        compiler_version=describe_compiler(compiler),
        flags=words(environ, "CXXFLAGS"),
        torch=folders["torch"],
        torch_npu=folders["torch_npu"],
        torch_version=versions["torch"],
        torch_npu_version=versions["torch_npu"],
    )


def find_compiler(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the command of the C++ compiler, behind ccache if that is there and not named."""
    named = words(environ, "CXX")
    command = named or ("g++",)
    path = environ.get("PATH")
    if shutil.which(command[0], path=path) is None:
        raise ToolError(where="CXX" if named else "PATH", got=f"no program {' '.join(command)!r}")
    has_ccache = shutil.which("ccache", path=path) is not None
    if has_ccache and Path(command[0]).name != "ccache":
        return ("ccache", *command)
    return command


def words(environ: Mapping[str, str], variable: str) -> tuple[str, ...]:
    """Split a variable as a shell does; one that is not set has no words."""
    text = environ.get(variable, "")
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise CommandLineError(where=variable, got=f"{text!r}: {error}") from error


def describe_compiler(command: tuple[str, ...]) -> str:
    """Return the version and target of a compiler."""
    lines = []
    for option in ("--version", "-dumpmachine"):
        result = subprocess.run(
            [*command, option], capture_output=True, text=True, check=False, timeout=TIME_LIMIT
        )
        if result.returncode != 0:
            raise ToolError(
                where=shlex.join([*command, option]),
                got=f"exit code {result.returncode}: {result.stderr.strip()}",
            )
        lines.append(result.stdout.partition("\n")[0].strip())
    return ", ".join(lines)


def package_folder(name: str) -> Path:
    """Return where a package is installed."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ToolError(where="this Python", got=f"no package {name}", fix=f"install {name}")
    return Path(spec.origin).parent


def package_version(folder: Path) -> str:
    """Return the version that torch's or torch_npu's version.py says."""
    file = folder / "version.py"
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        match node:
            case ast.Assign([ast.Name("__version__")], ast.Constant(str(version))) | ast.AnnAssign(
                ast.Name("__version__"), _, ast.Constant(str(version))
            ):
                return version
    raise ToolError(where=str(file), got="no __version__", fix=f"install {folder.name} again")


def cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0))
