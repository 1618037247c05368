"""A target: a file, module, library or namespace that the user names -> its subjects.

There is a function for each kind of target.

Everything here runs user code, so the command leaves it to a worker process.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import os
import re
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from opwright.check.errors import (
    ImportFailedError,
    LibraryError,
    NoOperatorsError,
    TargetError,
)
from opwright.check.subject import Subject
from opwright.errors import OpwrightError, sort_nearest_first
from opwright.internals.dispatcher import dispatch_dump, dispatch_get_all_op_names
from opwright.kit.declare.errors import SchemaError
from opwright.kit.declare.operator import Operator
from opwright.kit.declare.place import Place
from opwright.kit.declare.schema_text import parse_schema
from opwright.kit.derive import derive
from opwright.kit.live import dispatcher
from opwright.project.config import load_operators, operator_sets, read_project, run_file
from opwright.project.errors import OperatorSetError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import ModuleType

    from opwright.check.request import Request
    from opwright.kit.declare.operator_set import OperatorSet

__all__ = [
    "Target",
    "describe_namespace",
    "load_library",
    "module_of_name",
    "read_target",
    "subjects_of_module",
    "subjects_of_namespace",
    "subjects_of_set",
]

REGISTERED = re.compile(r"^debug: registered at (?P<file>.+):(?P<line>\d+)$", re.MULTILINE)
MOST_NAMES = 8  # of nearest names in a message


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The operators of a target.

    Parameters
    ----------
    subjects
        The operators, in the order in which they are declared; those of another library by name.
    unreadable
        Operators whose schema is outside PyTorch's grammar for custom operators: name -> why.
    """

    subjects: tuple[Subject, ...]
    unreadable: tuple[tuple[str, str], ...] = ()


def read_target(request: Request) -> Target:
    """Load what was named and return its operators.

    Raises
    ------
    TargetError, NoOperatorsError, LibraryError, ImportFailedError
        OPW-C001 to OPW-C004.
    NoProjectError, ConfigError, DeclarationFileError, OperatorSetError, RegistrationError, ...
        OPW-P001 to OPW-P004, and the errors of declarations and of loading them.
    """
    described = sets_of_declaration(request.declaration)
    known = namespaces()
    for each in request.load:
        load_library(Path(each))
    path = Path(request.target)
    if request.load:
        return of_namespace(request.target, described, namespaces() - known)
    if path.suffix == ".so":
        load_library(path.absolute())
        return of_namespaces(namespaces() - known, described, where=str(path))
    if path.is_file():
        module = run_file(path.absolute())
        return of_module(module, described, namespaces() - known, where=str(path))
    if path.is_dir():
        return Target(subjects=tuple(subjects_of_set(load_operators(read_project(path)))))
    if not is_module(request.target):
        return of_namespace(request.target, described, ())
    module = module_of_name(request.target)
    return of_module(module, described, namespaces() - known, where=request.target)


def sets_of_declaration(declaration: str | None) -> dict[str, OperatorSet]:
    """Return the operator sets that describe another library's operators, by namespace.

    Raises
    ------
    NoOperatorsError
        OPW-C002.
    """
    if declaration is None:
        return {}
    path = Path(declaration)
    module = run_file(path.absolute()) if path.is_file() else module_of_name(declaration)
    found = {each.namespace: each for each in operator_sets(module)}
    if not found:
        raise NoOperatorsError(
            where=f"--declaration {declaration}",
            got="no operator set",
            fix='write ops = opwright.OperatorSet("NAMESPACE", existing=True) there',
        )
    return found


def is_module(name: str) -> bool:
    """Return whether a dotted name is that of a module or package that can be imported."""
    if not all(part.isidentifier() for part in name.split(".")):
        return False
    top = name.partition(".")[0]
    return top in sys.modules or importlib.util.find_spec(top) is not None


def module_of_name(name: str) -> ModuleType:
    """Import a module or package.

    Raises
    ------
    ImportFailedError
        OPW-C004: it raises, or would end the process.
    """
    try:
        return importlib.import_module(name)
    except (OpwrightError, KeyboardInterrupt):
        raise
    except BaseException as error:  # SystemExit too
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise ImportFailedError(
            where=f"{name}, {last.filename}:{last.lineno}", got=f"{type(error).__name__}: {error}"
        ) from error


def load_library(path: Path) -> None:
    """Load a library (.so) or Python file that registers operators.

    Raises
    ------
    LibraryError
        OPW-C003.
    """
    if not path.is_file():
        raise LibraryError(where=f"--load {path}", got="no such file")
    if path.suffix == ".py":
        run_file(path)
        return
    try:
        torch.ops.load_library(path)  # type: ignore[no-untyped-call]
    except (OSError, RuntimeError) as error:  # dlopen; what TORCH_LIBRARY raises while it loads
        # torch says that it could not; the loader says why.
        raise LibraryError(where=f"--load {path}", got=str(error.__cause__ or error)) from error


def of_module(
    module: ModuleType,
    described: dict[str, OperatorSet],
    registered: Iterable[str],
    *,
    where: str,
) -> Target:
    """Return the operators of a module: those that it declares, or else those that it registered.

    Raises
    ------
    NoOperatorsError
        OPW-C002.
    """
    subjects = subjects_of_module(module)
    if subjects:
        return Target(subjects=tuple(subjects))
    return of_namespaces(registered, described, where=where)


