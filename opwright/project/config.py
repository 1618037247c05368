"""A project's pyproject.toml, and its declaration.

```toml
[tool.opwright]
declaration = "operators.py"   # the file with the operator set
package = "my_ops"             # import name of the package that is made
torch = "2.13"                 # minor version of torch and torch_npu; the installed one if left out
stable-abi = false             # may be left out
```
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import traceback
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import tomli

from opwright.errors import OpwrightError
from opwright.kit.declare.operator_set import OperatorSet
from opwright.kit.emit.options import EmitOptions
from opwright.pairs import installed_minor
from opwright.project.errors import (
    ConfigError,
    DeclarationFileError,
    NoProjectError,
    OperatorSetError,
    TorchVersionError,
)
from opwright.project.names import name_fault

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from types import ModuleType

__all__ = [
    "GENERATED",
    "Project",
    "is_project",
    "load_operators",
    "operator_sets",
    "read_project",
    "retarget",
    "run_file",
]

# The folder for everything that is emitted; nothing else is kept in it.
GENERATED = "generated"

KEYS: Mapping[str, type] = {"declaration": str, "package": str, "torch": str, "stable-abi": bool}
TYPES = {str: "a string", bool: "true or false"}
REQUIRED = ("declaration", "package")
TORCH = re.compile(r"\d+\.\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project's folder and choices; both paths are absolute.

    Parameters
    ----------
    root
        The folder with pyproject.toml.
    declaration
        The file with the operator set.
    options
        Options of the emitters.
    """

    root: Path
    declaration: Path
    options: EmitOptions

    @property
    def package(self) -> str:
        """Import name of the package that is made."""
        return self.options.package

    @property
    def generated(self) -> Path:
        """The folder for emitted files."""
        return self.root / GENERATED


def read_project(folder: Path) -> Project:
    """Read the project in a folder.

    Raises
    ------
    NoProjectError
        OPW-P001: no pyproject.toml with [tool.opwright].
    ConfigError
        OPW-P002.
    DeclarationFileError
        OPW-P003: the declaration file is not there.
    """
    root = folder.resolve()
    file = root / "pyproject.toml"
    section = read_section(root, where=str(folder))
    check_section(section, where=f"{file}, [tool.opwright]")
    declaration = root / section["declaration"]
    if not declaration.is_file():
        raise DeclarationFileError(
            where=f"{file}, declaration",
            got=f"no file {section['declaration']!r}",
            fix="name a Python file of the project",
        )
    return Project(
        root=root,
        declaration=declaration,
        options=EmitOptions(
            package=section["package"],
            torch=section.get("torch", installed_minor()),
            stable_abi=section.get("stable-abi", False),
        ),
    )


