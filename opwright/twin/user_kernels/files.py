"""Kernel files: Python files with reference functions, C++ files with OPWRIGHT_KERNEL.

A declaration is a kernel file too: the references of its operators are kernels.

`opwright run --kernels FILE` builds their packages before it starts the command, and the command's
process loads the Python files when the first of their kernels is needed.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.errors import OpwrightError
from opwright.twin.autoload import suppress_autoload
from opwright.twin.toolkit import installed_toolkit
from opwright.twin.user_kernels.declarations import declarations, register_declared
from opwright.twin.user_kernels.library import find_cached_package
from opwright.twin.user_kernels.registry import registry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType

__all__ = ["NoKernelError", "build_packages", "load_file", "load_kernel_files"]


CPP = (".cpp", ".cc", ".cxx")
MACRO = "OPWRIGHT_KERNEL"


class NoKernelError(OpwrightError):
    """A kernel file that declares none."""

    id = "OPW-K024"
    title = "the file declares no kernel"
    usual_fix = "decorate the reference function with opwright.twin.kernel"


class KernelFileError(OpwrightError):
    """A kernel file that cannot be imported."""

    id = "OPW-K025"
    title = "the kernel file cannot be loaded"
    usual_fix = "make the file importable by itself: `python FILE` must end without an error"


def build_packages(files: Sequence[Path]) -> tuple[Path, ...]:
    """Return the operator packages for kernel files, built if need be: one, or none is needed.

    Raises
    ------
    KernelFileError, NoKernelError, CompileError, CacheError
        OPW-K025, OPW-K024, OPW-K010, OPW-K011.
    """
    sources = [file for file in files if file.suffix in CPP]
    for file in files:
        if file.suffix not in CPP:
            before = registry.signatures()
            with suppress_autoload():  # this process only reads the declarations
                module = load_file(file)
            # Operators whose functions the twin implements itself need no kernel.
            if registry.signatures() == before and not declarations(module):
                got = "no use of opwright.twin.kernel, and no operators"
                raise NoKernelError(where=str(file), got=got)
        elif MACRO.encode() not in file.read_bytes():
            raise NoKernelError(
                where=str(file), got=f"no {MACRO}", fix=f"declare the kernel with {MACRO}"
            )
    signatures = registry.signatures()
    if not signatures and not sources:
        return ()
    return (find_cached_package(signatures, installed_toolkit(), sources),)


def kernel_files(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the Python files that `opwright run --kernels` named."""
    files = map(Path, filter(None, environ.get("OPWRIGHT_KERNELS", "").split(os.pathsep)))
    return tuple(file for file in files if file.suffix not in CPP)


def load_kernel_files() -> None:
    """Import the kernel files of this process, each once.

    Raises
    ------
    KernelFileError
        OPW-K025.
    """
    for file in kernel_files(os.environ):
        load_file(file)


lock = threading.RLock()


def load_file(file: Path) -> ModuleType:
    """Import a Python file by its path, once; its declarations register themselves."""
    path = str(file.resolve())
    name = f"opwright_kernels:{path}"
    with lock:
        for module in sys.modules.copy().values():
            if getattr(module, "__file__", None) == path:
                return module
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise KernelFileError(
                where=path,
                got="neither Python nor C++",
                allowed=("*.py", *(f"*{suffix}" for suffix in CPP)),
                fix="name the file with the reference functions; it may name a prototype's file",
            )
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
            register_declared(module)
        except OpwrightError:
            del sys.modules[name]
            raise
        except (Exception, SystemExit) as error:  # what the file raises is what it does wrong
            del sys.modules[name]
            raise KernelFileError(where=path, got=f"{type(error).__name__}: {error}") from error
        return module
