"""Registrations in Python: torch.library undoes none, and forgets nothing."""
# ruff: noqa: SLF001, ANN401 - that is what the package is for; torch.library has no types

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import torch
from torch._library import custom_ops
from torch._library.simple_registry import singleton as fake_registry
from torch._library.utils import can_generate_trivial_fake_impl  # who needs no Meta function
from torch.fx import node, operator_schemas

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "builtin_table",
    "can_generate_trivial_fake_impl",
    "definitions",
    "destroy",
    "fake_entries",
    "impl",
    "lacks_backward",
    "op_defs",
    "register_fake_over",
    "schema_signatures",
    "side_effectful_functions",
    "tag",
]

# torch's notes beside the dispatcher about operators that are gone: Meta functions by name,
fake_entries: dict[str, Any] = fake_registry._data
# names of torch.library.define,
definitions: set[str] = torch.library._defs
# torch.fx.has_side_effect,
side_effectful_functions: set[Any] = node._side_effectful_functions
# signatures by which torch.fx binds arguments,
schema_signatures: dict[tuple[str, str], Any] = operator_schemas._SCHEMA_TO_SIGNATURE_CACHE


# and TorchScript's table, which is made at the first use.
def builtin_table() -> dict[int, str]:
    """Return what TorchScript knows functions of torch.ops by: id() -> operator."""
    return torch.jit._builtins._builtin_table or {}


# Releases differ in their tags. One that torch lacks means nothing to it.
def tag(name: str) -> torch.Tag | None:
    """Return the tag of a name, if torch has it."""
    found: torch.Tag | None = getattr(torch.Tag, name, None)
    return found


# An operator of torch.library.custom_op has an Autograd kernel, whether it has a backward or not.
def lacks_backward(name: str) -> bool:
    """Return whether torch.library.custom_op defined `my_ns::f`, and no backward is registered."""
    defined = custom_ops.OPDEFS.get(name)
    return defined is not None and defined._backward_fn is None


# A Library ends with the last reference to it: somebody else's is one as well.
def destroy(library: Any) -> None:
    """Undo what was registered with a Library."""
    library._destroy()
    # The finalizer of the object must not touch operators of the same names later.
    library._op_defs.clear()
    library._op_impls.clear()


def op_defs(library: Any) -> tuple[str, ...]:
    """Return the operators that a Library defined."""
    return tuple(library._op_defs)


def takes(method: Callable[..., object], parameter: str) -> bool:
    """Return whether a function has a parameter."""
    return parameter in inspect.signature(method).parameters


# Library.impl has a parameter for a kernel that replaces another one. Where it lacks the parameter,
# it refuses a kernel for a key that it has noted, and so the note is removed.
IMPL_TAKES_OVERRIDE = takes(torch.library.Library.impl, "allow_override")


def impl(
    library: Any, name: str, function: Callable[..., object], key: str, *, allow_override: bool
) -> None:
    """Register a kernel, over another one if that is allowed."""
    if IMPL_TAKES_OVERRIDE:
        library.impl(name, function, key, allow_override=allow_override)
        return
    if allow_override:
        torch.library._impls.discard(f"{library.ns}/{name}/{key}")
    library.impl(name, function, key)


# torch.library.register_fake wants an operator with a namespace of a global registry, and keeps the
# registration in a Library of its own. Overriding is a parameter where torch has one, and in some
# releases its default.
FAKE_TAKES_OVERRIDE = takes(torch.library.Library._register_fake, "allow_override")


def register_fake_over(library: Any, name: str, function: Callable[..., object]) -> None:
    """Register what runs for meta and fake tensors, over what is registered.

    torch names the line of the caller: the second frame.
    """
    if FAKE_TAKES_OVERRIDE:
        library._register_fake(name, function, _stacklevel=2, allow_override=True)
        return
    entry = fake_registry.find(f"{library.ns}::{name}")
    held: Any = entry.fake_impl
    if held.kernel is not None:
        # There is room for one. The one before is destroyed; its owner will find it gone.
        held.lib._destroy()
        held.lib, held.kernel = None, None
        entry.fake_impl = type(held)(held.qualname)
    library._register_fake(name, function, _stacklevel=2)
