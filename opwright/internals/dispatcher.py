"""The dispatcher: torch.library registers kernels, and returns nothing about them."""
# ruff: noqa: SLF001 - that is what the package is for

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import torch
from torch._ops import OpOverload

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "ForceDispatchKeyGuard",
    "OpOverload",
    "dispatch_dump",
    "dispatch_find_dangling_impls",
    "dispatch_find_schema_or_throw",
    "dispatch_get_all_op_names",
    "dispatch_has_kernel_for_dispatch_key",
    "dispatch_key_for_device",
    "dispatch_tls_local_exclude_set",
    "dispatch_tls_local_include_set",
    "get_kernel",
    "op_dk",
]

# The public guards (torch.no_grad, torch.inference_mode) bring back no kernel of autograd.
ForceDispatchKeyGuard = torch._C._ForceDispatchKeyGuard
dispatch_tls_local_include_set = torch._C._dispatch_tls_local_include_set
dispatch_tls_local_exclude_set = torch._C._dispatch_tls_local_exclude_set

# All that is registered; torch.ops has only the operators that somebody has called already.
dispatch_dump = torch._C._dispatch_dump
dispatch_find_dangling_impls = torch._C._dispatch_find_dangling_impls
dispatch_find_schema_or_throw = torch._C._dispatch_find_schema_or_throw
dispatch_get_all_op_names = torch._C._dispatch_get_all_op_names
dispatch_has_kernel_for_dispatch_key = torch._C._dispatch_has_kernel_for_dispatch_key
dispatch_key_for_device = torch._C._dispatch_key_for_device

# It is public; where torch lacks it, nothing in Python holds a kernel.
get_kernel: Callable[[str, str], object] | None = getattr(torch.library, "get_kernel", None)

# An operator calls the kernel that its arguments ask for; this one, that of a key.
op_dk: Callable[[Any], Callable[..., Any]] = attrgetter("_op_dk")
