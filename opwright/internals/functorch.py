"""The transformations of torch.func: kernels of vmap and grad meet them from within."""
# ruff: noqa: SLF001 - that is what the package is for

from __future__ import annotations

from typing import Any

import torch

__all__ = [
    "get_single_level_autograd_function_allowed",
    "peek_interpreter_stack",
    "set_single_level_autograd_function_allowed",
]

core: Any = torch._C._functorch  # its stub lacks some of them

# The transformation that runs, whose lower() goes on with the next one; None outside of them all.
peek_interpreter_stack = core.peek_interpreter_stack
# Whether autograd may record at the one that runs alone.
get_single_level_autograd_function_allowed = core.get_single_level_autograd_function_allowed
set_single_level_autograd_function_allowed = core.set_single_level_autograd_function_allowed
