"""The live tier's questions to torch that have no public answer: a new version may change them."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from opwright.internals import functorch, library, modules
from opwright.internals.dispatcher import (
    ForceDispatchKeyGuard,
    dispatch_find_schema_or_throw,
    dispatch_get_all_op_names,
    dispatch_has_kernel_for_dispatch_key,
    dispatch_key_for_device,
    dispatch_tls_local_exclude_set,
    dispatch_tls_local_include_set,
    get_kernel,
    op_dk,
)
from opwright.internals.fake_tensors import FakeTensorMode
from opwright.kit.shipped import _internals as of_wheels
from opwright.kit.shipped._internals import DispatchKey, DispatchKeySet

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager

__all__ = [
    "SideEffect",
    "add_batch_axis",
    "below_autograd",
    "below_key",
    "call_at",
    "clear_caches",
    "forget",
    "forget_builtins",
    "from_functional",
    "has_fake",
    "has_kernel",
    "is_functional",
    "is_transformed",
    "keep_kernel",
    "key_of",
    "names_in",
    "namespace_exists",
    "one_transformation",
    "outer_interpreter",
    "overload",
    "packet",
    "replace_functional",
    "to_functional",
    "with_autograd",
    "without_batch_axis",
]


def overload(namespace: str, name: str) -> Any:  # noqa: ANN401 - torch.ops has no types
    """Return the OpOverload of an operator; `name` has the overload behind a dot."""
    packet, _, variant = name.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet), variant or "default")


def packet(namespace: str, name: str) -> Any:  # noqa: ANN401 - torch.ops has no types
    """Return the OpOverloadPacket of an operator: all its overloads."""
    return getattr(getattr(torch.ops, namespace), name)


def names_in(namespace: str) -> list[str]:
    """Return the operators of a namespace, with it; not what has kernels and no definition."""
    prefix = f"{namespace}::"
    names = dispatch_get_all_op_names()
    return [name for name in names if name.startswith(prefix) and is_defined(name)]


def is_defined(name: str) -> bool:
    """Return whether an operator has a schema; kernels alone may be registered as well."""
    base, _, variant = name.partition(".")
    try:
        dispatch_find_schema_or_throw(base, variant)
    except RuntimeError:
        return False
    return True


def has_kernel(operator: Any, key: str) -> bool:  # noqa: ANN401 - torch.ops has no types
    """Return whether an operator has a kernel of a dispatch key."""
    return dispatch_has_kernel_for_dispatch_key(operator.name(), key)


def has_fake(namespace: str, name: str) -> bool:
    """Return whether an operator has a kernel for fake tensors that torch.library registered."""
    entry = library.fake_entries.get(f"{namespace}::{name}")
    return entry is not None and entry.fake_impl.kernel is not None


def below_autograd() -> AbstractContextManager[None]:
    """Skip autograd in calls of operators."""
    return of_wheels.AutoDispatchBelowAutograd()


def with_autograd() -> AbstractContextManager[None]:
    """Let autograd record again in a kernel, where it is over."""
    keys = DispatchKey
    recorders = DispatchKeySet(keys.AutogradFunctionality)
    for key in (keys.AutogradOther, keys.AutogradNestedTensor, keys.ADInplaceOrView):
        recorders |= DispatchKeySet(key)
    return ForceDispatchKeyGuard(
        dispatch_tls_local_include_set(),
        dispatch_tls_local_exclude_set() - recorders,
    )


def below_key(name: str) -> AbstractContextManager[None]:
    """Skip one dispatch key in calls of operators."""
    key = getattr(DispatchKey, name)
    return of_wheels.ExcludeDispatchKeyGuard(DispatchKeySet(key))


def key_of(device: torch.device) -> str:
    """Return the dispatch key of a device's kernels."""
    key: str = dispatch_key_for_device(device.type)
    return key


def call_at(operator: Any, key: str, *args: object, **kwargs: object) -> Any:  # noqa: ANN401 - torch.ops has no types
    """Call the kernel of a dispatch key."""
    return op_dk(operator)(getattr(DispatchKey, key), *args, **kwargs)


# Functionalization: a tensor that stands for a value and what was written into it.


def is_functional(value: torch.Tensor) -> bool:
    """Return whether functionalization wrapped a tensor."""
    return of_wheels.is_functional_tensor(value)


def from_functional(value: torch.Tensor) -> torch.Tensor:
    """Return the value of a wrapped tensor, with all that was written."""
    of_wheels.functionalize_sync(value)
    return of_wheels.from_functional_tensor(value)


