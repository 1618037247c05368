"""Tensors without data: torch.export and torch.compile have them, and no public name for them."""
# ruff: noqa: SLF001 - that is what the package is for

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import (
    FakeTensorMode,  # kernels are traced in it; its cache has to forget an operator that is gone
    UnsupportedOperatorException,  # raised by a call of an operator that has no Meta function
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "FakeTensorMode",
    "UnsupportedOperatorException",
    "check",
]

# A check of sizes that may be symbols, documented by this name: it stays with a graph.
check: Callable[[Any], None] = torch._check
