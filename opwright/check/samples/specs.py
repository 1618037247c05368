"""The tensors that a sample describes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from opwright.kit.declare.sample import TensorSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.kit.declare.sample import Sample, Value

__all__ = ["element_count", "specs_in", "specs_of"]


def specs_in(value: Value) -> Iterator[TensorSpec]:
    """Yield the tensors of a value."""
    for each in value if isinstance(value, tuple) else (value,):
        if isinstance(each, TensorSpec):
            yield each


def specs_of(sample: Sample) -> Iterator[TensorSpec]:
    """Yield the tensors of a sample."""
    for _, value in sample.values:
        yield from specs_in(value)


def element_count(sample: Sample) -> int:
    """Return how many elements the tensors of a sample have."""
    return sum(math.prod(spec.shape) for spec in specs_of(sample))
