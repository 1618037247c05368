"""The twin in this process: environment, libraries, and the moment at which they are loaded.

torch_npu's libraries name CANN's by SONAME. glibc takes a library that is already loaded under that
name, so loading the twin's libraries by path before torch_npu is enough; LD_LIBRARY_PATH, which
glibc reads once when a process starts, is set for child processes only. A loaded library stays
until the process ends.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import sys
import warnings
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from typing import TYPE_CHECKING

from typing_extensions import Self

from opwright.errors import OpwrightError
from opwright.twin.autoload import suppress_autoload
from opwright.twin.environment import find_changed, find_installed_packages, twin_environment
from opwright.twin.settings import TwinSettings
from opwright.twin.toolkit import (
    LOAD_ORDER,
    Toolkit,
    installed_toolkit,
    require_matching_torch,
)
from opwright.twin.user_kernels.packages import absent_packages
from opwright.twin.user_kernels.process import package_of_process, publish
from opwright.twin.user_kernels.registry import registry

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import ModuleType

__all__ = ["Armed", "TwinTooLateError", "activate", "arm", "export"]


class TwinTooLateError(OpwrightError):
    """torch_npu is already loaded, on something else than the twin."""

    id = "OPW-T011"
    title = "the twin was asked for after torch_npu had been loaded"
    usual_fix = (
        "import opwright.twin before torch and torch_npu, or start the program with `opwright run`"
    )


def activate(settings: TwinSettings | None = None) -> None:
    """Load the twin beneath torch_npu in this process, now. A second call changes nothing.

    Parameters
    ----------
    settings
        What is chosen; None for the environment's values and defaults.

    Raises
    ------
    TwinTooLateError
        OPW-T011, if torch_npu is already loaded without the twin.
    ToolkitMissingError, OtherTorchError
        OPW-T010, if the native libraries are not built; OPW-T012, if they are for another torch.
    """
    if "torch_npu" in sys.modules:
        check_loaded(installed_toolkit())
    else:
        load(settings or TwinSettings())


def load(settings: TwinSettings) -> None:
    """Set the environment, then load torch's libraries and the twin's, in this order."""
    require_matching_torch()
    export(settings)
    with suppress_autoload():  # libopapi links to torch and must precede torch_npu
        importlib.import_module("torch")
    libraries = installed_toolkit().libraries
    for name in LOAD_ORDER:
        ctypes.CDLL(str(libraries / name), mode=ctypes.RTLD_GLOBAL)
    publish(registry.signatures())  # what was declared before


def export(settings: TwinSettings, packages: Iterable[Path] = ()) -> None:
    """Put the twin into this process's environment, for its libraries and for child processes.

    Parameters
    ----------
    packages
        Operator packages that were built from `settings.kernels`.
    """
    folders = (package_of_process(), *packages)
    toolkit = installed_toolkit()
    if os.environ.get("ASCEND_HOME_PATH") != str(toolkit.root):  # `opwright run` has reported it
        for wrong in absent_packages(find_installed_packages(os.environ)):
            warnings.warn(wrong, stacklevel=2)
    result = twin_environment(os.environ, toolkit, settings, folders)
    os.environ.update(find_changed(os.environ, result))


def check_loaded(toolkit: Toolkit) -> None:
    """Raise TwinTooLateError (OPW-T011) unless this process has the twin's libascendcl."""
    maps = Path("/proc/self/maps").read_text(encoding="utf-8")
    wanted = str(toolkit.libraries / "libascendcl.so")
    loaded = {line.split(maxsplit=5)[5] for line in maps.splitlines() if "libascendcl.so" in line}
    if wanted not in loaded:
        got = f"torch_npu on {', '.join(sorted(loaded)) or 'no CANN at all'}"
        raise TwinTooLateError(where="import opwright.twin", got=got, allowed=(wanted,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Armed:
    """Handle of an armed twin; `remove` takes it back as long as torch_npu was not imported."""

    finder: MetaPathFinder

    def remove(self) -> None:
        """Leave the next import of torch_npu alone; calling it again does nothing."""
        if self.finder in sys.meta_path:
            sys.meta_path.remove(self.finder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def arm(settings: TwinSettings | None = None) -> Armed:
    """Activate the twin right before the first import of torch_npu, whoever imports it.

    Raises
    ------
    TwinTooLateError
        OPW-T011, if torch_npu is already loaded without the twin.
    """
    if "torch_npu" in sys.modules:
        check_loaded(installed_toolkit())
    finder = BeforeTorchNpu(settings or TwinSettings())
    sys.meta_path.insert(0, finder)
    return Armed(finder=finder)


class BeforeTorchNpu(MetaPathFinder):
    """Finds torch_npu as usual, with a loader that activates the twin first."""

    def __init__(self, settings: TwinSettings) -> None:
        self.settings = settings

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Give torch_npu the activating loader; leave every other module to the other finders."""
        if fullname != "torch_npu":
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = ActivatingLoader(spec.loader, self.settings)
        return spec


class ActivatingLoader(SourceFileLoader):
    """The ordinary loader of a source file, preceded by the activation."""

    def __init__(self, ordinary: SourceFileLoader, settings: TwinSettings) -> None:
        super().__init__(ordinary.name, ordinary.path)
        self.settings = settings

    def exec_module(self, module: ModuleType) -> None:
        """Load the twin, then run the module."""
        load(self.settings)
        super().exec_module(module)
