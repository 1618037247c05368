"""Samples -> the arguments of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.live.arguments import map_tensors
from opwright.live.proof import sample_arguments

if TYPE_CHECKING:
    from opwright.declare.operator import Operator
    from opwright.declare.sample import Sample
    from opwright.live.arguments import Values

__all__ = ["arguments"]


def arguments(operator: Operator, sample: Sample, device: str) -> Values:
    """Return fresh arguments by name, of the same values on all devices."""
    values = sample_arguments(operator, sample)
    return {
        name: map_tensors(lambda each: each.to(device), value) for name, value in values.items()
    }
