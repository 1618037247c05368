"""C++ sources -> objects -> one shared library, each taken from the cache if nothing changed.

What decides about an object: the source's name and text, the flags, the compiler's version, and
the content of every header that it read. Paths do not, and are not in the objects, so that a
project may move, and two projects share what is equal.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shlex
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.digest import digest
from opwright.internals.headers import cxx_standard
from opwright.kit.packaging.cache import obtain
from opwright.kit.packaging.errors import BuildCacheError, LinkError, NotCachedError, ToolError
from opwright.kit.packaging.message import CompilerFailure

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Mapping, Sequence

    from opwright.kit.packaging.toolchain import Toolchain

__all__ = ["Builder", "Compiled", "Library", "compile_units", "link"]

# opwright.kit.shipped.setup_script has the same flags.
# Narrow headers of ATen save 3 s per unit with autograd (measured with g++ 12).
COMPILE_FLAGS = (
    *("-O2", "-g0", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden"),
    *("-DAT_PER_OPERATOR_HEADERS", "-Wall", "-Wextra", "-fdiagnostics-color=never"),
)
LINK_FLAGS = ("-shared", "-Wl,--strip-all", "-Wl,--build-id=none")
# Where the names of a library come from. torch and torch_npu are loaded before it, so that it
# needs no path to them. libstdc++ comes first: some builds of torch export functions of it, which
# the linker would take from torch, bound to no version.
LIBRARIES = ("-lstdc++", "-lc10", "-ltorch", "-ltorch_cpu", "-ltorch_npu")
STABLE_LIBRARIES = ("-lstdc++", "-ltorch", "-ltorch_cpu")


@dataclass(frozen=True, slots=True, kw_only=True)
class Builder:
    """Settings that all units of a build share.

    Parameters
    ----------
    sources
        Folders with sources and headers; a header of an earlier one hides that of a later one.
    cache
        The folder for compiled units.
    may_compile
        Whether what is not in the cache may be made.
    system
        Folders with headers of others than torch, by the name that stands for them in keys.
    link_flags
        More arguments of the linker.
    """

    toolchain: Toolchain
    sources: tuple[Path, ...]
    cache: Path
    stable_abi: bool
    may_compile: bool = True
    system: Mapping[str, Path] = field(default_factory=dict)
    link_flags: tuple[str, ...] = ()

    def roots(self) -> dict[str, Path]:
        """Return folders of headers by the name that stands for them in keys and objects."""
        include = self.toolchain.torch / "include"
        named = {f"csrc{index or ''}": folder for index, folder in enumerate(self.sources)}
        named |= self.system
        return {**named, "torch-api": include / "torch/csrc/api/include", "torch": include}

    def compile_arguments(self, source: Path) -> list[str]:
        """Return the compiler's arguments but for inputs and outputs."""
        roots = self.roots()
        standard = f"-std={cxx_standard(self.toolchain.torch)}"
        flags = [standard, *COMPILE_FLAGS, *self.toolchain.flags]
        flags += [f"-I{roots[name]}" for name in roots if name.startswith("csrc")]
        flags += [f"-isystem{roots[name]}" for name in (*self.system, "torch", "torch-api")]
        # The last matching one counts, so the longer path comes later.
        flags += [f"-ffile-prefix-map={roots[name]}={name}" for name in reversed(roots)]
        return [*flags, f"-ffile-prefix-map={source.parent}=csrc"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """An object, and how it came about."""

    source: Path
    object: Path
    from_cache: bool
    was_damaged: bool
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A linked library in the cache."""

    file: Path
    from_cache: bool
    was_damaged: bool


def compile_units(
    builder: Builder,
    units: Sequence[Path],
    jobs: int,
    done: Callable[[Compiled], None],
) -> tuple[Compiled, ...]:
    """Compile sources, several at a time.

    Parameters
    ----------
    done
        Called as each unit is finished, from the calling thread's pool.

    Raises
    ------
    CompilerFailure, NotCachedError, BuildCacheError, ToolError
        Of the first unit that fails, in the order of `units`; OPW-B015, OPW-B014, OPW-B010.
    """

    def compile_one(unit: Path) -> Compiled:
        compiled = compile_unit(builder, unit)
        done(compiled)
        return compiled

    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        # The largest first: they take longest.
        order = sorted(units, key=lambda unit: -unit.stat().st_size)
        futures = {unit: pool.submit(compile_one, unit) for unit in order}
        try:
            return tuple(futures[unit].result() for unit in units)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def compile_unit(builder: Builder, source: Path) -> Compiled:
    """Return the object of a source."""
    started = time.monotonic()
    arguments = builder.compile_arguments(source)
    identity = digest(
        builder.toolchain.compiler_version,
        source.name,
        source.read_bytes(),
        *(make_portable(argument, builder) for argument in arguments),
    )
    record = builder.cache / f"{identity}.headers"

    def look() -> Path | None:
        headers = read_record(record)
        return None if headers is None else object_for(builder, identity, headers)

    def make(private: Path) -> Path:
        if not builder.may_compile:
            raise NotCachedError(where=str(source), got="no object for its present content")
        rules = private.with_suffix(".d")
        try:
            command = [*arguments, "-c", str(source), "-o", str(private)]
            result = builder.toolchain.run(
                [*command, "-MD", "-MF", str(rules), "-MT", "object"], source.parent
            )
            if result.returncode != 0:
                raise CompilerFailure(source, command, result.returncode, result.stderr)
            check_made(builder.toolchain, result, private, rules)
            headers = tuple(
                portable_path(path, builder)
                for path in read_rules(rules.read_text(encoding="utf-8"), source.parent)
                if path != source
            )
        finally:
            rules.unlink(missing_ok=True)
        place = object_for(builder, identity, headers)
        assert place is not None, headers  # the compiler has just read them
        write_record(record, headers)
        return place

    try:
        found = obtain(builder.cache, identity, look, make)
    except OSError as error:
        raise BuildCacheError(where=str(builder.cache), got=str(error)) from error
    return Compiled(
        source=source,
        object=found.file,
        from_cache=found.from_cache,
        was_damaged=found.was_damaged,
        seconds=time.monotonic() - started,
    )


def check_made(
    toolchain: Toolchain, result: subprocess.CompletedProcess[str], *files: Path
) -> None:
    """Raise unless a compiler that reports success made its files.

    Raises
    ------
    ToolError
        OPW-B010.
    """
    if not all(file.is_file() and file.stat().st_size for file in files):
        said = (result.stderr or result.stdout).strip() or "no message"
        raise ToolError(
            where=shlex.join(toolchain.compiler),
            got=f"the compiler made no output: exit code 0, {said}",
            fix="name a C++ compiler in CXX, or unset CXX",
        )


def make_portable(argument: str, builder: Builder) -> str:
    """Replace folders in an argument by their names."""
    for name, folder in builder.roots().items():
        argument = re.sub(rf"{re.escape(str(folder))}(?=$|[/=])", f"<{name}>", argument)
    return argument


def portable_path(path: Path, builder: Builder) -> str:
    """Return a header's path relative to the folder that it is in, as `name:path`."""
    for name, folder in builder.roots().items():
        if path.is_relative_to(folder):
            return f"{name}:{path.relative_to(folder)}"
    return f":{path}"


def object_for(builder: Builder, identity: str, headers: Sequence[str]) -> Path | None:
    """Return the object's place for the headers' present content; None if one is gone."""
    roots = builder.roots()
    contents = []
    for header in headers:
        name, _, path = header.partition(":")
        content = file_digest(roots[name] / path if name in roots else Path(path))
        if content is None:
            return None
        contents.append(f"{header} {content}")
    return builder.cache / f"{identity[:16]}-{digest(*contents)}.o"


@functools.lru_cache(maxsize=8192)
def file_digest_at(path: Path, size: int, changed: int) -> str:  # noqa: ARG001 - parts of the key
    """Return the digest of a file's content; within a process, it is read once per change."""
    return digest(path.read_bytes())


def file_digest(path: Path) -> str | None:
    """Return the digest of a file's content; None if there is no file."""
    try:
        state = path.stat()
        return file_digest_at(path, state.st_size, state.st_mtime_ns)
    except FileNotFoundError:
        return None


def read_rules(text: str, folder: Path) -> list[Path]:
    r"""Return the files that a rule of make depends on.

    >>> read_rules(r"object: a.cpp b\ c.h $$d.h", Path("/s"))
    [PosixPath('/s/a.cpp'), PosixPath('/s/b c.h'), PosixPath('/s/$d.h')]
    """
    text = text.replace("\\\n", " ").partition(":")[2]
    words = re.findall(r"(?:\\.|\S)+", text)
    return [
        Path(os.path.normpath(folder / re.sub(r"\\(.)", r"\1", word).replace("$$", "$")))
        for word in words
    ]


def read_record(record: Path) -> tuple[str, ...] | None:
    """Return the headers that a source read when it was last compiled; None if that is unknown."""
    try:
        headers = json.loads(record.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None  # never compiled, or its process was killed
    is_record = isinstance(headers, list) and all(isinstance(each, str) for each in headers)
    return tuple(headers) if is_record else None


def write_record(record: Path, headers: Sequence[str]) -> None:
    """Write the headers of a source."""
    new = record.with_name(f"{record.name}.{os.getpid()}.new")
    try:
        new.write_text(json.dumps(headers), encoding="utf-8")
        new.replace(record)
    finally:
        new.unlink(missing_ok=True)


def link(builder: Builder, objects: Sequence[Path], name: str) -> Library:
    """Link objects to a library.

    Parameters
    ----------
    name
        Its file name.

    Raises
    ------
    LinkError, NotCachedError, BuildCacheError, ToolError
        OPW-B013, OPW-B015, OPW-B014, OPW-B010.
    """
    toolchain = builder.toolchain
    libraries = STABLE_LIBRARIES if builder.stable_abi else LIBRARIES
    flags = [*LINK_FLAGS, *builder.link_flags, f"-Wl,-soname,{name}"]
    key = digest(
        toolchain.compiler_version,
        toolchain.torch_version,
        toolchain.torch_npu_version,
        *(each.name for each in objects),
        *flags,
        *libraries,
    )
    place = builder.cache / f"{key}.so"

    def make(private: Path) -> Path:
        if not builder.may_compile:
            raise NotCachedError(where=name, got="no library of these objects")
        folders = [f"-L{toolchain.torch / 'lib'}", f"-L{toolchain.torch_npu / 'lib'}"]
        inputs = [str(each) for each in objects]
        result = toolchain.run(
            [*flags, *inputs, "-o", str(private), *folders, *libraries], builder.cache
        )
        if result.returncode != 0:
            raise LinkError(where=name, got=f"exit code {result.returncode}\n{result.stderr}")
        check_made(toolchain, result, private)
        return place

    try:
        found = obtain(builder.cache, key, lambda: place, make)
    except OSError as error:
        raise BuildCacheError(where=str(builder.cache), got=str(error)) from error
    return Library(file=found.file, from_cache=found.from_cache, was_damaged=found.was_damaged)
