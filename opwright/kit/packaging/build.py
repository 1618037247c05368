"""`opwright build`: a project -> a wheel.

declaration -> emitted sources -> objects -> library -> wheel. torch is not imported on the way,
unless the declaration uses it while it is read.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import tomli

from opwright import __version__
from opwright.kit.emit.cpp import stable_limits
from opwright.kit.emit.cpp.names import unique_names
from opwright.kit.packaging.cache import cache_folder, prune
from opwright.kit.packaging.compile import Builder, compile_units, link
from opwright.kit.packaging.emitted_tree import HAND_WRITTEN, Sources, read_sources
from opwright.kit.packaging.errors import StableAbiError, WheelError
from opwright.kit.packaging.inside import refuse_link
from opwright.kit.packaging.message import CompilerFailure, describe
from opwright.kit.packaging.plugin import check_alone, plugin_files
from opwright.kit.packaging.progress import Progress, Step
from opwright.kit.packaging.symbols import check_stable
from opwright.kit.packaging.toolchain import Toolchain, cores, find_toolchain
from opwright.kit.packaging.wheel import Metadata, Tag, write_wheel
from opwright.kit.packaging.writer import write_tree

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from opwright.kit.derive.facts import SetFacts
    from opwright.kit.packaging.compile import Compiled, Library
    from opwright.project.config import Project

__all__ = [
    "BUILD_RECORD",
    "PLUGIN",
    "Built",
    "Request",
    "build_plugin",
    "build_wheel",
    "default_out",
]

# In the package: what the library was made with. metadata.json says what it was made from.
BUILD_RECORD = "build.json"
# The folder of the project with the plugin's package.
PLUGIN = "plugin"
LOG = "build/compile.log"
# Files of an emitted package that are shipped.
SHIPPED = (".py", ".pyi", ".json", ".h", "py.typed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request for a build.

    Parameters
    ----------
    out
        The folder for the wheel.
    may_compile
        Whether what is not in the cache may be compiled.
    jobs
        How many compilers may run at a time; None for the number of processors.
    """

    project: Project
    out: Path
    may_compile: bool = True
    jobs: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A wheel, and the steps to it."""

    wheel: Path
    steps: tuple[Step, ...]


def default_out(project: Project) -> Path:
    """Return the project's folder for wheels.

    Raises
    ------
    LeavesFolderError
        OPW-B023: it is a symbolic link; another place has to be named.
    """
    out = project.root / "dist"
    refuse_link(
        out, fix="name the folder with -o, or replace the link by a folder; nothing was written"
    )
    return out


def require_stable_abi(toolchain: Toolchain) -> None:
    """Raise if the stable ABI of the installed torch lacks what emitted code calls.

    Raises
    ------
    StableAbiError
        OPW-B017.
    """
    shim = toolchain.torch / "include" / "torch" / "csrc" / "stable" / "c" / "shim.h"
    called = "torch_stream_native_handle"
    if not shim.is_file() or called not in shim.read_text(encoding="utf-8"):
        raise StableAbiError(
            where="stable-abi",
            got=f"torch {toolchain.torch_version}, whose stable ABI has no {called}",
            fix="build with a later torch, or without --stable-abi",
        )


def build_wheel(request: Request, progress: Progress) -> Built:
    """Build a project's wheel.

    Raises
    ------
    OpwrightError
        The declaration's errors (OPW-D...), the project's (OPW-P...), what cannot be emitted
        (OPW-E...), and those of the build (OPW-B...).
    """
    project = request.project
    with progress.step("toolchain", "") as detail:
        toolchain = find_toolchain(os.environ, project.options.torch)
        if project.options.stable_abi:
            require_stable_abi(toolchain)
        detail.text = f"{toolchain.compiler_version}, torch {toolchain.torch_version}"
    sources = generate(project, progress)
    builder = Builder(
        toolchain=toolchain,
        sources=(project.generated / HAND_WRITTEN,),
        cache=cache_folder(os.environ),
        stable_abi=project.options.stable_abi,
        may_compile=request.may_compile,
    )
    library = compile_library(builder, request, sources, progress)
    package = project.package
    files = find_shipped(sources.files, package)
    name = json.loads(sources.files[f"{package}/metadata.json"])["library"]
    if builder.stable_abi:
        with progress.step("verify", f"{name}: only the stable ABI"):
            check_stable(library.file, name)
    content = library.file.read_bytes()
    files |= {
        f"{package}/{name}": content,
        f"{package}/{BUILD_RECORD}": build_record(name, content, toolchain, builder),
    }
    tag = Tag.of("stable library" if builder.stable_abi else "library")
    prune(builder.cache)
    return finish(request.out, files, metadata_of(sources.files["pyproject.toml"]), tag, progress)


def generate(project: Project, progress: Progress) -> Sources:
    """Emit the sources and write them to disk."""
    with progress.step("declare", project.declaration.name) as detail:
        sources = read_sources(project, project.options)
        declared = len(sources.facts.declaration.operators)
        derived = len(sources.facts.operators) - declared
        detail.text = (
            f"{project.declaration.name}: {write_count(declared, 'operator')}, {derived} derived"
        )
    for note in sources.notes:
        progress.note(note)
    with progress.step("generate", "") as detail:
        changes = write_tree(project.generated, sources.files)
        number = len(changes.written) + len(changes.removed)
        detail.text = f"{write_count(len(sources.files), 'file')}, {number} changed"
        detail.from_cache = not changes
    if project.options.stable_abi:
        for limit in stable_limits(sources.facts):
            progress.note(f"{limit.operator}, no {limit.what} in C++: {limit.reason}")
    return sources


def write_count(number: int, what: str) -> str:
    """Write a number of things."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def compile_library(
    builder: Builder, request: Request, sources: Sources, progress: Progress
) -> Library:
    """Compile and link the emitted C++.

    Raises
    ------
    CompileError, LinkError, NotCachedError, BuildCacheError
        OPW-B012 to OPW-B015.
    """
    project = request.project
    units = [project.generated / path for path in sorted(sources.files) if path.endswith(".cpp")]

    def done(unit: Compiled) -> None:
        progress.add(
            Step(
                name="compile",
                what=unit.source.name,
                seconds=unit.seconds,
                from_cache=unit.from_cache,
            )
        )

    try:
        with progress.running(f"compile {', '.join(unit.name for unit in units)}"):
            compiled = compile_units(builder, units, request.jobs or cores(), done)
    except CompilerFailure as failure:
        log = project.root / LOG
        write_log(log, failure)
        places = find_declared_places(sources.facts)
        raise describe(
            failure, builder.sources, places, log, lambda file: render(file, project)
        ) from failure
    name = json.loads(sources.files[f"{project.package}/metadata.json"])["library"]
    with progress.step("link", name) as detail:
        library = link(builder, [unit.object for unit in compiled], name)
        detail.from_cache = library.from_cache
    damaged = [unit.source.name for unit in compiled if unit.was_damaged]
    for each in [*damaged, *([name] if library.was_damaged else [])]:
        progress.note(f"{each}: what the cache had of it was damaged; it was made again")
    return library


