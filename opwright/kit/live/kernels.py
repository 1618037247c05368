"""The kernels of an operator by dispatch key, but for those of autograd and of the NPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.kit.live.autocast import AUTOCAST_KEYS, autocast_kernel
from opwright.kit.live.batching import batching_kernel
from opwright.kit.live.composite import composite_kernel, make_opaque_kernels
from opwright.kit.live.factory import factory_kernel, needs_factory
from opwright.kit.live.fake import fake_kernel
from opwright.kit.live.functional import functionalize_kernel
from opwright.kit.live.reference import cpu_kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from opwright.kit.live.live_operator import LiveOperator

__all__ = ["kernels"]


def kernels(live: LiveOperator) -> Iterator[tuple[str, Callable[..., object]]]:
    """Yield dispatch keys and their kernels; that of Meta runs for fake tensors as well."""
    facts = live.facts
    is_declared = facts.role == "declared"
    if live.is_opaque:
        data, shapes = make_opaque_kernels(live)
        yield "CompositeExplicitAutograd", data
        yield "Meta", shapes
    elif live.is_composite:
        yield "CompositeImplicitAutograd", composite_kernel(live)
    else:
        reference = cpu_kernel(live)
        if reference is not None:
            yield "CPU", reference
        yield "Meta", fake_kernel(live)
        if needs_factory(live):
            yield "BackendSelect", factory_kernel(live)
    # Autograd, which a vjp uses, does not see through a batch.
    is_vjp = facts.python is not None and facts.python.kind == "vjp"
    has_rule = is_declared and callable(facts.operator.vmap)
    if is_vjp or has_rule or not live.is_composite:
        yield "FuncTorchBatched", batching_kernel(live)
    else:
        # vmap goes through its operations. Not FuncTorchBatchedDecomposition: some releases of
        # torch accept a kernel for that key after the definition, and never call it.
        yield "FuncTorchBatched", composite_kernel(live)
    if facts.functional_twin is not None:
        yield "Functionalize", functionalize_kernel(live, facts.functional_twin)
    rule = facts.operator.autocast
    if rule is not None and (is_declared or not live.is_composite):
        for key in AUTOCAST_KEYS:
            yield key, autocast_kernel(live, rule, key)
