"""How far tensors may differ, as a share of the largest element: sums go in another order."""

from __future__ import annotations

__all__ = ["GRADIENT_ERROR", "RESULT_ERROR"]

RESULT_ERROR = 1e-4
GRADIENT_ERROR = 1e-3
