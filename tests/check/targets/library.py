"""A library that knows nothing of opwright: two operators in Python."""

from __future__ import annotations

import torch

LIBRARY = torch.library.Library("checked_library", "DEF")
LIBRARY.define("twofold(Tensor x) -> Tensor")
LIBRARY.define("halve(Tensor x, *, float by=2.0) -> Tensor")
LIBRARY.define("halve_into(Tensor x, Tensor(a!) out) -> ()")


def twofold(x: torch.Tensor) -> torch.Tensor:
    """Double."""
    return x * 2


def halve(x: torch.Tensor, *, by: float = 2.0) -> torch.Tensor:
    """Divide."""
    return x / by


for key in ("CPU", "PrivateUse1", "Meta"):
    LIBRARY.impl("twofold", twofold, key)
    LIBRARY.impl("halve", halve, key)
