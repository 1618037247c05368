"""`opwright add`: one more operator at the end of a project's declaration file.

What is in the file stays byte for byte. The new content is first run as a file of its own, so that
nothing is written that could not be loaded. A lock on the file's folder keeps two processes from
adding at the same time, of which one would undo what the other did.
"""

from __future__ import annotations

import ast
import dataclasses
import io
import shutil
import tokenize
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.kit.declare.errors import DuplicateOperatorError
from opwright.kit.declare.reserved import check_word
from opwright.kit.declare.schema_text import parse_schema
from opwright.lock import hold_lock
from opwright.project.config import load_operators
from opwright.project.errors import CannotAddError, CannotWriteError
from opwright.project.lazy_torch import lazy_torch
from opwright.project.sketch import sketch
from opwright.project.template import operator_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from opwright.project.config import Project
    from opwright.project.template import Template

__all__ = ["Added", "add_schema", "add_template"]


# Ends the new content's file. It is a module that Python can run.
TEMPORARY = ".opwright-new.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """An operator that was added, and where its declaration starts."""

    name: str
    file: Path
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Names in a declaration file of the things that a new operator needs.

    Parameters
    ----------
    missing
        Import lines for the modules that the file does not import.
    taken
        All names that the file binds.
    """

    operators: str
    opwright: str
    torch: str
    missing: tuple[str, ...]
    taken: frozenset[str]


def add_schema(project: Project, text: str) -> Added:
    """Add an operator of this schema; its reference is left to be written.

    Raises
    ------
    SchemaError, ReservedNameError, DuplicateOperatorError, CannotAddError, CannotWriteError
        OPW-D001, OPW-D008, OPW-D007, OPW-P014, OPW-P013; and what loading the declaration raises.
    """
    schema = parse_schema(text, where="opwright add")
    check_word(schema.name, "operator", where="opwright add")
    for argument in schema.arguments:
        check_word(argument.name, "argument", where="opwright add")
    function = schema.full_name.replace(".", "_")

    def declaration(names: Names) -> str:
        return sketch(schema, function, operators=names.operators, opwright=names.opwright)

    return add(project, schema.full_name, function, declaration)


def add_template(project: Project, name: str, template: Template) -> Added:
    """Add a template's operator under a name.

    Raises
    ------
    ReservedNameError, DuplicateOperatorError, CannotAddError, CannotWriteError
        As add_schema.
    """
    check_word(name, "operator", where="opwright add")

    def declaration(names: Names) -> str:
        return operator_text(
            template,
            name,
            operators=names.operators,
            opwright=names.opwright,
            torch=names.torch,
        )

    return add(project, name, name, declaration)


def add(
    project: Project, operator: str, function: str, declaration: Callable[[Names], str]
) -> Added:
    """Append a declaration; the operator and its function must be new."""
    folder = project.declaration.resolve().parent
    try:
        with hold_lock(folder), lazy_torch():  # nothing here calls a reference
            return add_lazily(project, operator, function, declaration)
    except OSError as error:
        raise CannotWriteError(where=str(project.declaration), got=str(error)) from error


def add_lazily(
    project: Project, operator: str, function: str, declaration: Callable[[Names], str]
) -> Added:
    """Append a declaration, in a process that may have torch only in name."""
    known = next(
        (o for o in load_operators(project).freeze().operators if o.name == operator), None
    )
    if known is not None:
        raise DuplicateOperatorError(
            where=f"opwright add, operator {operator}", got=f"a declaration at {known.place}"
        )
    file = project.declaration.resolve()
    old = file.read_bytes()
    encoding, _ = tokenize.detect_encoding(io.BytesIO(old).readline)
    names = names_in(ast.parse(old), where=str(file))
    if function in names.taken:
        raise CannotAddError(
            where=f"{file}, function {function}",
            got="a name that the file has for something else",
            fix="rename what is there, or choose another name for the operator",
        )
    block = "\n\n" + "".join(f"{line}\n\n\n" for line in names.missing) + declaration(names)
    newline = "\r\n" if b"\r\n" in old else "\n"
    end = "" if not old or old.endswith(b"\n") else newline
    new = old + (end + block.replace("\n", newline)).encode(encoding)
    replace(project, file, new)
    start = new.decode(encoding).index(f"@{names.operators}.operator", len(old.decode(encoding)))
    return Added(name=operator, file=file, line=new.decode(encoding).count("\n", 0, start) + 1)


def names_in(tree: ast.Module, *, where: str) -> Names:
    """Find the operator set and the modules.

    Raises
    ------
    CannotAddError
        OPW-P014: the set is not a variable of the file.
    """
    modules: dict[str, str] = {}
    sets: list[str] = []
    taken: set[str] = set()
    for node in tree.body:
        match node:
            case ast.Import(names):
                modules |= {each.name: each.asname or each.name for each in names}
                taken |= {each.asname or each.name for each in names}
            case ast.ImportFrom(names=names):
                taken |= {each.asname or each.name for each in names}
            case ast.FunctionDef(name) | ast.ClassDef(name):
                taken.add(name)
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), _, value):
                taken.add(name)
                if isinstance(value, ast.Call) and ast.unparse(value.func).endswith("OperatorSet"):
                    sets.append(name)
    if len(sets) != 1:
        raise CannotAddError(
            where=where,
            got=f"{len(sets)} assignments NAME = OperatorSet(...)",
            fix="write the declaration by hand, beside the operator set",
        )
    missing = []
    if "opwright" not in modules:
        missing.append("import opwright as ow")
    if "torch" not in modules:
        missing.append("import torch")
    return Names(
        operators=sets[0],
        opwright=modules.get("opwright", "ow"),
        torch=modules.get("torch", "torch"),
        missing=tuple(missing),
        taken=frozenset(taken),
    )


def replace(project: Project, file: Path, content: bytes) -> None:
    """Replace a declaration file by a content that can be loaded."""
    # Beside the file, so that it imports its neighbours and can be renamed over it. The lock makes
    # the name ours: what is there is of a process that was killed.
    new = file.with_name(f".{file.stem}{TEMPORARY}")
    new.unlink(missing_ok=True)
    try:
        with new.open("xb") as stream:
            stream.write(content)
        shutil.copymode(file, new)
        load_operators(dataclasses.replace(project, declaration=new))
        new.replace(file)
    finally:
        new.unlink(missing_ok=True)
