"""Samples that a converter may treat apart: words, which it looks up, and arguments left out."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from opwright.kit.declare.schema import Base

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opwright.check.row_context import RowContext
    from opwright.kit.declare.sample import Sample

__all__ = ["find_choices"]

CHOOSING = {Base.SCALAR_TYPE, Base.STR, Base.BOOL}
MOST_SAMPLES = 6  # each compiles a graph
MOST_EXAMINED = 60  # drawing samples is cheap beside a graph


def find_choices(context: RowContext, taken: Iterable[Sample]) -> list[Sample]:
    """Return samples with a word that none of these has.

    A word is the value of an argument that chooses: a dtype, a str, a bool, None in place of a
    number. Tensors of half precision are left out: eager and compiled calls round them at other
    places.
    """
    known = {choice for each in taken for choice in list_choices(context, each)}
    found: list[Sample] = []
    for sample in islice(context.samples.of({"value", "presence"}, 0), MOST_EXAMINED):
        new = list_choices(context, sample) - known
        if new and len(found) < MOST_SAMPLES:
            known |= new
            found.append(sample)
    return found


def list_choices(context: RowContext, sample: Sample) -> set[tuple[str, object]]:
    """Return the words of a sample, by argument."""
    types = {each.name: each.type for each in context.subject.schema.arguments}
    return {
        (name, value)
        for name, value in sample.values
        if types[name].base in CHOOSING or (value is None and not types[name].is_tensor)
    }
