"""Refusals of references."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.errors import OpwrightError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ReferenceArgumentError", "require_one_of"]


class ReferenceArgumentError(OpwrightError):
    """An argument that the operator does not take."""

    id = "OPW-R001"
    title = "the operator does not take this argument"
    usual_fix = "compare the arguments with the operator's documentation"


def require_one_of(name: str, value: object, allowed: Iterable[object]) -> None:
    """Raise if a parameter has none of the allowed values."""
    known = list(allowed)
    if value not in known:
        raise ReferenceArgumentError(
            where=f"parameter '{name}'", got=repr(value), allowed=map(repr, known)
        )
