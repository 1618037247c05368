"""op-plugin's files -> a wheel, whose import brings the operators into torch_npu."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.build.build import BUILD_RECORD, Built, build_record, counted, finish, write_log
from opwright.build.cache import cache_folder, prune
from opwright.build.compile import Builder, compile_units, link
from opwright.build.errors import LinkError
from opwright.build.message import CompilerFailure, describe
from opwright.build.progress import Progress, Step
from opwright.build.toolchain import cores, find_toolchain
from opwright.build.wheel import Metadata, Tag
from opwright.build.writer import write_tree
from opwright.emit.header import with_header
from opwright.emit.python.package import shipped
from opwright.op_plugin.entries import NAMESPACE, read_entries
from opwright.op_plugin.errors import (
    InputsError,
    KernelError,
    OpPluginError,
    UndefinedFunctionError,
)
from opwright.op_plugin.headers import INCLUDE, INTERFACES, aten_functions, emit_headers
from opwright.op_plugin.inputs import read_inputs, shown, text_of
from opwright.op_plugin.python_files import read_module
from opwright.op_plugin.signatures import signature
from opwright.op_plugin.units import SOURCES, emit_units, has_meta

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from opwright.build.compile import Compiled, Library
    from opwright.build.toolchain import Toolchain
    from opwright.op_plugin.entries import Entries
    from opwright.op_plugin.inputs import Inputs
    from opwright.op_plugin.python_files import Module

__all__ = ["Request", "build_extension"]

# The pair of torch and torch_npu that the headers here are for.
TORCH = "2.13"
UNDEFINED = re.compile(r"undefined reference to `(?P<what>[^']+)'")
# C functions of CANN.
OF_CANN = re.compile(r"(?:acl|ge|Hccl|hccl)\w*")
NAME = re.compile(r"[a-z][a-z0-9_]*")
VERSION = re.compile(r"\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?")

INIT = '''"""{doc}"""

from __future__ import annotations

from {name}._extension import load

__all__: list[str] = []

__version__ = "{version}"

load(__name__, __path__[0])
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be built.

    Parameters
    ----------
    paths
        The files of the extension, or folders with them.
    name, version
        Of the package.
    out
        The folder for the wheel.
    work
        The folder for generated sources, which holds nothing else.
    """

    paths: Sequence[Path]
    name: str
    version: str
    out: Path
    work: Path
    may_compile: bool = True
    jobs: int | None = None


def build_extension(request: Request, progress: Progress) -> Built:
    """Build the wheel of an extension of op-plugin.

    Raises
    ------
    OpwrightError
        What is wrong with the files (OPW-O..., OPW-S..., OPW-D...), or with the build (OPW-B...).
    """
    check_name(request)
    inputs = read_inputs(request.paths)
    with progress.step("toolchain", "") as detail:
        toolchain = find_toolchain(os.environ, TORCH)
        detail.text = f"{toolchain.compiler_version}, torch_npu {toolchain.torch_npu_version}"
    modules = [read_module(file, toolchain.torch_npu) for file in inputs.python]
    with progress.step("read", shown(inputs.functions)) as detail:
        entries = read_entries(inputs, TORCH)
        detail.text = f"{shown(inputs.functions)}: {counted(len(entries.entries), 'operator')}"
    for note in [*entries.notes, *module_notes(entries, modules)]:
        progress.note(note)
    files = generated(inputs, entries, modules, toolchain)
    with progress.step("generate", "") as detail:
        changes = write_tree(request.work, files)
        changed = len(changes.written) + len(changes.removed)
        detail.text = f"{counted(len(files), 'file')} in {shown(request.work)}, {changed} changed"
        detail.from_cache = not changes
    builder = builder_of(request, inputs, toolchain)
    library = compile_extension(builder, request, inputs, entries, progress)
    content = library.file.read_bytes()
    name = library_name(request)
    package = {
        **package_files(request, inputs, entries, modules),
        f"{request.name}/{name}": content,
        f"{request.name}/{BUILD_RECORD}": build_record(name, content, toolchain, builder),
    }
    prune(builder.cache)
    metadata = Metadata(
        name=request.name,
        version=request.version,
        fields=(
            ("Summary", summary(entries)),
            ("Requires-Python", ">=3.10"),
            *(("Requires-Dist", f"{each}=={TORCH}.*") for each in ("torch", "torch_npu")),
        ),
    )
    return finish(request.out, package, metadata, Tag.of("library"), progress)


