"""Which of the operators that were read are wanted: by version of torch, and by name."""

from __future__ import annotations

import dataclasses
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from opwright.kit.formats.errors import EntryError
from opwright.kit.formats.versions import minor, select

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.kit.declare.operator import Declaration
    from opwright.kit.formats.imported import Imported

__all__ = ["choose"]


def choose(
    imported: Imported, *, torch: str | None = None, only: Sequence[str] = ()
) -> Declaration:
    """Return one declaration.

    Parameters
    ----------
    torch
        The version whose variants of operators are wanted; operators that it has not are left
        out. By default the newest variant of each.
    only
        Patterns of names (`npu_moe_*`), with or without overload; all if none are given.

    Raises
    ------
    EntryError, VersionError
        OPW-S002: a pattern that fits no operator; OPW-S003.
    """
    first = imported.declarations[0]
    operators = first.operators
    if torch is not None:
        wanted = minor(torch, where="torch")
        operators = tuple(
            operator
            for declaration in imported.declarations
            for operator in declaration.operators
            if operator.torch is None or select(operator.torch, [wanted], where="torch")
        )
    for pattern in only:
        if not any(is_match(operator.name, pattern) for operator in operators):
            raise EntryError(
                where=f"{first.place}, operators to read",
                got=repr(pattern),
                fix="give the name of an operator of the file, * stands for any part of it",
            )
    return dataclasses.replace(
        first,
        operators=tuple(
            operator
            for operator in operators
            if not only or any(is_match(operator.name, pattern) for pattern in only)
        ),
    )


def is_match(name: str, pattern: str) -> bool:
    """Whether a pattern fits a name, with or without its overload."""
    return fnmatchcase(name, pattern) or fnmatchcase(name.partition(".")[0], pattern)
