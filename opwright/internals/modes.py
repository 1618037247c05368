"""Modes, which see or change each operator of a thread; the default device is one."""
# ruff: noqa: SLF001 - that is what the package is for

from __future__ import annotations

import torch
from torch.utils._python_dispatch import TorchDispatchMode  # documented by this name

# A graph that a kernel of another graph runs is not to be traced into that.
from torch.utils._python_dispatch import _disable_current_modes as disable_current_modes

__all__ = [
    "TorchDispatchMode",
    "default_device",
    "disable_current_modes",
    "len_torch_dispatch_stack",
    "len_torch_function_stack",
]

# How many modes a thread is in: one that nobody left changes whatever it runs next.
len_torch_function_stack = torch._C._len_torch_function_stack
len_torch_dispatch_stack = torch._C._len_torch_dispatch_stack


# It is public. Some releases raise once a program has called set_default_device(None): they read a
# device of what is None then.
def default_device() -> torch.device:
    """Return where torch makes a tensor that names no device."""
    try:
        return torch.get_default_device()
    except AttributeError:
        return torch.device("cpu")
