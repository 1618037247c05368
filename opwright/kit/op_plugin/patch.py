"""op-plugin's files -> a patch of the source tree that they belong to.

Where each file goes in a checkout of op-plugin, and in one of torch_npu, whose submodule it is:

* entries of the YAML to the top of `custom:` (and `symint:`) in op_plugin/config;
* entries of derivatives.yaml to the top of `backward:`;
* kernels to op_plugin/ops/opapi, or op_plugin/ops/aclops if they define nothing but acl_op;
* Meta functions to op_plugin/python/meta, imported at the end of _meta_registrations.py;
* converters to TorchAir's ge_converter/custom, which imports all that is in it. Only torch_npu's
  tree has TorchAir.

Source: op-plugin 517f2e7, torch_npu's setup.py, TorchAir fced884.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.kit.op_plugin.diff import Change, patch_text
from opwright.kit.op_plugin.entries import read_entries
from opwright.kit.op_plugin.errors import TreeError
from opwright.kit.op_plugin.inputs import read_inputs, render, text_of
from opwright.kit.op_plugin.insertion import insert
from opwright.kit.op_plugin.python_files import read_module
from opwright.kit.op_plugin.tree import CONFIG, FUNCTIONS, add_file, find_tree

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from opwright.kit.op_plugin.inputs import Inputs
    from opwright.kit.op_plugin.python_files import Module
    from opwright.kit.op_plugin.tree import Tree

__all__ = ["Patch", "make_patch"]

DERIVATIVES = f"{CONFIG}/derivatives.yaml"
META = "op_plugin/python/meta"
META_MODULE = "torch_npu.op_plugin.meta"
CONVERTERS = "third_party/torchair/torchair/python/torchair/_ge_concrete_graph/ge_converter/custom"
REGISTER = "register_fx_node_ge_converter"
PUBLIC = f"from torchair import {REGISTER}"
INNER = f"from torchair._ge_concrete_graph.fx2ge_converter import {REGISTER}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """A patch.

    Parameters
    ----------
    paths
        The files that it changes or adds.
    left_out
        What is not in it, and why.
    notes
        What else a person should know.
    """

    text: str
    paths: tuple[str, ...]
    left_out: tuple[str, ...]
    notes: tuple[str, ...]


def make_patch(paths: Sequence[Path], root: Path) -> Patch:
    """Return the patch that brings an extension's files into a source tree.

    Raises
    ------
    OpwrightError
        What is wrong with the files (OPW-O..., OPW-S..., OPW-D...); OPW-O008: the tree cannot take
        them.
    """
    inputs = read_inputs(paths)
    entries = read_entries(inputs)
    modules = [read_module(file, None) for file in inputs.python]
    tree = find_tree(root)
    changes = [insert(tree, FUNCTIONS, inputs.functions, "custom", "func")]
    if inputs.derivatives:
        changes.append(insert(tree, DERIVATIVES, inputs.derivatives, "backward", "name"))
    changes += kernel_files(tree, inputs)
    changes += meta_files(tree, [module for module in modules if not module.has_converters])
    converters = [module for module in modules if module.has_converters]
    for module in converters:
        check_alone(module)
    left_out = [*entries.left_out]
    if tree.root.joinpath(CONVERTERS).is_dir():
        changes += [
            add_file(tree, f"{CONVERTERS}/{each.file.name}", each.file, converter_in_tree(each))
            for each in converters
        ]
    else:
        left_out += [
            f"{render(each.file)} is left out: {render(tree.root)} has no TorchAir ({CONVERTERS})"
            for each in converters
        ]
    different = [change for change in changes if change.before != change.after]
    nothing = [] if different else [f"{render(tree.root)} has all of it already"]
    return Patch(
        text=patch_text(tuple(different)),
        paths=tuple(change.path for change in different),
        left_out=tuple(left_out),
        notes=(*entries.notes, *nothing),
    )


def kernel_files(tree: Tree, inputs: Inputs) -> list[Change]:
    """Return the changes that add the C++."""
    changes = []
    for file in (*inputs.kernels, *inputs.headers):
        text = text_of(file)
        is_aclop = "namespace acl_op" in text and "namespace op_api" not in text
        folder = "aclops" if is_aclop else "opapi"
        changes.append(add_file(tree, f"{tree.prefix}op_plugin/ops/{folder}/{file.name}", file))
    return changes


def meta_files(tree: Tree, modules: Sequence[Module]) -> list[Change]:
    """Return the changes that add Python modules and import them with the other Meta functions."""
    if not modules:
        return []
    path = f"{tree.prefix}{META}/_meta_registrations.py"
    before = tree.read(path)
    if before is None:
        raise TreeError(where=str(tree.root), got="no such file", allowed=[path])
    after = before if before.endswith("\n") else f"{before}\n"
    imports = [f"import {META_MODULE}.{module.name}  # noqa: E402, F401" for module in modules]
    missing = [line for line in imports if line not in after.splitlines()]
    after += "".join(f"{line}\n" for line in ["", *missing]) if missing else ""
    return [
        *(add_file(tree, f"{tree.prefix}{META}/{each.file.name}", each.file) for each in modules),
        Change(path=path, before=before, after=after if missing else before),
    ]


def check_alone(module: Module) -> None:
    """Raise if a module with converters has Meta functions, too.

    Raises
    ------
    TreeError
        OPW-O008.
    """
    if module.meta:
        raise TreeError(
            where=render(module.file),
            got="Meta functions and converters in one file",
            fix="put the converters into a file of their own: they belong to another tree",
        )


def converter_in_tree(module: Module) -> str:
    """Return a converter's text for TorchAir's own folder.

    TorchAir imports that folder before it has a function register_fx_node_ge_converter of its own.

    Raises
    ------
    TreeError
        OPW-O008: it takes the function from TorchAir in another form.
    """
    text, count = re.subn(rf"(?m)^{re.escape(PUBLIC)}$", INNER, module.text)
    if not count and REGISTER in text and INNER not in text:
        raise TreeError(
            where=render(module.file),
            got=f"{REGISTER} imported in another form",
            allowed=[PUBLIC],
            fix="import it so, on a line of its own: TorchAir's folder needs another module's",
        )
    return text
