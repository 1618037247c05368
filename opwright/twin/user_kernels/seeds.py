"""The generator of a reference function, from the seed and the offset that a device kernel gets."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

__all__ = ["generator"]


def generator(seed: int, offset: int) -> torch.Generator:
    """Return a generator of the CPU that starts at a seed and an offset.

    A reference function draws from it what stands for the device kernel's numbers. The same pair
    gives the same numbers, another offset gives others. They are not those of an NPU.

    Parameters
    ----------
    seed, offset
        What the aclnn function gets: torch_npu draws them from a generator in each call.
    """
    import torch  # noqa: PLC0415 - the twin is imported before it

    digest = hashlib.sha256(f"{seed} {offset}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:7], "little"))
