"""Checks of modules."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from torch.nn.modules.lazy import LazyModuleMixin

from tests.conformance.cases import DTYPES, modules
from tests.conformance.checks.execution import (
    CPU,
    HALVES,
    Arguments,
    gradients,
    has_gradient,
    is_determined,
)
from tests.conformance.comparison import expect_close

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch

    from tests.conformance.case import Case


def forward(case: Case, device: torch.device) -> int:
    """A module with the same parameters gives the same results."""
    count = 0
    for module, arguments in samples_of(case, requires_grad=False):
        values = is_determined(module, arguments)
        expected = arguments.on(CPU).call(copy.deepcopy(module))
        wide = widened(module, arguments)
        actual = arguments.on(device).call(copy.deepcopy(module).to(device))
        alternative = wide[1] if wide else None
        expect_close(actual, expected, alternative, device=device, values=values)
        count += 1
    return count


def backward(case: Case, device: torch.device) -> int:
    """A module's parameters and inputs get the same gradients."""
    count = 0
    for module, arguments in samples_of(case, requires_grad=True):
        if not is_determined(module, arguments):
            continue
        expected = gradients_of(copy.deepcopy(module), arguments.on(CPU))
        if not has_gradient(expected):
            continue
        wide = widened(module, arguments)
        actual = gradients_of(copy.deepcopy(module).to(device), arguments.on(device))
        alternative = gradients_of(wide[0], arguments.on(CPU, wide=True)) if wide else None
        expect_close(actual, expected, alternative, device=device)
        count += 1
    return count


def widened(module: torch.nn.Module, arguments: Arguments) -> tuple[torch.nn.Module, object] | None:
    """Return a module of 16 bits in float32 and its result, None for another module."""
    if not any(leaf.dtype in HALVES for leaf in (*module.parameters(), *arguments.tensors())):
        return None
    wide = copy.deepcopy(module).float()
    return wide, arguments.on(CPU, wide=True).call(copy.deepcopy(wide))


def gradients_of(module: torch.nn.Module, arguments: Arguments) -> list[torch.Tensor | None]:
    """Return the gradients of inputs and parameters."""
    return gradients(arguments.call(module), [*arguments.tensors(), *module.parameters()])


def samples_of(case: Case, *, requires_grad: bool) -> Iterator[tuple[torch.nn.Module, Arguments]]:
    """Yield modules on the CPU, and what they are called with."""
    info, dtype = modules()[case.entry], DTYPES[case.dtype]
    for training in (False, True) if info.train_and_eval_differ else (False,):
        for sample in info.module_inputs_func(
            info, device="cpu", dtype=dtype, requires_grad=requires_grad, training=training
        ):
            make, call = sample.constructor_input, sample.forward_input
            if call is None:
                continue
            module = info.module_cls(*make.args, **make.kwargs).to(dtype).train(training)
            arguments = Arguments(tuple(call.args), dict(call.kwargs))
            if is_lazy(module):
                arguments.on(CPU).call(module)  # gives it its parameters
            yield module, arguments


def is_lazy(module: torch.nn.Module) -> bool:
    """Return whether the first call gives the module its parameters."""
    return isinstance(module, LazyModuleMixin)
