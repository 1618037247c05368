"""The plugin form: the declaration as a Python package, which opwright loads where it is imported.

No compiler is needed, on neither side. The package has the same API as the built one: it is the
emitted package with the declaration in place of the library and the Python kernels.
"""

from __future__ import annotations

import json
import sys
import tokenize
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from opwright import __version__
from opwright.kit.declare.operator_set import OperatorSet
from opwright.kit.emit.header import with_header
from opwright.kit.packaging.errors import PluginError
from opwright.project.config import run_file
from opwright.project.errors import DeclarationFileError
from opwright.project.lazy_torch import lazy_torch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opwright.kit.packaging.emitted_tree import Sources
    from opwright.project.config import Project

__all__ = ["check_alone", "plugin_files"]

DECLARATION = "_declaration.py"
# Modules of the built package that load the library and register Python kernels.
REPLACED = frozenset({"_ops.py", "_registration.py", "_reference.py", "_kernels.py", "_loading.py"})

OPS = '''\
"""The operators, registered by opwright when this module is imported."""

from __future__ import annotations

import torch

from {package}._declaration import {operators} as declared

__all__ = ["loaded", "ops"]

loaded = declared.load()
ops = torch.ops.{namespace}
'''
REGISTRATION = '''\
"""The operators that the package registers: all of it is opwright's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from {package}._ops import loaded

if TYPE_CHECKING:
    from opwright.kit.live.loading import Loaded

__all__ = ["register"]


def register() -> Loaded:
    """Return the handle of the loaded operators; its `unload` removes them."""
    return loaded
'''
PYPROJECT = """\
[build-system]
requires = ["setuptools>=77", "wheel"]
build-backend = "setuptools.build_meta"

[project]
name = {name}
version = {version}
description = {description}
requires-python = ">=3.10"
dependencies = [
{dependencies}
]

[tool.setuptools]
packages = [{name}]

[tool.setuptools.package-data]
{package} = ["*.pyi", "py.typed", "metadata.json", "op_proto.h"]
"""


def plugin_files(project: Project, sources: Sources) -> Mapping[str, str]:
    """Return the files of the plugin's folder.

    Raises
    ------
    PluginError
        OPW-B020: the declaration needs other files of the project.
    """
    package, declaration = project.package, sources.facts.declaration
    values = {
        "package": package,
        "operators": variable(project),
        "namespace": declaration.namespace,
    }
    source = declaration.source.name
    kept = {
        path: text
        for path, text in sources.files.items()
        if path.startswith(f"{package}/") and path.removeprefix(f"{package}/") not in REPLACED
    }
    metadata = json.loads(kept[f"{package}/metadata.json"])
    metadata |= {"library": None, "plugin": True}
    metadata["files"] = {path: digest for path, digest in metadata["files"].items() if path in kept}
    requirements = [f"opwright>={__version__}"]
    requirements += [f"{name}{metadata['requires'][name]}" for name in ("torch", "torch_npu")]
    return {
        **kept,
        f"{package}/{DECLARATION}": text_of(project.declaration),
        f"{package}/_ops.py": with_header(OPS.format(**values), source=source, comment="#"),
        f"{package}/_registration.py": with_header(
            REGISTRATION.format(**values), source=source, comment="#"
        ),
        f"{package}/metadata.json": json.dumps(metadata, indent=2, ensure_ascii=False) + "\n",
        "pyproject.toml": with_header(
            PYPROJECT.format(
                name=json.dumps(package),
                package=package,
                version=json.dumps(declaration.version),
                description=json.dumps(f"Custom operators: torch.ops.{declaration.namespace}"),
                dependencies="\n".join(f"  {json.dumps(each)}," for each in requirements),
            ),
            source=source,
            comment="#",
        ),
    }


def text_of(file: Path) -> str:
    """Return the text of the declaration.

    Raises
    ------
    PluginError
        OPW-B020: it says that it is in another encoding than the one it will be written in.
    """
    with tokenize.open(file) as stream:
        if stream.encoding not in {"utf-8", "utf-8-sig"}:
            raise PluginError(
                where=str(file), got=f"a file in {stream.encoding}", fix="save it as UTF-8"
            )
        return stream.read()


def variable(project: Project) -> str:
    """Return the name of the operator set in the declaration."""
    with lazy_torch():
        module = run_file(project.declaration)
    return next(
        name for name, value in vars(module).items() if issubclass(type(value), OperatorSet)
    )


def check_alone(project: Project, folder: Path) -> None:
    """Raise unless the plugin's declaration can be run without the project around it.

    Parameters
    ----------
    folder
        The plugin's folder.

    Raises
    ------
    PluginError
        OPW-B020.
    """
    with lazy_torch(), hide_project(project.root):
        try:
            run_file(folder / project.package / DECLARATION)
        except DeclarationFileError as error:
            raise PluginError(where=str(project.declaration), got=error.got) from error


@contextmanager
def hide_project(root: Path) -> Iterator[None]:
    """Take a project's folder from Python's path."""
    before = list(sys.path)
    sys.path[:] = [entry for entry in before if entry and Path(entry).resolve() != root]
    try:
        yield
    finally:
        sys.path[:] = before
