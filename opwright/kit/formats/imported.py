"""Declarations read from a file, and what could not be said in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opwright.kit.declare.operator import Declaration
    from opwright.kit.declare.place import Place

__all__ = ["Imported", "Note"]


@dataclass(frozen=True, slots=True, order=True)
class Note:
    """Something of the file that the declaration does not say, or says by a guess.

    Parameters
    ----------
    subject
        What it is about, so that many notes can be counted: "adapter written by hand".
    detail
        What the file has there.
    """

    place: Place
    operator: str
    subject: str
    detail: str = ""

    def __str__(self) -> str:
        detail = f": {self.detail}" if self.detail else ""
        return f"{self.place}, {self.operator}: {self.subject}{detail}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """Declarations read from one source.

    Parameters
    ----------
    kind
        What the source is, for people.
    declarations
        The first one has every operator, in its newest variant; where the file has several
        variants of one operator for different versions of torch, older ones follow in further
        declarations of the same namespace.
    """

    kind: str
    declarations: tuple[Declaration, ...]
    notes: tuple[Note, ...] = ()
