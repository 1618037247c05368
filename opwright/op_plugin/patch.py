"""op-plugin's files -> a patch of the source tree that they belong to.

Where each file goes in a checkout of op-plugin, and in one of torch_npu, whose submodule it is:

* entries of the YAML to the top of `custom:` (and `symint:`) in op_plugin/config;
* entries of derivatives.yaml to the top of `backward:`;
* kernels to op_plugin/ops/opapi, or op_plugin/ops/aclops if they define nothing but acl_op;
* Meta functions to op_plugin/python/meta, imported at the end of _meta_registrations.py;
* converters to TorchAir's ge_converter/custom, which imports all that is in it. Only torch_npu's
  tree has TorchAir.

Source: op-plugin 517f2e7, torch_npu's setup.py (2.13), TorchAir fced884.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.op_plugin.diff import Change, patch_text
from opwright.op_plugin.entries import read_entries
from opwright.op_plugin.errors import TreeError
from opwright.op_plugin.inputs import read_inputs, shown, text_of
from opwright.op_plugin.python_files import read_module

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from opwright.op_plugin.inputs import Inputs
    from opwright.op_plugin.python_files import Module

__all__ = ["Patch", "make_patch"]

CONFIG = "op_plugin/config"
FUNCTIONS = f"{CONFIG}/op_plugin_functions.yaml"
DERIVATIVES = f"{CONFIG}/derivatives.yaml"
META = "op_plugin/python/meta"
META_MODULE = "torch_npu.op_plugin.meta"
SUBMODULE = "third_party/op-plugin/"
CONVERTERS = "third_party/torchair/torchair/python/torchair/_ge_concrete_graph/ge_converter/custom"
REGISTER = "register_fx_node_ge_converter"
PUBLIC = f"from torchair import {REGISTER}"
INNER = f"from torchair._ge_concrete_graph.fx2ge_converter import {REGISTER}"
SECTION = re.compile(r"(?P<name>\w+):\s*(?:#.*)?")
ITEM = re.compile(r"(?P<indent> *)- ")
TORCH = "2.13"


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """A patch.

    Parameters
    ----------
    paths
        The files that it changes or adds.
    notes
        What is not in it, and why.
    """

    text: str
    paths: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tree:
    """A checkout.

    Parameters
    ----------
    prefix
        Where op-plugin is in it.
    """

    root: Path
    prefix: str

    def read(self, path: str) -> str | None:
        """Return a file's text; None if it is not there."""
        file = self.root / path
        return file.read_text(encoding="utf-8") if file.is_file() else None


def make_patch(paths: Sequence[Path], root: Path) -> Patch:
    """Return the patch that brings an extension's files into a source tree.

    Raises
    ------
    OpwrightError
        What is wrong with the files (OPW-O..., OPW-S..., OPW-D...); OPW-O008: the tree cannot take
        them.
    """
    inputs = read_inputs(paths)
    notes = list(read_entries(inputs, TORCH).notes)
    modules = [read_module(file, None) for file in inputs.python]
    tree = find_tree(root)
    changes = [
        inserted(tree, FUNCTIONS, inputs.functions, "custom", "func"),
        *(
            [inserted(tree, DERIVATIVES, inputs.derivatives, "backward", "name")]
            if inputs.derivatives
            else []
        ),
        *kernel_files(tree, inputs),
        *meta_files(tree, [module for module in modules if not module.has_converters]),
    ]
    for module in modules:
        if not module.has_converters:
            continue
        if module.meta:
            raise TreeError(
                where=shown(module.file),
                got="Meta functions and converters in one file",
                fix="put the converters into a file of their own: they belong to another tree",
            )
        if not tree.root.joinpath(CONVERTERS).is_dir():
            notes.append(
                f"{shown(module.file)} is left out: {shown(tree.root)} has no TorchAir "
                f"({CONVERTERS})"
            )
            continue
        text = converter_in_tree(module)
        changes.append(added(tree, f"{CONVERTERS}/{module.file.name}", module.file, text))
    different = [change for change in changes if change.before != change.after]
    if not different:
        notes.append(f"{shown(tree.root)} has all of it already")
    return Patch(
        text=patch_text(tuple(different)),
        paths=tuple(change.path for change in different),
        notes=tuple(notes),
    )


def find_tree(root: Path) -> Tree:
    """Find op-plugin in a folder.

    Raises
    ------
    TreeError
        OPW-O008.
    """
    for prefix in ("", SUBMODULE):
        if root.joinpath(prefix + FUNCTIONS).is_file():
            return Tree(root.resolve(), prefix)
    hint = None
    if root.joinpath(SUBMODULE).is_dir():
        hint = "fetch its submodules: git submodule update --init --recursive"
    raise TreeError(
        where=str(root), got="a folder without this file", allowed=[FUNCTIONS], fix=hint
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
            where=shown(module.file),
            got=f"{REGISTER} imported in another form",
            allowed=[PUBLIC],
            fix="import it so, on a line of its own: TorchAir's folder needs another module's",
        )
    return text


