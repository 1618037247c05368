"""C++ -> an operator package: a folder with op_api/lib/libcust_opapi.so, as torch_npu expects it.

Packages of emitted sources are cached by content. A package appears in the cache complete or not at
all: it is built in a folder of its own, under a lock, and renamed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.errors import OpwrightError
from opwright.twin.kernels.emit import emit_library
from opwright.twin.kernels.signature import parse_signature

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from opwright.twin.kernels.signature import AclnnSignature
    from opwright.twin.toolkit import Toolkit

__all__ = [
    "CacheError",
    "CompileError",
    "cache_folder",
    "cached_package",
    "compiler",
    "library_of",
    "run_compiler",
    "signatures_of",
    "write_package",
]

SOURCE = "kernels.cpp"
SIGNATURES = "signatures.txt"  # one per line, for those who ask what a package has
TIME_LIMIT = 600  # seconds for one compilation


class CompileError(OpwrightError):
    """The C++ compiler is missing or rejects a source."""

    id = "OPW-K010"
    title = "the kernel library cannot be compiled"
    usual_fix = "install a C++ compiler (for example the package g++) or name one in CXX"


class CacheError(OpwrightError):
    """The cache folder cannot be written."""

    id = "OPW-K011"
    title = "the cache for kernel libraries cannot be written"
    usual_fix = "make the folder writable, or set XDG_CACHE_HOME to one that is"


def library_of(package: Path) -> Path:
    """Return where a package has its library."""
    return package / "op_api" / "lib" / "libcust_opapi.so"


def signatures_of(package: Path) -> tuple[AclnnSignature, ...]:
    """Return the functions of a package that opwright made; none for another's package."""
    listing = package / SIGNATURES
    if not listing.exists():
        return ()
    lines = listing.read_text(encoding="utf-8").splitlines()
    return tuple(parse_signature(line, where=str(listing)) for line in lines)


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder for packages, by the rules for user caches on Linux."""
    base = environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "opwright" / "kernels"


def compiler(environ: Mapping[str, str]) -> list[str]:
    """Return the command of the C++ compiler."""
    return shlex.split(environ.get("CXX") or "g++")


def cached_package(signatures: Iterable[AclnnSignature], toolkit: Toolkit) -> Path:
    """Return the package for these functions; build it if the cache has none.

    Raises
    ------
    CompileError, CacheError
        OPW-K010, OPW-K011.
    """
    functions = tuple(sorted(set(signatures), key=str))
    text = emit_library(functions)
    digest = hashlib.sha256(text.encode())
    for header in ("opwright/user_kernel/prepare.h", "aclnn/acl_meta.h", "acl/acl_base.h"):
        digest.update((toolkit.root / "include" / header).read_bytes())
    package = cache_folder(os.environ) / digest.hexdigest()[:32]
    if not package.exists():

        def build(folder: Path) -> None:
            write_package(folder, text, functions, toolkit)

        try:
            build_once(package, build)
        except OSError as error:
            raise CacheError(where=str(package.parent), got=str(error)) from error
    return package


def build_once(package: Path, build: Callable[[Path], None]) -> None:
    """Have one process build the package, and every other one wait for it."""
    package.parent.mkdir(parents=True, exist_ok=True)
    with locked(package.with_suffix(".lock")):
        if package.exists():
            return
        unfinished = package.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)  # of a process that was killed
        unfinished.mkdir()
        build(unfinished)
        unfinished.rename(package)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock between processes; it ends with the process that holds it."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def write_package(
    folder: Path, text: str, signatures: Iterable[AclnnSignature], toolkit: Toolkit
) -> None:
    """Write the source, the list of functions and the compiled library."""
    source, library = folder / SOURCE, library_of(folder)
    source.write_text(text, encoding="utf-8")
    library.parent.mkdir(parents=True)
    flags = ["-std=c++17", "-O1", "-shared", "-fPIC", f"-I{toolkit.root / 'include'}"]
    links = [f"-L{toolkit.libraries}", "-lnnopbase", "-Wl,-z,defs"]
    run_compiler([*compiler(os.environ), *flags, str(source), "-o", str(library), *links])
    listing = "".join(f"{signature}\n" for signature in signatures)
    (folder / SIGNATURES).write_text(listing, encoding="utf-8")


def run_compiler(command: Sequence[str], *, fix: str | None = None) -> None:
    """Run a compiler; its messages are in the error."""
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=TIME_LIMIT
        )
    except FileNotFoundError as error:
        raise CompileError(where=command[0], got="no such program") from error
    if result.returncode != 0:
        raise CompileError(
            where=shlex.join(command),
            got=f"exit code {result.returncode}\n{result.stdout}{result.stderr}".rstrip(),
            fix=fix,
        )
