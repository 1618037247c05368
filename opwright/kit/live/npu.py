"""The NPU kernels: aclnn functions, called by the native half.

Where a rule is a Python function, or a result is a list or may be None, outputs are made in Python
and the native kernel only writes; it then belongs to an operator of its own, `_write_<name>`.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import torch

from opwright.kit.declare.schema import Alias, Argument, Schema
from opwright.kit.derive.facts import DtypeOfTensor, FromArgument, FromOutput
from opwright.kit.derive.plan import is_native, native_plan
from opwright.kit.live.arguments import Binder, map_tensors
from opwright.kit.live.fake import device_of
from opwright.kit.live.twin import is_twin, register_references

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from opwright.kit.derive.facts import OperatorFacts, SetFacts, Source
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
        if is_native(live.facts) and returns_tensors(live.facts):
            plan = native_plan(live.facts)
            registrations.keep(_aclnn.implement(live.namespace, live.facts.name, plan))
            continue
        inner = writing_facts(live.facts)
        registrations.define(inner.schema, (), where=live.where)
        plan = native_plan(inner)
        registrations.keep(_aclnn.implement(live.namespace, inner.name, plan))
        registrations.implement(live.facts.name, writing_kernel(live, inner), "PrivateUse1")


def returns_tensors(facts: OperatorFacts) -> bool:
    """Return whether no result is a list or may be None: the native kernel returns neither."""
    return not any(
        output.type.is_list or output.type.optional
        for output in facts.outputs
        if output.result is not None
    )


def writing_facts(facts: OperatorFacts) -> OperatorFacts:
    """Return an operator without results: it writes into outputs that the caller allocates."""
    assert facts.call is not None
    taken = {argument.name for argument in facts.schema.arguments}
    names = {o.name: unique(f"result_{o.name}", taken) for o in facts.outputs if o.is_new}
    written = [
        Argument(
            name=names[output.name],
            type=output.type,
            alias=Alias(name=f"result{index}", is_write=True),
            keyword_only=True,
        )
        for index, output in enumerate(facts.outputs)
        if output.is_new
    ]
    schema = Schema(
        name=f"_write_{facts.schema.name}",
        overload=facts.schema.overload,
        arguments=(*facts.schema.arguments, *written),
        results=(),
    )
    parameters = tuple(
        dataclasses.replace(parameter, source=renamed(parameter.source, names))
        for parameter in facts.call.parameters
    )
    return dataclasses.replace(
        facts,
        schema=schema,
        outputs=(),
        checks=(),
        dtypes={},
        call=dataclasses.replace(facts.call, parameters=parameters),
        clones=(),
    )


def unique(name: str, taken: set[str]) -> str:
    """Return a name that no argument has."""
    return name if name not in taken else unique(f"{name}_", taken)


def renamed(source: Source, names: Mapping[str, str]) -> Source:
    """Return the source of a parameter where outputs are arguments."""
    match source:
        case FromOutput(name):
            return FromArgument(names[name])
        case DtypeOfTensor(name) if name in names:
            return DtypeOfTensor(names[name])
        case _:
            return source


def writing_kernel(live: LiveOperator, inner: OperatorFacts) -> Callable[..., object]:
    """Return the kernel that allocates by the rules, and lets the native one write."""
    binder = Binder.of(inner.schema)
    outputs = live.new_outputs
    names = [a.name for a in inner.schema.arguments[len(live.facts.schema.arguments) :]]

    def kernel(*args: object, **kwargs: object) -> object:
        values = live.binder.bind(args, kwargs)
        live.rules.check(values)
        values |= {name: map_tensors(torch.clone, values[name]) for name in live.facts.clones}
        device = device_of(live, values)
        new = {output.name: live.rules.empty(output, values, device) for output in outputs}
        written = dict(zip(names, new.values(), strict=True))
        binder.call(live.other(inner.name), {**values, **written})
        return live.results(new, values)

    return kernel