def check_name(request: Request) -> None:
    """Raise if the package cannot have this name or version."""
    if not NAME.fullmatch(request.name):
        fix = "choose another name with --name: small letters, digits and underscores"
        raise InputsError(where="--name", got=repr(request.name), fix=fix)
    if not VERSION.fullmatch(request.version):
        raise InputsError(
            where="--version", got=repr(request.version), fix="write numbers with points: 1.0"
        )


def library_name(request: Request) -> str:
    """Return the file name of the library."""
    return f"lib{request.name}.so"


def summary(entries: Entries) -> str:
    """Return what the package is, in a line."""
    names = ", ".join(f"{NAMESPACE}::{entry.facts.name}" for entry in entries.entries[:5])
    more = len(entries.entries) - 5
    return f"Operators for torch_npu: {names}{f' and {more} more' if more > 0 else ''}"


def module_notes(entries: Entries, modules: Sequence[Module]) -> list[str]:
    """Return what a person should know about the Python files."""
    notes = [
        f"{shown(module.file)} has Meta functions and imports TorchAir, so importing the package "
        "imports TorchAir, which takes seconds; put the converters into a file of their own"
        for module in modules
        if module.meta and module.has_converters
    ]
    in_python = {name for module in modules for name in module.meta}
    notes += [
        f"{entry.facts.operator.place}: {entry.facts.name} has no Meta function, which graphs and "
        "meta tensors need; give a Python file with one"
        for entry in entries.entries
        if not has_meta(entry) and entry.facts.name not in in_python
    ]
    return notes


def generated(
    inputs: Inputs, entries: Entries, modules: Sequence[Module], toolchain: Toolchain
) -> Mapping[str, str]:
    """Return the generated C++."""
    source = inputs.functions.name
    texts = [text_of(file) for file in (inputs.functions, *inputs.kernels, *inputs.headers)]
    headers = toolchain.torch / "include" / "ATen" / "ops"
    aten = [name for name in aten_functions(texts) if headers.joinpath(f"{name}.h").is_file()]
    python_meta = {name for module in modules for name in module.meta}
    return {
        **emit_headers(entries.entries, source, aten),
        **emit_units(
            entries,
            source,
            python_meta=python_meta,
            headers=[file.name for file in inputs.headers],
        ),
    }


def builder_of(request: Request, inputs: Inputs, toolchain: Toolchain) -> Builder:
    """Return what all units share: generated headers first, then torch_npu's."""
    major, _, minor = TORCH.partition(".")
    include = toolchain.torch_npu / "include"
    flags = (*toolchain.flags, f"-DCURRENT_VERSION=V{major}R{minor}")
    return Builder(
        toolchain=dataclasses.replace(toolchain, flags=flags),
        sources=(
            request.work / INCLUDE,
            request.work / SOURCES,
            *dict.fromkeys(file.parent for file in (*inputs.kernels, *inputs.headers)),
        ),
        cache=cache_folder(os.environ),
        stable_abi=False,
        may_compile=request.may_compile,
        system={
            "op-plugin": include / "third_party" / "op-plugin",
            "acl": include / "third_party" / "acl" / "inc",
            "torch_npu": include,
        },
        link_flags=("-Wl,--no-undefined",),
    )


