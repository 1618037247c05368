"""The seeds of a process's generators of random numbers."""

from __future__ import annotations

import random
import sys

import torch

__all__ = ["seed_generators"]

OF_NUMPY = 1 << 32  # numpy takes seeds below that


def seed_generators(seed: int) -> None:
    """Give a seed to the generators of Python, torch and, if it is imported, numpy."""
    random.seed(seed)
    torch.manual_seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % OF_NUMPY)
