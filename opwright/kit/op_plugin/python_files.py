"""Python files -> modules of the package: what they register, and when they can be imported.

They are read, not run. A converter needs TorchAir, whose import takes seconds, so a file that
imports it waits until a program does; one that has Meta functions as well cannot wait.
"""

from __future__ import annotations

import ast
import keyword
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.internals.modules import META_REGISTRATIONS
from opwright.kit.op_plugin.entries import NAMESPACE
from opwright.kit.op_plugin.errors import PythonFileError
from opwright.kit.op_plugin.inputs import render, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Module", "read_module"]

TORCHAIR = ("torchair", "torch_npu.dynamo.torchair")
# Functions that register another one for an operator that their first or second argument names.
REGISTERING = frozenset({"impl", "register_fake", "impl_abstract", "register_kernel"})
RESERVED = frozenset({"__init__"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A module of the package.

    Parameters
    ----------
    meta
        The operators for which it registers a Meta function.
    has_converters
        Whether it imports TorchAir.
    """

    name: str
    file: Path
    text: str
    meta: tuple[str, ...]
    has_converters: bool

    @property
    def waits(self) -> bool:
        """Whether it is imported after TorchAir, not with the package."""
        return self.has_converters and not self.meta


def read_module(file: Path, torch_npu: Path | None) -> Module:
    """Read a file.

    Parameters
    ----------
    torch_npu
        The folder of torch_npu, to look up what the file imports from it.

    Raises
    ------
    PythonFileError
        OPW-O007.
    """
    name = file.stem
    if not name.isidentifier() or keyword.iskeyword(name) or name in RESERVED or name[0] == "_":
        raise PythonFileError(
            where=render(file),
            got=f"the name {name!r}",
            fix="rename it: a module without underscore",
        )
    text = text_of(file)
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        line = f":{error.lineno}" if error.lineno else ""
        raise PythonFileError(where=f"{render(file)}{line}", got=error.msg) from error
    except (RecursionError, MemoryError) as error:  # Python's parser calls deep nesting so
        raise PythonFileError(where=render(file), got="an expression nested too deeply") from error
    if torch_npu is not None:
        check_imports(tree, file, torch_npu)
    has_converters = any(name.startswith(TORCHAIR) for name, _ in find_imports(tree))
    meta = tuple(sorted(set(meta_names(tree))))
    return Module(
        name=name,
        file=file,
        text=text,
        meta=meta,
        has_converters=has_converters,
    )


def find_imports(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the modules that are imported at the top, and the lines."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module, node.lineno


def check_imports(tree: ast.Module, file: Path, torch_npu: Path) -> None:
    """Raise if a module of torch_npu is imported that the installed one does not have."""
    for name, line in find_imports(tree):
        package, _, rest = name.partition(".")
        if package != "torch_npu" or not rest:
            continue
        place = torch_npu.joinpath(*rest.split("."))
        if not place.is_dir() and not list(place.parent.glob(f"{place.name}.*")):
            known = META_REGISTRATIONS
            fix = f"import it from {known}" if name.endswith("_meta_registrations") else None
            raise PythonFileError(
                where=f"{render(file)}:{line}",
                got=f"{name}, which torch_npu does not have",
                fix=fix,
            )


def meta_names(tree: ast.Module) -> Iterator[str]:
    """Yield the operators for which a file registers a Meta function."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if name not in REGISTERING:
            continue
        given = [*node.args, *(each.value for each in node.keywords)]
        texts = [
            each.value
            for each in given
            if isinstance(each, ast.Constant) and isinstance(each.value, str)
        ]
        keys = texts[1:]
        if texts and (not keys or "Meta" in keys):
            yield texts[0].removeprefix(f"{NAMESPACE}::").removesuffix(".default")
