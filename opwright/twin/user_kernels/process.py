"""The package of this process, where torch_npu finds the kernels that the process itself declares.

torch_npu reads ASCEND_CUSTOM_OPP_PATH once, when it is loaded, but resolves and opens the library
of each entry again whenever it looks a function up (GetOpApiFuncAddr). So the activation of the
twin puts one folder into the path, which need not exist, and each declaration makes its library a
link to a cached one with all functions declared so far. A call site never looks up again what it
has looked up, also without success: declare a kernel before the first call of its operator.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import secrets
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.errors import OpwrightError
from opwright.twin.environment import PROCESS_PACKAGE, SWITCH, find_installed_packages
from opwright.twin.toolkit import installed_toolkit
from opwright.twin.user_kernels.library import find_cached_package, library_of, signatures_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from opwright.aclnn.signature import AclnnSignature

__all__ = [
    "KernelTooLateError",
    "PackageConflictError",
    "is_looked_in",
    "is_stand_in",
    "package_of_process",
    "publish",
    "withdraw",
]


class KernelTooLateError(OpwrightError):
    """torch_npu was loaded before opwright could add its folder."""

    id = "OPW-K022"
    title = "the kernel was declared too late"
    usual_fix = (
        "import opwright.twin before torch_npu, or name the file with `opwright run --kernels FILE`"
    )


class PackageConflictError(OpwrightError):
    """A package in ASCEND_CUSTOM_OPP_PATH has the function with other parameters."""

    id = "OPW-K023"
    title = "another kernel package has the function with other parameters"
    usual_fix = "use the same prototype in both places, or take the package out of the path"


@functools.cache
def package_of_process() -> Path:
    """Return this process's folder, without making it."""
    name = f"{PROCESS_PACKAGE}{os.getuid()}-{os.getpid()}-{secrets.token_hex(4)}"
    return Path(tempfile.gettempdir()) / name


def is_looked_in() -> bool:
    """Whether torch_npu looks for this process's kernels, so that a new one has to be published.

    Before torch_npu is loaded, declarations wait for the activation of the twin. On a real NPU the
    operator has a kernel of its own.
    """
    return "torch_npu" in sys.modules and os.environ.get(SWITCH) != "0"


def is_stand_in(library: str) -> bool:
    """Whether a library stands for reference functions of this process.

    It is one of the cache that only this process's own folder has led to: packages in
    ASCEND_CUSTOM_OPP_PATH may have kernels of their own.
    """
    package = Path(library).resolve().parents[2]
    packages = {Path(each).resolve() for each in find_installed_packages(os.environ)}
    return bool(signatures_of(package)) and package not in packages


def publish(signatures: Iterable[AclnnSignature]) -> None:
    """Put these functions where torch_npu finds them.

    Raises
    ------
    KernelTooLateError, PackageConflictError, CompileError, CacheError
        OPW-K022, OPW-K023, OPW-K010, OPW-K011.
    """
    link(find_missing(signatures, os.environ))


def withdraw(removed: Iterable[AclnnSignature], remaining: Iterable[AclnnSignature]) -> None:
    """Let torch_npu find CANN's own functions again where removed ones stood before them.

    The others stay where they are: their calls fail with the name of what is not declared any more.

    Raises
    ------
    PackageConflictError, CompileError, CacheError
        OPW-K023, OPW-K010, OPW-K011.
    """
    built_in = ctypes.CDLL(str(installed_toolkit().libraries / "libopapi.so"))
    if any(hasattr(built_in, signature.name) for signature in removed):
        link(find_missing(remaining, os.environ))


def find_missing(
    signatures: Iterable[AclnnSignature], environ: Mapping[str, str]
) -> tuple[AclnnSignature, ...]:
    """Return the functions that no package in the path has, except the processes' own ones."""
    packages = map(Path, find_installed_packages(environ))
    known = {
        found.name: (found, package) for package in packages for found in signatures_of(package)
    }
    result = []
    for signature in signatures:
        found, package = known.get(signature.name, (None, None))
        if found is None:
            result.append(signature)
        elif found != signature:
            raise PackageConflictError(
                where=f"{package}, {signature.name}", got=str(found), allowed=(str(signature),)
            )
    return tuple(result)


def link(signatures: tuple[AclnnSignature, ...]) -> None:
    """Make the library of this process's package the one with these functions."""
    package = package_of_process()
    if not signatures:
        library_of(package).unlink(missing_ok=True)
        return
    if str(package) not in os.environ.get("ASCEND_CUSTOM_OPP_PATH", "").split(os.pathsep):
        names = ", ".join(signature.name for signature in signatures)
        raise KernelTooLateError(where=names, got="torch_npu is loaded already")
    library = library_of(package)
    if not library.parent.exists():
        library.parent.mkdir(parents=True, mode=0o700)
        atexit.register(remove_package, package, os.getpid())
    replacement = library.with_suffix(".new")
    replacement.symlink_to(library_of(find_cached_package(signatures, installed_toolkit())))
    replacement.replace(library)


def remove_package(package: Path, pid: int) -> None:
    """Remove the folder when the process that made it ends; a forked child leaves it alone."""
    if os.getpid() == pid:
        shutil.rmtree(package, ignore_errors=True)
