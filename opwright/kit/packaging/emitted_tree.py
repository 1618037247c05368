"""A project -> the facts of its declaration and the files that are emitted for it.

Hand-written C++ in csrc/ of the project is part of the emitted tree, where it replaces emitted
files of the same name, so that the tree can be built without the project around it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.kit.derive import derive
from opwright.kit.emit.all import emit_all
from opwright.kit.emit.cpp import stable_limits
from opwright.kit.emit.python import emit_python
from opwright.kit.emit.python.pyproject import emit_metadata
from opwright.kit.packaging.errors import (
    ExistingOperatorsError,
    StableAbiError,
    StableAbiLimitsError,
)
from opwright.kit.packaging.versions import for_version
from opwright.kit.validate import check
from opwright.project.config import load_operators
from opwright.project.lazy_torch import lazy_torch

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from opwright.kit.derive.facts import SetFacts
    from opwright.kit.emit.options import EmitOptions
    from opwright.project.config import Project

__all__ = ["HAND_WRITTEN", "Sources", "find_hand_written", "read_sources"]

HAND_WRITTEN = "csrc"
SUFFIXES = frozenset({".cpp", ".h", ".hpp", ".inc"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The sources that a project's declaration becomes.

    Parameters
    ----------
    files
        Texts by path in the generated tree.
    notes
        Declarations that the author probably did not mean, and which operators are for other
        versions of torch.
    """

    facts: SetFacts
    files: Mapping[str, str]
    notes: tuple[str, ...] = ()


def read_sources(project: Project, options: EmitOptions, *, cpp: bool = True) -> Sources:
    """Read and check the declaration, and emit all files.

    Parameters
    ----------
    cpp
        Whether C++ is wanted; a plugin may have operators that cannot be expressed in it.

    Raises
    ------
    OpwrightError
        What is wrong with the declaration (OPW-D...), its file (OPW-P...), or what cannot be
        emitted (OPW-E...); OPW-B022: no operator is for this version of torch; OPW-B025: the
        operators are another library's.
    """
    with lazy_torch():
        declaration = load_operators(project).freeze()
        if declaration.existing:
            where = f"{declaration.place}, operator set {declaration.namespace}"
            got = ", ".join(operator.name for operator in declaration.operators)
            raise ExistingOperatorsError(where=where, got=got)
        warnings = check(declaration)
        declaration, left_out = for_version(declaration, options.torch)
        if left_out:
            check(declaration)  # what is left may name what is not
        facts = derive(declaration)
        if options.stable_abi:
            check_stable_limits(facts)
        emitted = emit_all(facts, options) if cpp else emit_package(facts, options)
    files = {**emitted, **find_hand_written(project.root)} if cpp else emitted
    return Sources(facts=facts, files=files, notes=(*map(str, warnings), *left_out))


def emit_package(facts: SetFacts, options: EmitOptions) -> Mapping[str, str]:
    """Return the files of the Python package without C++ beside it."""
    files = emit_python(facts, options)
    return {
        **files,
        f"{options.package}/metadata.json": emit_metadata(facts, options, files),
    }


def check_stable_limits(facts: SetFacts) -> None:
    """Raise if an operator cannot be in a package for the stable ABI.

    Raises
    ------
    StableAbiLimitsError
        OPW-B021, with OPW-B017 for each reason.
    """
    errors = []
    for limit in stable_limits(facts):
        if limit.what == "kernel":
            found = facts.operator(limit.operator)
            assert found is not None, limit
            name = f"{facts.declaration.namespace}::{limit.operator}"
            errors.append(
                StableAbiError(where=f"{found.operator.place}, operator {name}", got=limit.reason)
            )
    if errors:
        raise StableAbiLimitsError(where=facts.declaration.source.name, errors=errors)


def find_hand_written(root: Path) -> Mapping[str, str]:
    """Return the C++ that stands in the project itself, by its path in the generated tree."""
    folder = root / HAND_WRITTEN
    return {
        str(file.relative_to(root)): file.read_text(encoding="utf-8")
        for file in sorted(folder.rglob("*"))
        if file.suffix in SUFFIXES and file.is_file()
    }