def added(tree: Tree, path: str, file: Path, text: str | None = None) -> Change:
    """Return the change that adds a file.

    Parameters
    ----------
    text
        What it has in the tree, if that is not what it has here.

    Raises
    ------
    TreeError
        OPW-O008: there is another file of this name.
    """
    text = text_of(file) if text is None else text
    after = text if text.endswith("\n") or not text else f"{text}\n"
    before = tree.read(path)
    if before not in {None, after}:
        raise TreeError(
            where=str(tree.root / path),
            got=f"a file of this name, with another content than {shown(file)}",
            fix="rename yours",
        )
    return Change(path=path, before=before, after=after)


def kernel_files(tree: Tree, inputs: Inputs) -> list[Change]:
    """Return the changes that add the C++."""
    changes = []
    for file in (*inputs.kernels, *inputs.headers):
        text = text_of(file)
        is_aclop = "namespace acl_op" in text and "namespace op_api" not in text
        folder = "aclops" if is_aclop else "opapi"
        changes.append(added(tree, f"{tree.prefix}op_plugin/ops/{folder}/{file.name}", file))
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
        *(added(tree, f"{tree.prefix}{META}/{each.file.name}", each.file) for each in modules),
        Change(path=path, before=before, after=after if missing else before),
    ]


def inserted(tree: Tree, path: str, source: Path, section: str, key: str) -> Change:
    """Return the change that adds a YAML file's entries to the tops of their sections.

    Parameters
    ----------
    section
        That of a file without sections.
    key
        What an entry's schema stands behind.

    Raises
    ------
    TreeError
        OPW-O008: a section is missing, or has an operator of this name with other text.
    """
    where = f"{tree.prefix}{path}"
    before = tree.read(where)
    if before is None:
        raise TreeError(where=str(tree.root), got="no such file", allowed=[where])
    lines = before.splitlines(keepends=True)
    theirs = texts_of(before.splitlines(), section)
    for name, entries in texts_of(text_of(source).splitlines(), section).items():
        new = []
        for entry in entries:
            if entry in theirs.get(name, []):
                continue
            check_new(entry, theirs.get(name, []), key, tree.root / where, source)
            new.append(entry)
        if new:
            at = section_line(lines, name, tree.root / where)
            indent = indent_of(lines, at)
            lines[at:at] = [f"{indent}{line}".rstrip() + "\n" for e in new for line in [*e, ""]]
    return Change(path=where, before=before, after="".join(lines))


def texts_of(lines: Sequence[str], section: str) -> dict[str, list[list[str]]]:
    """Return the entries of each section as lines, without the indentation of the first one."""
    found: dict[str, list[list[str]]] = {}
    indent = ""
    for line in lines:
        head = SECTION.fullmatch(line)
        item = ITEM.match(line)
        if head is not None:
            section, indent = head["name"], ""
        elif item is not None and (section not in found or item["indent"] == indent):
            indent = item["indent"]
            found.setdefault(section, []).append([line[len(indent) :].rstrip()])
        elif section in found and line.startswith(f"{indent} "):
            found[section][-1].append(line[len(indent) :].rstrip())
    return found


def schema_of(entry: Sequence[str], key: str) -> str:
    """Return the text of an entry's schema."""
    mark = f"{key}:"
    texts = [line.lstrip("- ") for line in entry]
    whole = next((text for text in texts if text.startswith(mark)), "")
    return whole.removeprefix(mark).strip().strip("'\"")


def check_new(
    entry: Sequence[str], theirs: Sequence[Sequence[str]], key: str, place: Path, source: Path
) -> None:
    """Raise if the tree has an operator of an entry's name.

    Raises
    ------
    TreeError
        OPW-O008.
    """
    name = schema_of(entry, key).partition("(")[0]
    for other in theirs:
        if schema_of(other, key).partition("(")[0] == name:
            raise TreeError(
                where=str(place),
                got=f"an entry for {name} that differs from the one in {shown(source)}",
                fix="rename the operator, or change the entry in the tree",
            )


def section_line(lines: Sequence[str], name: str, place: Path) -> int:
    """Return the index of the line behind a section's name."""
    for index, line in enumerate(lines):
        head = SECTION.fullmatch(line.rstrip("\n"))
        if head is not None and head["name"] == name:
            return index + 1
    raise TreeError(where=str(place), got=f"no section {name!r}", fix=f"add a line `{name}:`")


def indent_of(lines: Sequence[str], start: int) -> str:
    """Return how the entries behind a line are indented."""
    for line in lines[start:]:
        item = ITEM.match(line)
        if item is not None:
            return item["indent"]
        if SECTION.fullmatch(line.rstrip("\n")):
            break
    return "  "
