"""Names without a public form that the modules of a package take from torch, and why: here alone.

Names are torch's, less the underscore in front. Where releases differ, this asks what there is,
not which release it is.
"""
# ruff: noqa: SLF001 - that is what the file is for

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch._C._functorch import is_functorch_wrapped_tensor
from torch._functorch.eager_transforms import enable_inplace_requires_grad
from torch._functorch.pyfunctorch import retrieve_current_functorch_interpreter
from torch._functorch.utils import enable_single_level_autograd_function
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor, FunctionalTensorMode
from torch.autograd import forward_ad
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "AutoDispatchBelowAutograd",
    "DispatchKey",
    "DispatchKeySet",
    "ExcludeDispatchKeyGuard",
    "FakeTensor",
    "FunctionalTensor",
    "FunctionalTensorMode",
    "SingleLevelFunction",
    "add_batch_dim",
    "after_ad_inplace_or_view_keyset",
    "after_autograd_keyset",
    "check_value",
    "current_level",
    "enable_inplace_requires_grad",
    "enable_single_level_autograd_function",
    "from_functional_tensor",
    "functionalize_commit_update",
    "functionalize_replace",
    "functionalize_sync",
    "is_functional_tensor",
    "is_functorch_wrapped_tensor",
    "is_traceable_wrapper_subclass",
    "jit_get_schemas_for_operator",
    "register_fake",
    "register_torch_dispatch_rule",
    "retrieve_current_functorch_interpreter",
    "saved_tensors_hooks_disable",
    "saved_tensors_hooks_enable",
    "saved_tensors_hooks_get_disabled_error_message",
    "set_fwd_grad_enabled",
    "sync",
    "to_functional_tensor",
    "unwrap_batched",
]

# The dispatcher: torch.library registers kernels by the names of keys; a kernel that goes on to the
# next one needs sets of them, and guards that skip one. torch.no_grad skips no kernel.
DispatchKey = torch._C.DispatchKey
DispatchKeySet = torch._C.DispatchKeySet
ExcludeDispatchKeyGuard = torch._C._ExcludeDispatchKeyGuard
AutoDispatchBelowAutograd = torch._C._AutoDispatchBelowAutograd
after_autograd_keyset = torch._C._after_autograd_keyset
after_ad_inplace_or_view_keyset = torch._C._after_ADInplaceOrView_keyset
# Which overloads of a name exist: torch.ops has those that somebody has called.
jit_get_schemas_for_operator = torch._C._jit_get_schemas_for_operator


# torch.library.register_fake and register_torch_dispatch keep what they register in libraries of
# their own, which stay.
def register_fake(library: Any, name: str, function: Callable[..., Any]) -> None:  # noqa: ANN401 - torch.library has no types
    """Register what runs for meta and fake tensors, as long as a library is there."""
    library._register_fake(name, function, _stacklevel=2)  # torch names the caller's line


def register_torch_dispatch_rule(
    library: Any,  # noqa: ANN401 - torch.library has no types
    name: str,
    mode: type,
    rule: Callable[..., Any],
) -> None:
    """Register what a mode does with an operator, as long as a library is there."""
    library._register_torch_dispatch_rule(name, mode, rule)


# Functionalization: torch.func.functionalize is the whole of it, a kernel needs its parts. A write:
# the value is replaced, the views of its base learn of it, and it takes theirs.
is_functional_tensor = torch._is_functional_tensor
to_functional_tensor = torch._to_functional_tensor
from_functional_tensor = torch._from_functional_tensor
functionalize_replace = torch._functionalize_replace
functionalize_commit_update = torch._functionalize_commit_update
functionalize_sync = torch._functionalize_sync
# It is in no stub.
functions: Any = torch
sync: Callable[[torch.Tensor], None] = functions._sync

# Forward mode: torch.autograd.forward_ad enters a level, and does not say whether there is one.
set_fwd_grad_enabled = forward_ad._set_fwd_grad_enabled


def current_level() -> int:
    """Return the level of forward mode; -1 outside."""
    level: int = forward_ad._current_level
    return level


# torch.func hides from a function that it transforms; a kernel has to know the transformation.
unwrap_batched = torch._C._functorch._unwrap_batched
add_batch_dim = torch._C._functorch._add_batch_dim

# Checks of sizes that may be symbols, documented by this name: they stay with a graph.
check_value: Callable[[Any, Callable[[], str]], None] = torch._check_value

# A node of autograd's graph whose apply records at the current transformation of torch.func alone;
# torch.autograd.Function's gives its turn to all of them.
SingleLevelFunction = torch.autograd.function._SingleLevelFunction

# torch.autograd.graph.disable_saved_tensors_hooks disables; nothing public enables again.
hooks: Any = torch._C._autograd
saved_tensors_hooks_disable: Callable[[str], None] = hooks._saved_tensors_hooks_disable
saved_tensors_hooks_enable: Callable[[], None] = hooks._saved_tensors_hooks_enable
saved_tensors_hooks_get_disabled_error_message: Callable[[], str | None] = (
    hooks._saved_tensors_hooks_get_disabled_error_message
)
