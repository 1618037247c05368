"""The outputs whose values a call leaves open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opwright.kit.expressions.decide import holds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from opwright.kit.derive.facts import Output

__all__ = ["unspecified_outputs"]


def unspecified_outputs(outputs: Iterable[Output], values: Mapping[str, Any]) -> frozenset[str]:
    """Return the outputs whose values a call leaves open.

    Parameters
    ----------
    values
        All arguments by name; anything with `shape` stands for a tensor.
    """
    return frozenset(
        output.name
        for output in outputs
        if output.unspecified and all(holds(check, values) for check in output.unspecified)
    )
