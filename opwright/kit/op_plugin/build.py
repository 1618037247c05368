"""op-plugin's files -> a wheel, whose import brings the operators into torch_npu."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from opwright.kit.op_plugin.entries import read_entries
from opwright.kit.op_plugin.headers import aten_functions, emit_headers
from opwright.kit.op_plugin.inputs import read_inputs, render, text_of
from opwright.kit.op_plugin.library import builder_of, compile_extension
from opwright.kit.op_plugin.package import library_name, metadata_of, package_files
from opwright.kit.op_plugin.python_files import read_module
from opwright.kit.op_plugin.request import check_name
from opwright.kit.op_plugin.units import emit_units, has_meta
from opwright.kit.packaging.build import BUILD_RECORD, Built, build_record, finish, write_count
from opwright.kit.packaging.cache import prune
from opwright.kit.packaging.toolchain import find_toolchain
from opwright.kit.packaging.wheel import Tag
from opwright.kit.packaging.writer import write_tree
from opwright.pairs import installed_minor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opwright.kit.op_plugin.entries import Entries
    from opwright.kit.op_plugin.inputs import Inputs
    from opwright.kit.op_plugin.python_files import Module
    from opwright.kit.op_plugin.request import Request
    from opwright.kit.packaging.progress import Progress
    from opwright.kit.packaging.toolchain import Toolchain

__all__ = ["build_extension"]


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
        toolchain = find_toolchain(os.environ, installed_minor())
        detail.text = f"{toolchain.compiler_version}, torch_npu {toolchain.torch_npu_version}"
    modules = [read_module(file, toolchain.torch_npu) for file in inputs.python]
    documents = ", ".join(map(render, filter(None, (inputs.functions, inputs.derivatives))))
    with progress.step("read", documents) as detail:
        entries = read_entries(inputs)
        found = [write_count(len(entries.entries), "operator")]
        if inputs.derivatives is not None:
            found.append(write_count(len(entries.derivatives), "derivative"))
        detail.text = f"{documents}: {', '.join(found)}"
    for note in [*entries.left_out, *entries.notes, *module_notes(entries, modules)]:
        progress.note(note)
    files = generate(inputs, entries, modules, toolchain)
    with progress.step("generate", "") as detail:
        changes = write_tree(request.work, files)
        changed = len(changes.written) + len(changes.removed)
        detail.text = (
            f"{write_count(len(files), 'file')} in {render(request.work)}, {changed} changed"
        )
        detail.from_cache = not changes
    builder = builder_of(request, inputs, toolchain)
    library = compile_extension(builder, request, inputs, entries, progress)
    content = library.file.read_bytes()
    name = library_name(request.name)
    package = {
        **package_files(request.name, request.version, entries, modules, inputs.functions.name),
        f"{request.name}/{name}": content,
        f"{request.name}/{BUILD_RECORD}": build_record(name, content, toolchain, builder),
    }
    prune(builder.cache)
    metadata = metadata_of(request.name, request.version, entries)
    return finish(request.out, package, metadata, Tag.of("library"), progress)


def module_notes(entries: Entries, modules: Sequence[Module]) -> list[str]:
    """Return what a person should know about the Python files."""
    notes = [
        f"{render(module.file)} has Meta functions and imports TorchAir, so importing the package "
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


def generate(
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
