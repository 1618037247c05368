"""The NPU kernels: aclnn functions, called by the native half.

Where the native kernel cannot make the outputs, they are made in Python and it only writes; it then
belongs to an operator of its own, `_write_<name>`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from opwright.kit.derive.plan import native_facts, native_plan
from opwright.kit.live.arguments import Binder, map_tensors
from opwright.kit.live.user_kernels import is_twin, register_references

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from opwright.kit.derive.facts import OperatorFacts, SetFacts
    from opwright.kit.live.live_operator import LiveOperator
    from opwright.kit.live.registration import Registrations

__all__ = ["register_npu"]


def register_npu(
    facts: SetFacts, operators: Sequence[LiveOperator], registrations: Registrations
) -> None:
    """Register the NPU kernels of a set. torch_npu is imported.

    Raises
    ------
    DuplicateKernelError
        OPW-K021.
    """
    from opwright.kit.live import _aclnn  # noqa: PLC0415 - its libraries are those of torch_npu

    if is_twin():
        for handle in register_references(facts, _aclnn.has_function):
            registrations.keep(handle)
    for live in operators:
        if live.facts.call is None:
            continue
        native = native_facts(live.facts)
        if native is not live.facts:
            registrations.define(native.schema, (), where=live.where)
            registrations.implement(
                live.facts.name, make_writing_kernel(live, native), "PrivateUse1"
            )
        plan = native_plan(native)
        registrations.keep(_aclnn.implement(live.namespace, native.name, plan))


def make_writing_kernel(live: LiveOperator, inner: OperatorFacts) -> Callable[..., object]:
    """Return the kernel that allocates by the rules, and lets the native one write."""
    binder = Binder.of(inner.schema)
    outputs = live.new_outputs
    names = [a.name for a in inner.schema.arguments[len(live.facts.schema.arguments) :]]

    def kernel(*args: object, **kwargs: object) -> object:
        values = live.binder.bind(args, kwargs)
        live.rules.check(values)
        values |= {name: map_tensors(torch.clone, values[name]) for name in live.facts.clones}
        device = live.device(values)
        new = {output.name: live.rules.empty(output, values, device) for output in outputs}
        written = dict(zip(names, new.values(), strict=True))
        binder.call(live.other(inner.name), {**values, **written})
        return live.results(new, values)

    return kernel
