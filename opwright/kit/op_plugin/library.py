"""Generated and given C++ -> the library of the package."""

from __future__ import annotations

import dataclasses
import os
import re
from typing import TYPE_CHECKING

from opwright.kit.op_plugin.entries import NAMESPACE
from opwright.kit.op_plugin.errors import KernelError, OpPluginError, UndefinedFunctionError
from opwright.kit.op_plugin.headers import INCLUDE, INTERFACES
from opwright.kit.op_plugin.inputs import render
from opwright.kit.op_plugin.package import library_name
from opwright.kit.op_plugin.signatures import signature
from opwright.kit.op_plugin.units import AUTOGRAD, SOURCES
from opwright.kit.packaging.build import write_log
from opwright.kit.packaging.cache import cache_folder
from opwright.kit.packaging.compile import Builder, compile_units, link
from opwright.kit.packaging.errors import LinkError, NotCachedError
from opwright.kit.packaging.message import CompilerFailure, describe
from opwright.kit.packaging.progress import Progress, Step
from opwright.kit.packaging.toolchain import cores
from opwright.pairs import installed_minor

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from opwright.kit.op_plugin.entries import Entries
    from opwright.kit.op_plugin.inputs import Inputs
    from opwright.kit.op_plugin.request import Request
    from opwright.kit.packaging.compile import Compiled, Library
    from opwright.kit.packaging.toolchain import Toolchain

__all__ = ["builder_of", "compile_extension"]

UNDEFINED = re.compile(r"undefined reference to `(?P<what>[^']+)'")
# C functions of CANN.
OF_CANN = re.compile(r"(?:acl|ge|Hccl|hccl)\w*")


def builder_of(request: Request, inputs: Inputs, toolchain: Toolchain) -> Builder:
    """Return what all units share: generated headers first, then torch_npu's."""
    major, _, minor = installed_minor().partition(".")
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
        places = operator_places(entries, failure.source)
        described = describe(failure, builder.sources, places, log, render)
        own_fix = None if described.fix == described.usual_fix else described.fix
        raise KernelError(where=described.where, got=described.got, fix=own_fix) from failure
    name = library_name(request.name)
    with progress.step("link", name) as detail:
        library = link_extension(builder, [unit.object for unit in compiled], name, entries)
        detail.from_cache = library.from_cache
    return library


def operator_places(entries: Entries, unit: Path) -> dict[str, str]:
    """Return by an operator's name in C++ what it is called, and where what a unit has stands."""
    of_derivatives = entries.derivatives if unit.name == AUTOGRAD else {}
    return {
        entry.schema.name: f"{NAMESPACE}::{entry.facts.name}, "
        f"{of_derivatives.get(entry.facts.name, entry.facts.operator.place)}"
        for entry in entries.entries
    }


def link_extension(
    builder: Builder, objects: Sequence[Path], name: str, entries: Entries
) -> Library:
    """Link; what is left undefined may only be functions of CANN, which torch_npu brings."""
    try:
        return link(builder, objects, name)
    except NotCachedError:  # as for a library that was linked without functions of CANN
        pass
    except LinkError as error:
        found = list(dict.fromkeys(match["what"] for match in UNDEFINED.finditer(error.got)))
        if not found:
            raise
        own = [what for what in found if not OF_CANN.fullmatch(what)]
        if own:
            raise report_undefined(own, entries) from error
    return link(dataclasses.replace(builder, link_flags=()), objects, name)


def report_undefined(found: Sequence[str], entries: Entries) -> OpPluginError:
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
