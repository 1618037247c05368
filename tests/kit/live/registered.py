"""All that a registration of operators changes in a process."""

from __future__ import annotations

import sys
from typing import Any

import opwright.twin  # noqa: F401  # before torch, which loads torch_npu

# isort: split
import torch
from torch._library.simple_registry import singleton

from opwright.twin.user_kernels.registry import registry

__all__ = ["state"]


def state() -> dict[str, Any]:
    """Return what a registration changes."""
    names = torch._C._dispatch_get_all_op_names()  # noqa: SLF001 - what the test is about
    builtins = torch.jit._builtins._builtin_table or {}  # noqa: SLF001
    return {
        "operators": sorted(names),
        "dispatcher": {n: torch._C._dispatch_dump(n) for n in names if "opwright_" in n},  # noqa: SLF001
        "torch.ops": sorted(vars(torch.ops)),
        "fake": sorted(name for name in singleton._data if "opwright_" in name),  # noqa: SLF001
        "kernels": sorted(torch.library._impls),  # noqa: SLF001
        "schemas": sorted(torch.library._defs),  # noqa: SLF001
        "scripting": sorted(name for name in builtins.values() if "opwright_" in name),
        "references": dict(registry.entries),
        "finders": list(sys.meta_path),
    }
