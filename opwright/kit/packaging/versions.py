"""Which operators of a declaration are for the version of torch that a package is built for."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from packaging.specifiers import SpecifierSet

from opwright.kit.packaging.errors import NoOperatorError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.kit.declare.operator import Declaration, Operator

__all__ = ["for_version", "has_release"]

# More than any minor version of torch has had.
PATCHES = 100


def for_version(declaration: Declaration, version: str) -> tuple[Declaration, tuple[str, ...]]:
    """Leave out the operators whose range of versions does not include one.

    Parameters
    ----------
    declaration
        Without errors, so that its ranges can be read.
    version
        Minor version of torch and torch_npu ("2.13").

    Returns
    -------
    declaration, notes
        What is left, and a sentence about each operator that is left out.

    Raises
    ------
    NoOperatorError
        OPW-B022: there are operators, and none is left.
    """
    kept, notes = [], []
    for operator in declaration.operators:
        others = list(ranges_without(declaration, operator, version))
        if others:
            name = f"{declaration.namespace}::{operator.name}"
            notes.append(f"{operator.place}: {name} is left out, it is for {' and '.join(others)}")
        else:
            kept.append(operator)
    if notes and not kept:
        raise NoOperatorError(
            where=str(declaration.place), got=f"torch {version}; {'; '.join(notes)}"
        )
    return dataclasses.replace(declaration, operators=tuple(kept)), tuple(notes)


def ranges_without(declaration: Declaration, operator: Operator, version: str) -> Iterator[str]:
    """Yield the ranges of an operator, or of the set, that do not include a version."""
    for package, text in (
        ("torch", operator.torch or declaration.torch),
        ("torch_npu", operator.torch_npu or declaration.torch_npu),
    ):
        if text is not None and not has_release(text, version):
            yield f"{package} {text}"


def has_release(text: str, version: str) -> bool:
    """Return whether a specifier allows some release of a minor version.

    >>> has_release(">=2.13.1,<2.14", "2.13"), has_release("!=2.13.*", "2.13")
    (True, False)
    """
    specifier = SpecifierSet(text)
    return any(specifier.contains(f"{version}.{patch}") for patch in range(PATCHES))
