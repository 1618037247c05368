"""C++ -> an operator package: a folder with op_api/lib/libcust_opapi.so, as torch_npu expects it.

Packages are cached by the content of all that they are made from. A package appears in the cache
complete or not at all: it is built in a folder of its own, under a lock, and renamed.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.aclnn.signature import parse_signature
from opwright.digest import digest
from opwright.errors import OpwrightError
from opwright.internals.headers import cxx_standard
from opwright.lock import hold_lock
from opwright.twin.user_kernels.emit import emit_library

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from opwright.aclnn.signature import AclnnSignature
    from opwright.twin.toolkit import Toolkit

__all__ = [
    "CacheError",
    "CompileError",
    "cache_folder",
    "compiler",
    "find_cached_package",
    "library_of",
    "signatures_of",
]

SOURCE = "kernels.cpp"
SIGNATURES = "signatures.txt"  # one per line, for those who ask what a package has
TIME_LIMIT = 600  # seconds for one compilation


class CompileError(OpwrightError):
    """The C++ compiler is missing or rejects a source."""

    id = "OPW-K010"
    title = "the kernel library cannot be compiled"
    usual_fix = "this needs a C++ compiler: install g++ 11 or newer, or name one in CXX"


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
    """Return the command of the C++ compiler, which may have arguments (`ccache g++`)."""
    return shlex.split(environ.get("CXX") or "g++")


def find_cached_package(
    signatures: Iterable[AclnnSignature], toolkit: Toolkit, sources: Sequence[Path] = ()
) -> Path:
    """Return the package for these functions; build it if the cache has none.

    Parameters
    ----------
    signatures
        Functions whose kernels are reference functions outside C++.
    sources
        C++ files with OPWRIGHT_KERNEL.

    Raises
    ------
    CompileError, CacheError
        OPW-K010, OPW-K011.
    """
    recipe = Recipe(
        signatures=tuple(sorted(set(signatures), key=str)),
        sources=tuple(source.resolve() for source in sources),
        toolkit=toolkit,
    )
    try:
        return find_or_build(cache_folder(os.environ), recipe)
    except OSError as error:
        raise CacheError(where=str(cache_folder(os.environ)), got=str(error)) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The source of a package."""

    signatures: tuple[AclnnSignature, ...]
    sources: tuple[Path, ...]
    toolkit: Toolkit

    def command(self, emitted: Path, library: Path) -> list[str]:
        """Return the compiler's command."""
        include = self.toolkit.root / "include"
        torch = torch_folder() if self.sources else None
        flags = ["-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-z,defs"]
        flags += [f"-std={cxx_standard(torch) if torch else 'c++17'}"]
        flags += ["-O2" if self.sources else "-O1", "-isystem", str(include)]
        inputs = [*([str(emitted)] if self.signatures else []), *map(str, self.sources)]
        links = [f"-L{self.toolkit.libraries}", "-lnnopbase"]
        if torch is not None:
            folders = (include / "opwright", torch / "include")
            flags += [part for folder in folders for part in ("-isystem", str(folder))]
            links += ["-lopapi", "-lascendcl", f"-L{torch / 'lib'}", "-ltorch_cpu", "-lc10"]
            # For programs that have no torch loaded before they load the kernels.
            links += [f"-Wl,-rpath,{self.toolkit.libraries}", f"-Wl,-rpath,{torch / 'lib'}"]
        users = shlex.split(os.environ.get("CXXFLAGS", ""))
        return [*compiler(os.environ), *users, *flags, *inputs, "-o", str(library), *links]


def torch_folder() -> Path:
    """Return where torch is installed, without importing it."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise CompileError(
            where="C++ kernels", got="no torch in this environment", fix="install torch"
        )
    return Path(spec.origin).parent


def find_or_build(cache: Path, recipe: Recipe) -> Path:
    """Return the cached package that was made from the present content of all files."""
    text = emit_library(recipe.signatures)
    identity = digest(text, *map(str, recipe.sources), *recipe.command(Path(SOURCE), Path("out")))
    # Which files the sources include is known after a first compilation.
    record = cache / f"{identity}.includes"
    cache.mkdir(parents=True, exist_ok=True)
    known = package_for(cache, identity, list_recorded(record, recipe.sources), recipe.toolkit)
    if known.exists():
        return known
    with hold_lock(cache / f"{identity}.lock"):
        known = package_for(cache, identity, list_recorded(record, recipe.sources), recipe.toolkit)
        if known.exists():  # another process was first
            return known
        unfinished = cache / f"{identity}.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)  # of a process that was killed
        included = compile_package(unfinished, text, recipe)
        package = package_for(cache, identity, included, recipe.toolkit)
        if package.exists():
            shutil.rmtree(unfinished)
        else:
            unfinished.rename(package)
        replace_text(record, "".join(f"{path}\n" for path in included))
    return package


def package_for(cache: Path, identity: str, files: Iterable[Path], toolkit: Toolkit) -> Path:
    """Return the place of a package, by the content of the files that it is made from."""
    headers = sorted((toolkit.root / "include" / "opwright").rglob("*.h"))
    contents = (digest(file.read_bytes()) for file in [*files, *headers] if file.exists())
    return cache / f"{identity}-{digest(*contents)}"


def list_recorded(record: Path, sources: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the files that the last compilation read; the sources alone if there was none."""
    if not record.exists():
        return sources
    return tuple(Path(line) for line in record.read_text(encoding="utf-8").splitlines())


def compile_package(folder: Path, text: str, recipe: Recipe) -> tuple[Path, ...]:
    """Make a package in a new folder; return the user's files that the compiler read."""
    library = library_of(folder)
    library.parent.mkdir(parents=True)
    emitted = folder / SOURCE
    emitted.write_text(text, encoding="utf-8")
    listing = "".join(f"{signature}\n" for signature in recipe.signatures)
    (folder / SIGNATURES).write_text(listing, encoding="utf-8")
    command = recipe.command(emitted, library)
    run_compiler(command)
    if not recipe.sources:
        return ()
    # -MM answers for one source at a time; preprocessing is a fraction of the compilation.
    front = [part for part in command if part not in {str(emitted), *map(str, recipe.sources)}]
    front = front[: front.index("-o")]
    rules = [run_compiler([*front, "-MM", str(source)]) for source in recipe.sources]
    words = " ".join(rules).replace("\\\n", " ").split()
    included = {Path(word).absolute() for word in words if not word.endswith(":")}
    return (*sorted(included), torch_folder() / "version.py")  # stands for torch's headers


def replace_text(path: Path, text: str) -> None:
    """Write a file so that no reader sees a part of it."""
    new = path.with_suffix(f".{os.getpid()}")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def run_compiler(command: Sequence[str]) -> str:
    """Run a compiler and return its output; its messages are in the error."""
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=TIME_LIMIT
        )
    except FileNotFoundError as error:
        raise CompileError(where=command[0], got="no such program") from error
    except subprocess.TimeoutExpired as error:
        raise CompileError(
            where=shlex.join(command),
            got=f"no end after {TIME_LIMIT} seconds",
            fix="make the source smaller, or include less",
        ) from error
    if result.returncode != 0:
        raise CompileError(
            where=shlex.join(command),
            got=f"exit code {result.returncode}\n{result.stderr}".rstrip(),
            fix="correct the source where the compiler points",
        )
    return result.stdout
