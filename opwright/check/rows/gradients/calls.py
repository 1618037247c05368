"""Calls under autograd whose gradients can be judged, and how a fault of theirs is reported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from opwright.check.observe.differentiated import (
    call_with_grad,
    cotangents,
    differentiable_inputs,
    differentiable_outputs,
    widen,
)
from opwright.check.observe.tensors import copy_arguments, move_to_device
from opwright.check.row_context import EagerCallError
from opwright.kit.live import dispatcher
from opwright.kit.live.errors import NotDifferentiableError

if TYPE_CHECKING:
    from collections.abc import Collection

    from opwright.check.finding import Finding, Kind
    from opwright.check.observe.differentiated import Call, Tensors
    from opwright.check.row_context import RowContext
    from opwright.check.subject import Subject
    from opwright.kit.declare.sample import Sample
    from opwright.kit.live.arguments import Values

__all__ = [
    "Fault",
    "UnjudgedError",
    "backward_place",
    "best_precision",
    "call_and_judge",
    "call_recorded",
    "finding_of",
    "has_autograd",
    "pass_on_refusal",
    "reference_values",
    "script",
]


NO_INPUT = "no argument is of a floating-point dtype"
NO_RESULT = "no result is of a floating-point dtype"


class UnjudgedError(Exception):
    """Nothing can be said of a sample; the text says why."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault in the gradient of one input."""

    kind: Kind
    place: str
    expected: str
    got: str


def call_recorded(
    context: RowContext, sample: Sample, values: Values, places: Collection[str]
) -> Call:
    """Call the operator under autograd."""
    context.calls += 1
    try:
        call = call_with_grad(context.subject, values, places)
        context.synchronize()
    except Exception as error:
        raise EagerCallError(sample, error) from error
    return call


def call_and_judge(
    context: RowContext, sample: Sample, values: Values, device: str
) -> tuple[Call, Tensors]:
    """Call the operator under autograd; return gradients for its results as well.

    Raises
    ------
    UnjudgedError
        There is nothing to differentiate by, or no result through which gradients flow.
    """
    subject = context.subject
    inputs = differentiable_inputs(subject, values)
    if not inputs:
        raise UnjudgedError(NO_INPUT)
    call = call_recorded(context, sample, move_to_device(values, device), inputs)
    outputs = differentiable_outputs(subject, call.results)
    if not outputs:
        raise UnjudgedError(NO_RESULT)
    return call, cotangents(call.results, outputs)


def best_precision(context: RowContext, sample: Sample) -> Values:
    """Return arguments in double where the operator takes them, else as in the sample."""
    values = context.arguments(sample, "cpu")
    wide = widen(values)
    try:
        if context.subject.rules is not None:
            context.subject.rules.check(wide)
        context.calls += 1
        context.subject.call({**wide, **copy_arguments(wide)})
    except Exception:  # noqa: BLE001 - it does not take double, and need not
        return values
    return wide


def has_autograd(subject: Subject) -> bool:
    """Return whether somebody said what autograd does for an operator of another library."""
    if not subject.is_foreign or subject.operator.backward is not None:
        return True
    keys = ("Autograd", "AutogradPrivateUse1", "AutogradCPU", "CompositeImplicitAutograd")
    return any(dispatcher.has_kernel(subject.overload, key) for key in keys)


def pass_on_refusal(subject: Subject, error: Exception) -> None:
    """Raise if an operator that declares no backward is made of one that has none.

    Raises
    ------
    UnjudgedError
        The error says so, as it should.
    """
    declared = subject.facts is not None and subject.facts.autograd is not None
    if not declared and isinstance(error, NotDifferentiableError):
        message = "it is made of operators without a backward, and the error says so"
        raise UnjudgedError(message) from error


def reference_values(subject: Subject, values: Values) -> Values:
    """Return arguments for the reference: in double, if it takes that."""
    wide = widen(values)
    try:
        with torch.no_grad():
            subject.expected(copy_arguments(wide))
    except Exception:  # noqa: BLE001 - user code
        return values
    return wide


def finding_of(
    context: RowContext, sample: Sample, fault: Fault, error: Exception | None = None
) -> Finding:
    """Make a finding of a fault."""
    return context.finding(
        fault.kind,
        expected=fault.expected,
        got=fault.got,
        sample=sample,
        place=backward_place(context.subject),
        error=error,
        script=script(context),
    )


def script(context: RowContext, *last: str) -> tuple[str, ...]:
    """Return lines that print gradients."""
    device = "cpu" if context.column == "reference" else "npu"
    return (
        f"values = arguments({device!r})",
        "tensors = {n: v for n, v in values.items() if torch.is_tensor(v)}",
        "leaves = {n: v.requires_grad_() for n, v in tensors.items() if v.is_floating_point()}",
        "result = operator(**values)",
        "result = result if torch.is_tensor(result) else result[0]",
        *(last or ("result.sum().backward()", "print({n: v.grad for n, v in leaves.items()})")),
    )


def backward_place(subject: Subject) -> str | None:
    """Return the line of the backward function, if the declaration has one."""
    code = getattr(getattr(subject.operator.backward, "function", None), "__code__", None)
    return None if code is None else f"{code.co_filename}:{code.co_firstlineno}"
