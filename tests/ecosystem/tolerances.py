"""How far tensors may differ, as a share of the largest element: sums go in another order."""

from __future__ import annotations

__all__ = ["GRADIENT_ERROR", "GRADIENT_FLOOR", "HALF_LOSS_ERROR", "LOSS_ERROR", "RESULT_ERROR"]

RESULT_ERROR = 1e-4
GRADIENT_ERROR = 1e-3
GRADIENT_FLOOR = 1e-2  # of the largest gradient: the least that another one is measured by
LOSS_ERROR = 2e-4  # of a loss itself: six steps multiply differences of sums
HALF_LOSS_ERROR = 3e-2  # bfloat16 keeps 8 bits
