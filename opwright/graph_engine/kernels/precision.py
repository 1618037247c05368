"""How fused operators treat half precision: they compute in float32 and round once."""

from __future__ import annotations

import torch

__all__ = ["widen"]


def widen(x: torch.Tensor) -> torch.Tensor:
    """Return `x` in the precision that it is computed in."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
