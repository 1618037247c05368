"""The derivative of a function of one number, by differences, with how far it can be trusted."""

from __future__ import annotations

import itertools
import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Slope", "slope"]

# Large ones for functions that compute in single precision, small ones for those that bend.
STEPS = (3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5)

# Where steps of a function that is flat near by show.
FAR = (-2.0, -0.5, -0.1, 0.1, 0.5, 2.0)


@dataclass(frozen=True, slots=True)
class Slope:
    """A derivative; it is known up to `error`, the noise of the function's values included."""

    value: float
    error: float
    step: float


def slope(function: Callable[[float], float], noise: float = 0.0) -> Slope | None:
    """Return the derivative of a function at 0; None if differences do not agree on one.

    Parameters
    ----------
    noise
        How far values of the function may be off: it counts `1 / step` times.

    Notes
    -----
    A function that is flat near by and not further away may have steps: nothing is said of it.

    Central differences with smaller and smaller steps are compared; the two neighbours that agree
    best are taken, the noise counted. Two that are exactly 0 say nothing while others are not: so
    does a function with steps, and one that loses small changes.

    Examples
    --------
    >>> found = slope(lambda x: math.sin(3 * x))
    >>> abs(found.value - 3) < 1e-6
    True
    >>> slope(lambda x: round(x * 4) / 4) is None
    True
    """
    found = []
    for step in STEPS:
        value = (function(step) - function(-step)) / (2 * step)
        if not math.isfinite(value):
            return None
        found.append(value)
    if not any(found):
        middle = function(0.0)
        far = [function(step) for step in FAR]
        return None if any(value != middle for value in far) else Slope(0.0, 0.0, STEPS[0])
    pairs = [
        Slope(fine, abs(coarse - fine) + noise / step, step)
        for (coarse, fine), step in zip(itertools.pairwise(found), STEPS[1:], strict=True)
        if coarse or fine
    ]
    best = min(pairs, key=lambda pair: pair.error, default=None)
    if best is None or best.error > 0.05 * statistics.median(map(abs, found)):
        return None
    return best
