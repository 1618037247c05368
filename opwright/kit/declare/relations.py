"""Relations that must hold between calls of an operator, as an author states them.

They say something of an operator that has no reference: what another order of its batch, half of
it, other padding or twice an argument must give. `opwright check` calls it and compares.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from opwright.kit.declare.errors import FieldError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Batch", "Linear", "MaskedPadding", "PaddingBehind", "Relation", "read_relations"]


@dataclass(frozen=True, slots=True)
class Batch:
    """The elements along an axis do not know of each other; `*name` is the first of several axes.

    Parameters
    ----------
    axis
        A name in patterns.
    """

    axis: str

    def __str__(self) -> str:
        return f"batch {self.axis}"


@dataclass(frozen=True, slots=True)
class Linear:
    """The results are linear in a tensor argument."""

    tensor: str

    def __str__(self) -> str:
        return f"linear in {self.tensor}"


@dataclass(frozen=True, slots=True)
class PaddingBehind:
    """The elements of a tensor along an axis, from a length on, do not matter.

    Parameters
    ----------
    axis
        A name in the tensor's pattern.
    lengths
        A tensor of whole numbers.
    """

    tensor: str
    axis: str
    lengths: str

    def __str__(self) -> str:
        return f"padding of {self.tensor} along {self.axis} behind {self.lengths}"


@dataclass(frozen=True, slots=True)
class MaskedPadding:
    """The elements of a tensor do not matter where a mask has a value."""

    tensor: str
    mask: str
    wanted: bool = True

    def __str__(self) -> str:
        return f"padding of {self.tensor} where {'' if self.wanted else 'not '}{self.mask}"


Relation: TypeAlias = Batch | Linear | PaddingBehind | MaskedPadding

BATCH = re.compile(r"batch (\*?\w+)")
LINEAR = re.compile(r"linear in (\w+)")
BEHIND = re.compile(r"padding of (\w+) along (\w+) behind (\w+)")
MASKED = re.compile(r"padding of (\w+) where (not )?(\w+)")
FORMS = (
    "batch B",
    "linear in x",
    "padding of x along S behind lengths",
    "padding of x where mask",
    "padding of x where not mask",
)


def read_relation(text: str, *, where: str) -> Relation:
    """Read one relation."""
    words = " ".join(str(text).split())  # a relation that an author got as data, too
    if match := BATCH.fullmatch(words):
        return Batch(match[1])
    if match := LINEAR.fullmatch(words):
        return Linear(match[1])
    if match := BEHIND.fullmatch(words):
        return PaddingBehind(match[1], match[2], match[3])
    if match := MASKED.fullmatch(words):
        return MaskedPadding(match[1], match[3], wanted=not match[2])
    raise FieldError(
        where=where, got=repr(text), allowed=FORMS, fix="write the relation in one of these forms"
    )


def read_relations(value: str | Sequence[str], *, where: str) -> tuple[Relation, ...]:
    """Read the field relations; a text alone is one relation.

    Raises
    ------
    FieldError
        OPW-D009.

    Examples
    --------
    >>> read_relations(["batch N", "linear in x"], where="")
    (Batch(axis='N'), Linear(tensor='x'))
    """
    texts = (value,) if isinstance(value, str) else value
    return tuple(read_relation(text, where=where) for text in texts)