def to_functional(value: torch.Tensor) -> torch.Tensor:
    """Wrap a tensor."""
    return of_wheels.to_functional_tensor(value)


def replace_functional(wrapped: torch.Tensor, value: torch.Tensor) -> None:
    """Say that a tensor was overwritten with a value."""
    of_wheels.functionalize_replace(wrapped, value)
    of_wheels.functionalize_commit_update(wrapped)
    of_wheels.functionalize_sync(wrapped)


# torch.func's transformations: one interpreter for each, the innermost first.


def is_transformed() -> bool:
    """Return whether a transformation of torch.func runs."""
    return functorch.peek_interpreter_stack() is not None


@contextmanager
def one_transformation() -> Iterator[None]:
    """Let autograd record a call at the transformation that runs; the others have their turn."""
    before = functorch.get_single_level_autograd_function_allowed()
    functorch.set_single_level_autograd_function_allowed(True)
    try:
        yield
    finally:
        functorch.set_single_level_autograd_function_allowed(before)


def outer_interpreter() -> Any:  # noqa: ANN401 - functorch's own class
    """Return the innermost transformation, whose lower() continues with the next one."""
    return of_wheels.retrieve_current_functorch_interpreter()


def without_batch_axis(value: torch.Tensor, level: int) -> tuple[torch.Tensor, int | None]:
    """Return the tensor with its batch as an ordinary axis, and which one that is."""
    return of_wheels.unwrap_batched(value, level)


def add_batch_axis(value: torch.Tensor, axis: int, level: int) -> torch.Tensor:
    """Make an axis the batch."""
    return of_wheels.add_batch_dim(value, axis, level)


# The dispatcher calls a kernel through a pointer that it read without a lock. Each load
# so leaves its Python functions behind.
# A key of the dispatch table that has the kernel of an alias key.
RUNTIME_KEYS = {
    "CompositeExplicitAutograd": "CPU",
    "CompositeImplicitAutograd": "CPU",
}
kept_kernels: list[object] = []


def keep_kernel(namespace: str, name: str, key: str) -> None:
    """Keep a kernel for the rest of the process: another thread may be in it when it is removed.

    A torch that lets nobody hold a kernel frees it then: there no other thread may call it.
    """
    if get_kernel is not None:
        operator = f"{namespace}::{name}"
        kept_kernels.append(get_kernel(operator, RUNTIME_KEYS.get(key, key)))


# Graphs.


class SideEffect:
    """Keeps calls of an operator in graphs where nothing uses what it returns."""

    def __init__(self, operator: Any) -> None:  # noqa: ANN401 - torch.ops has no types
        self.operator = torch.fx.has_side_effect(operator)

    def remove(self) -> None:
        """Let compilers drop such calls again; a second call does nothing."""
        library.side_effectful_functions.discard(self.operator)


# torch's memory of operators beside the dispatcher.


def namespace_exists(namespace: str) -> bool:
    """Return whether torch.ops has an entry for a namespace, without making one."""
    return namespace in vars(torch.ops)


def forget(namespace: str, names: Iterable[str], *, remove_namespace: bool) -> None:
    """Remove what torch keeps of operators that are gone."""
    for name in names:
        whole = f"{namespace}::{name}"
        library.fake_entries.pop(whole, None)
        library.definitions.discard(whole)
        packet_name, _, variant = whole.partition(".")
        library.schema_signatures.pop((packet_name, variant), None)
    if remove_namespace and namespace_exists(namespace):
        delattr(torch.ops, namespace)


def forget_builtins(operators: Iterable[str]) -> None:
    """Let TorchScript take nothing else for operators of which no overload is left.

    It knows functions of torch.ops by id(), also when they are gone: the next object at the address
    of one, a list for example, would be taken for that operator.
    """
    names = {name.partition(".")[0] for name in operators}
    table = library.builtin_table()
    gone = [key for key, name in table.items() if name in names and not has_overloads(name)]
    for key in gone:
        del table[key]


def has_overloads(packet: str) -> bool:
    """Return whether operators of a name exist."""
    return bool(of_wheels.jit_get_schemas_for_operator(packet))


def clear_caches() -> None:
    """Make torch compute anew what depends on operators that changed."""
    FakeTensorMode.cache_clear()
    dynamo = sys.modules.get(modules.DYNAMO)
    if dynamo is not None:
        dynamo.reset()