def of_namespaces(found: Iterable[str], described: dict[str, OperatorSet], *, where: str) -> Target:
    """Return the operators of the namespaces that a library registered.

    Raises
    ------
    NoOperatorsError
        OPW-C002.
    """
    targets = [describe_namespace(each, described.get(each)) for each in sorted(found)]
    if not targets:
        raise NoOperatorsError(
            where=where, got="no operator set, and no operator that it registers with torch"
        )
    return Target(
        subjects=tuple(each for target in targets for each in target.subjects),
        unreadable=tuple(each for target in targets for each in target.unreadable),
    )


def of_namespace(name: str, described: dict[str, OperatorSet], registered: Iterable[str]) -> Target:
    """Return the operators of one namespace.

    Parameters
    ----------
    registered
        What the loaded libraries added.

    Raises
    ------
    TargetError
        OPW-C001.
    """
    if not dispatcher.names_in(name):
        fresh = sorted(registered)
        near = sort_nearest_first(name, namespaces())[:MOST_NAMES]
        raise TargetError(
            where="TARGET",
            got=repr(name),
            allowed=fresh or near,
            fix="name a namespace that the library registers" if fresh else None,
        )
    return describe_namespace(name, described.get(name))


def describe_namespace(namespace: str, described: OperatorSet | None) -> Target:
    """Return the operators of a namespace that is registered already.

    Parameters
    ----------
    described
        What describes them, wholly or in part. It is not loaded.
    """
    by_set = () if described is None else tuple(subjects_of_description(described))
    known = set() if described is None else names_of(described)
    alone = subjects_of_namespace(namespace, skip=known)
    return Target(
        subjects=(*by_set, *(each for each in alone if isinstance(each, Subject))),
        unreadable=tuple(each for each in alone if not isinstance(each, Subject)),
    )


def subjects_of_description(ops: OperatorSet) -> Iterator[Subject]:
    """Yield the operators that a set describes and another library registered.

    Raises
    ------
    NoOperatorsError
        OPW-C002: the library does not have one of them.
    """
    facts = derive(dataclasses.replace(ops.freeze(), existing=True))
    there = dispatcher.names_in(ops.namespace)
    for each in facts.operators:
        if each.role != "declared":
            continue
        subject = Subject(
            namespace=ops.namespace,
            operator=each.operator,
            facts=each,
            of_set=facts,
            is_foreign=True,
            is_specified=not ops.existing,
        )
        if subject.name not in there:
            raise NoOperatorsError(
                where=subject.where,
                got="no operator of this name is registered",
                allowed=sort_nearest_first(subject.name, there)[:MOST_NAMES],
                fix="name the library with --load, or correct the name",
            )
        yield subject


def names_of(ops: OperatorSet) -> set[str]:
    """Return the names of a set's operators, with those that are derived from them."""
    return {f"{ops.namespace}::{each.name}" for each in derive(ops.freeze()).operators}


def subjects_of_namespace(
    namespace: str, *, skip: Iterable[str] = ()
) -> list[Subject | tuple[str, str]]:
    """Return the operators of a namespace that nobody describes.

    Parameters
    ----------
    skip
        Names to leave out.

    Returns
    -------
    operators
        A pair of name and reason stands for one whose schema cannot be read.
    """
    names = sorted(set(dispatcher.names_in(namespace)) - set(skip))
    return [bare_subject(namespace, name.partition("::")[2]) for name in names]


def bare_subject(namespace: str, name: str) -> Subject | tuple[str, str]:
    """Return an operator of which only the schema is known."""
    full = f"{namespace}::{name}"
    place = place_of(full)
    overload = dispatcher.overload(namespace, name)
    text = str(overload._schema).partition("::")[2]  # noqa: SLF001 - it has no public name
    try:
        schema = parse_schema(text, where=str(place))
    except SchemaError as error:
        return full, f"a schema that opwright cannot read: {error.got}"
    tags = tuple(tag.name for tag in overload.tags)
    return Subject(
        namespace=namespace,
        operator=Operator(schema=schema, place=place, tags=tags),
        is_foreign=True,
        is_specified=False,
    )


def place_of(name: str) -> Place:
    """Return where an operator's schema was registered, as torch knows it."""
    found = REGISTERED.search(dispatch_dump(name))
    if found is None or found["file"] == os.devnull:  # older torch keeps no file of Python's
        return Place("<unknown>")
    return Place(found["file"], int(found["line"]))


def namespaces() -> set[str]:
    """Return the namespaces that have operators."""
    return {name.partition("::")[0] for name in dispatch_get_all_op_names()}


def subjects_of_module(module: ModuleType) -> list[Subject]:
    """Load the operator sets of a module and return their operators.

    Raises
    ------
    OperatorSetError
        OPW-P004: two sets register operators in one namespace.
    """
    sets = operator_sets(module)
    own = [each.namespace for each in sets if not each.existing]
    if twice := sorted({each for each in own if own.count(each) > 1}):
        raise OperatorSetError(
            where=str(module.__file__),
            got=f"{own.count(twice[0])} operator sets with the namespace {twice[0]!r}",
            fix="declare all operators of a namespace with one opwright.OperatorSet",
        )
    return [each for ops in sets for each in subjects_of_set(ops)]


def subjects_of_set(ops: OperatorSet) -> Iterator[Subject]:
    """Load a set and yield its declared operators.

    A set of operators that exist already describes them; what checks it does not complete it.
    """
    if ops.existing:
        yield from subjects_of_description(ops)
        return
    ops.load()
    facts = derive(ops.freeze())
    for each in facts.operators:
        if each.role == "declared":
            yield Subject(namespace=ops.namespace, operator=each.operator, facts=each, of_set=facts)
