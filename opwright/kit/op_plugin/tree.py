"""A checkout of op-plugin, or of torch_npu, whose submodule it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.kit.op_plugin.diff import Change
from opwright.kit.op_plugin.errors import TreeError
from opwright.kit.op_plugin.inputs import render, text_of

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["CONFIG", "FUNCTIONS", "Tree", "add_file", "find_tree"]

CONFIG = "op_plugin/config"
FUNCTIONS = f"{CONFIG}/op_plugin_functions.yaml"
SUBMODULE = "third_party/op-plugin/"


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


def add_file(tree: Tree, path: str, file: Path, text: str | None = None) -> Change:
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
            got=f"a file of this name, with another content than {render(file)}",
            fix="rename yours",
        )
    return Change(path=path, before=before, after=after)
