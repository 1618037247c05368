"""Functionalization: torch.func.functionalize is the whole of it, a kernel needs its parts."""
# ruff: noqa: SLF001 - that is what the package is for

from __future__ import annotations

import torch

__all__ = [
    "from_functional_tensor",
    "functionalize_commit_update",
    "functionalize_replace",
    "functionalize_sync",
    "is_functional_tensor",
    "to_functional_tensor",
]

is_functional_tensor = torch._is_functional_tensor
to_functional_tensor = torch._to_functional_tensor
from_functional_tensor = torch._from_functional_tensor
# A write: the value is replaced, the views of its base learn of it, and it takes theirs.
functionalize_replace = torch._functionalize_replace
functionalize_commit_update = torch._functionalize_commit_update
functionalize_sync = torch._functionalize_sync