def render(file: Path, project: Project) -> str:
    """Return a path from the project's folder; of a copy in generated/, that of the original."""
    if file.is_relative_to(project.generated):
        original = project.root / file.relative_to(project.generated)
        file = original if original.exists() else file
    return str(file.relative_to(project.root))


def write_log(log: Path, failure: CompilerFailure) -> None:
    """Write all that the compiler said."""
    command = " ".join(failure.command)
    refuse_link(log.parent)
    try:
        log.parent.mkdir(exist_ok=True)
        log.unlink(missing_ok=True)  # a link of this name is replaced, not followed
        log.write_text(f"{command}\n\n{failure.output}", encoding="utf-8")
    except OSError as error:
        raise WheelError(
            where=str(log),
            got=str(error),
            fix="make the project's folder writable and free space",
        ) from error


def find_declared_places(facts: SetFacts) -> Mapping[str, str]:
    """Return by an operator's identifier in C++ its name and the place of its declaration."""
    namespace = facts.declaration.namespace
    places = {each.name: each.operator.place for each in facts.operators}
    return {
        identifier: f"{namespace}::{name}, declared at {places[name]}"
        for name, identifier in unique_names(facts).items()
    }


def find_shipped(files: Mapping[str, str], package: str) -> dict[str, bytes]:
    """Return the files of a package that go into its wheel."""
    return {
        path: text.encode()
        for path, text in files.items()
        if path.startswith(f"{package}/") and path.endswith(SHIPPED)
    }


def build_record(name: str, content: bytes, toolchain: Toolchain, builder: Builder) -> bytes:
    """Return what a library was made with; nothing in it depends on the machine's folders."""
    record = {
        "libraries": {name: hashlib.sha256(content).hexdigest()},
        "stable_abi": builder.stable_abi,
        "tools": {
            "opwright": __version__,
            "compiler": toolchain.compiler_version,
            "flags": list(toolchain.flags),
            "python": platform.python_version(),
            "torch": toolchain.torch_version,
            "torch_npu": toolchain.torch_npu_version,
        },
    }
    return (json.dumps(record, indent=2, sort_keys=True) + "\n").encode()


def metadata_of(pyproject: str) -> Metadata:
    """Return a wheel's metadata from the emitted pyproject.toml."""
    project = tomli.loads(pyproject)["project"]
    fields = [("Summary", project["description"]), ("Requires-Python", project["requires-python"])]
    fields += [("Requires-Dist", each) for each in project["dependencies"]]
    return Metadata(name=project["name"], version=project["version"], fields=tuple(fields))


def finish(
    out: Path, files: Mapping[str, bytes], metadata: Metadata, tag: Tag, progress: Progress
) -> Built:
    """Write the wheel."""
    with progress.step("wheel", "") as detail:
        wheel = write_wheel(out, files, metadata, tag)
        detail.text = f"{wheel.name}, {wheel.stat().st_size / 1024:.0f} KB"
    return Built(wheel=wheel, steps=tuple(progress.steps))


def build_plugin(request: Request, progress: Progress) -> Built:
    """Build a wheel without a compiler: the declaration itself, loaded by opwright.

    The package is in the project's folder `plugin` as well.

    Raises
    ------
    OpwrightError
        As `build_wheel`; OPW-B020: the declaration cannot be shipped alone.
    """
    project = replace(request.project, options=replace(request.project.options, stable_abi=False))
    with progress.step("declare", project.declaration.name):
        sources = read_sources(project, project.options, cpp=False)
    for note in sources.notes:
        progress.note(note)
    with progress.step("generate", "") as detail:
        files = plugin_files(project, sources)
        changes = write_tree(project.root / PLUGIN, files)
        check_alone(project, project.root / PLUGIN)
        detail.text = f"{write_count(len(files), 'file')} in {PLUGIN}"
        detail.from_cache = not changes
    content = find_shipped(files, project.package)
    metadata = metadata_of(files["pyproject.toml"])
    return finish(request.out, content, metadata, Tag.of("pure"), progress)
