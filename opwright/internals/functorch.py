"""The transformations of torch.func: kernels of vmap and grad meet them from within."""
# ruff: noqa: SLF001 - that is what the package is for

from __future__ import annotations

from typing import Any

import torch
from torch._functorch.pyfunctorch import retrieve_current_functorch_interpreter

__all__ = [
    "add_batch_dim",
    "get_single_level_autograd_function_allowed",
    "peek_interpreter_stack",
    "retrieve_current_functorch_interpreter",
    "set_single_level_autograd_function_allowed",
    "unwrap_batched",
]

core: Any = torch._C._functorch  # its stub lacks some of them

# The transformation that runs, whose lower() goes on with the next one; None outside of them all.
peek_interpreter_stack = core.peek_interpreter_stack
# torch.vmap hides the batch of a tensor, and how that is taken off and put on.
unwrap_batched = torch._C._functorch._unwrap_batched
add_batch_dim = torch._C._functorch._add_batch_dim
# Whether autograd may record at the one that runs alone.
get_single_level_autograd_function_allowed = core.get_single_level_autograd_function_allowed
set_single_level_autograd_function_allowed = core.set_single_level_autograd_function_allowed