def read_section(root: Path, *, where: str) -> dict[str, Any]:
    """Return [tool.opwright] of a folder's pyproject.toml, unchecked.

    Raises
    ------
    NoProjectError, ConfigError
        OPW-P001, OPW-P002: the file cannot be parsed.
    """
    file = root / "pyproject.toml"
    if not file.is_file():
        got = "a folder without pyproject.toml" if root.is_dir() else "no such folder"
        raise NoProjectError(where=where, got=got)
    try:
        content = tomli.loads(file.read_text(encoding="utf-8"))
    except (tomli.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(where=str(file), got=str(error)) from error
    section = content.get("tool", {}).get("opwright")
    if not isinstance(section, dict):
        raise NoProjectError(where=str(file), got="no section [tool.opwright]")
    return section


def is_project(folder: Path) -> bool:
    """Whether a folder has a pyproject.toml with [tool.opwright]."""
    try:
        read_section(folder, where=str(folder))
    except (
        NoProjectError,
        ConfigError,
        PermissionError,
    ):  # a file that nobody can read is another's
        return False
    return True


def check_section(section: Mapping[str, object], *, where: str) -> None:
    """Raise if a key is unknown or missing, or if a value is not one that it can have."""
    for key in REQUIRED:
        if key not in section:
            raise ConfigError(where=where, got=f"no {key}", fix=f'add {key} = "..."')
    for key, value in section.items():
        kind = KEYS.get(key)
        if kind is None:
            raise ConfigError(
                where=where,
                got=f"key {key!r}",
                allowed=KEYS,
                near=key,
                fix="use a key that exists",
            )
        if not isinstance(value, kind):
            raise ConfigError(where=f"{where}, {key}", got=repr(value), fix=f"give {TYPES[kind]}")
    package, torch = str(section["package"]), section.get("torch")
    fault = name_fault(package)
    if fault is not None:
        raise ConfigError(
            where=f"{where}, package",
            got=fault.got,
            fix=fault.fix or "use a letter, then letters, digits and _",
        )
    if torch is not None and not TORCH.fullmatch(str(torch)):
        raise ConfigError(
            where=f"{where}, torch", got=repr(torch), fix='give a minor version: "2.13"'
        )


def retarget(project: Project, torch: str | None) -> Project:
    """Return a project whose sources are for another minor version of torch, if one is given.

    Raises
    ------
    TorchVersionError
        OPW-P016.
    """
    if torch is None:
        return project
    if not TORCH.fullmatch(torch):
        raise TorchVersionError(where="--torch", got=repr(torch))
    return replace(project, options=replace(project.options, torch=torch))


def load_operators(project: Project) -> OperatorSet:
    """Run the declaration file and return its operator set.

    Modules beside the file can be imported by it. Neither they nor the file's module are left in
    `sys.modules`, so that the next call runs them again, as they are then.

    Raises
    ------
    DeclarationFileError
        OPW-P003: the file raises, or would end the process; an error of the declaration itself
        comes as it is.
    OperatorSetError
        OPW-P004: no operator set, or several.
    """
    found = operator_sets(run_file(project.declaration))
    if len(found) != 1:
        raise OperatorSetError(where=str(project.declaration), got=f"{len(found)} operator sets")
    return found[0]


def operator_sets(module: ModuleType) -> list[OperatorSet]:
    """Return the operator sets among the names of a module, each once."""
    found = {id(value): value for value in vars(module).values() if isinstance(value, OperatorSet)}
    return list(found.values())


def run_file(file: Path) -> ModuleType:
    """Run a Python file as a module named like it."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise DeclarationFileError(
            where=str(file), got=f"suffix {file.suffix!r}", fix="name a .py file"
        )
    module = importlib.util.module_from_spec(spec)
    with make_importable(file, module):
        try:
            # Not the loader's exec_module: it would run old bytecode of a file that was edited
            # twice within one second without changing its length.
            exec(compile(file.read_bytes(), str(file), "exec"), vars(module))  # noqa: S102
        except (OpwrightError, KeyboardInterrupt):
            raise
        except BaseException as error:  # SystemExit too: its 0 would say that all is done
            place, got = describe(error, file)
            raise DeclarationFileError(where=place, got=got) from error
    return module


@contextmanager
def make_importable(file: Path, module: ModuleType) -> Iterator[None]:
    """Make a module and its neighbours importable while its file runs, and not longer."""
    folder = str(file.parent)
    before = dict(sys.modules)
    sys.modules[module.__name__] = module
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        with suppress(ValueError):  # the file took it away itself
            sys.path.remove(folder)
        for name, other in sys.modules.copy().items():  # other threads may import
            origin = getattr(other, "__file__", None) or ""
            if name not in before and origin.startswith(f"{folder}{os.sep}"):
                del sys.modules[name]
        sys.modules.pop(module.__name__, None)
        if module.__name__ in before:
            sys.modules[module.__name__] = before[module.__name__]


def describe(error: BaseException, file: Path) -> tuple[str, str]:
    """Return the last line of the file that an exception came through, and the exception."""
    got = f"{type(error).__name__}: {error}"
    if isinstance(error, SyntaxError):
        return f"{error.filename or file}:{error.lineno or 0}", got
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(file)
    ]
    return (f"{file}:{lines[-1]}" if lines else str(file)), got