def compile_extension(
    builder: Builder, request: Request, inputs: Inputs, entries: Entries, progress: Progress
) -> Library:
    """Compile and link.

    Raises
    ------
    CompileError, NotCachedError, BuildCacheError, LinkError, UndefinedFunctionError
        OPW-B012 to OPW-B015, OPW-O006.
    """
    units = [*sorted((request.work / SOURCES).glob("*.cpp")), *inputs.kernels]

    def done(unit: Compiled) -> None:
        step = Step(
            name="compile",
            what=unit.source.name,
            seconds=unit.seconds,
            from_cache=unit.from_cache,
        )
        progress.add(step)

    try:
        with progress.running(f"compile {', '.join(unit.name for unit in units)}"):
            compiled = compile_units(builder, units, request.jobs or cores(), done)
    except CompilerFailure as failure:
        log = request.work.parent / f"{request.name}.log"
        write_log(log, failure)
        places = {
            entry.schema.name: f"{NAMESPACE}::{entry.facts.name}, {entry.facts.operator.place}"
            for entry in entries.entries
        }
        told = describe(failure, builder.sources, places, log, shown)
        own_fix = None if told.fix == told.usual_fix else told.fix
        raise KernelError(where=told.where, got=told.got, fix=own_fix) from failure
    name = library_name(request)
    with progress.step("link", name) as detail:
        library = link_extension(builder, [unit.object for unit in compiled], name, entries)
        detail.from_cache = library.from_cache
    return library


def link_extension(
    builder: Builder, objects: Sequence[Path], name: str, entries: Entries
) -> Library:
    """Link; what is left undefined may only be functions of CANN, which torch_npu brings."""
    try:
        return link(builder, objects, name)
    except LinkError as error:
        found = list(dict.fromkeys(match["what"] for match in UNDEFINED.finditer(error.got)))
        if not found:
            raise
        own = [what for what in found if not OF_CANN.fullmatch(what)]
        if own:
            raise undefined(own, entries) from error
    return link(dataclasses.replace(builder, link_flags=()), objects, name)


def undefined(found: Sequence[str], entries: Entries) -> OpPluginError:
    """Return the error for functions that nothing defines."""
    what = found[0]
    for entry in entries.entries:
        kernels, declared = entry.kernels[0], signature(entry)
        if what.partition("(")[0] == f"{kernels}::{declared.name}":
            text = f"no {kernels}::{declared.name}; {INTERFACES[kernels]} declares it"
            return UndefinedFunctionError(
                where=entry.where,
                got=text,
                fix=f"define it in a .cpp file, in namespace {kernels}: {declared.declaration()}; "
                "or add gen_opapi",
            )
    return UndefinedFunctionError(
        where="the kernels",
        got="; ".join(found),
        fix="define it in a .cpp file: torch_npu declares it in a header, but its library does not "
        "export it",
    )


def package_files(
    request: Request, inputs: Inputs, entries: Entries, modules: Sequence[Module]
) -> dict[str, bytes]:
    """Return the Python files of the package and its metadata."""
    source, name = inputs.functions.name, request.name
    metadata = {
        "name": name,
        "version": request.version,
        "namespace": NAMESPACE,
        "library": library_name(request),
        "built_for": TORCH,
        "stable_abi": False,
        "operators": [entry.facts.name for entry in entries.entries],
        "schemas": [str(entry.schema) for entry in entries.entries],
        "mutating": [entry.facts.name for entry in entries.entries if entry.schema.mutated],
        "modules": [module.name for module in modules if module.when == "now"],
        "converters": [module.name for module in modules if module.when == "torchair"],
    }
    init = INIT.format(name=name, version=request.version, doc=f"{summary(entries)}.")
    texts = {
        "__init__.py": with_header(init, source=source, comment="#"),
        "_extension.py": shipped("op_plugin", source),
        "_loading.py": shipped("loading", source),
        "_runtime.py": shipped("runtime", source),
        "metadata.json": json.dumps(metadata, indent=2, ensure_ascii=False) + "\n",
        **{f"{module.name}.py": module.text for module in modules},
    }
    if metadata["mutating"]:
        texts["_graphs.py"] = shipped("graphs", source)
    return {f"{name}/{path}": text.encode() for path, text in texts.items()}
