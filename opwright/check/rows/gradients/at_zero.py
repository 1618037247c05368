"""Gradients where an argument is zero: formulas that divide by it, or take its logarithm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from opwright.check.observe.differentiated import differentiable_inputs, reference_slope
from opwright.check.observe.tensors import copy_arguments
from opwright.check.row_context import EagerCallError
from opwright.check.rows.gradients.calls import (
    Fault,
    UnjudgedError,
    call_and_judge,
    finding_of,
    reference_values,
)
from opwright.check.rows.gradients.kinds import WRONG

if TYPE_CHECKING:
    from opwright.check.finding import Finding
    from opwright.check.observe.differentiated import Tensors
    from opwright.check.row_context import RowContext
    from opwright.check.subject import Subject
    from opwright.kit.declare.sample import Sample
    from opwright.kit.live.arguments import Values

__all__ = ["examine_zero"]


# Where the slopes of the reference beside a zero are compared, and how far they may be apart.
BESIDE = (-1e-2, -1e-3, 1e-3, 1e-2)
APART = 0.05


def examine_zero(context: RowContext, sample: Sample, values: Values) -> Finding | None:
    """Report a gradient that a zero alone breaks, and where the reference has a derivative.

    It is not a number there, or the backward raises.

    Parameters
    ----------
    values
        Arguments on the CPU; they are not changed.
    """
    for place in differentiable_inputs(context.subject, values):
        try:
            fault = judge(context, sample, values, place)
        except (UnjudgedError, EagerCallError):
            continue  # a zero may not be allowed there
        if fault is not None:
            return finding_of(context, sample, fault)
    return None


def judge(context: RowContext, sample: Sample, values: Values, place: str) -> Fault | None:
    """Compare the gradient at a zero with slopes beside it."""
    subject = context.subject
    zeroed = put(subject, values, place, 0.0)
    if zeroed is None:
        return None
    call, grads_of = call_and_judge(context, sample, zeroed, "cpu")
    if not all(bool(torch.isfinite(each).all()) for each in call.results.values()):
        return None
    try:
        grad = call.pull(grads_of)[place]
    except Exception as error:  # noqa: BLE001 - the backward is a user's
        got = f"the backward raises {type(error).__name__}: {error}"
    else:
        if grad is None or not bool(torch.isnan(grad.reshape(-1)[0])):
            return None
        got = "nan"
    slope = slope_at_zero(subject, zeroed, place, grads_of)
    if slope is None:
        return None
    return Fault(
        WRONG,
        place,
        f"{slope:.3g}, the derivative of the reference by {place!r} where its first element is 0",
        got,
    )


def put(subject: Subject, values: Values, place: str, number: float) -> Values | None:
    """Return arguments with a number first in one tensor; None if the rules refuse them."""
    changed = copy_arguments(values)
    tensor = differentiable_inputs(subject, changed)[place]
    if not tensor.numel():
        return None
    with torch.no_grad():
        tensor[(0,) * tensor.ndim] = number
    try:
        if subject.rules is not None:
            subject.rules.check(changed)
    except (ValueError, TypeError, RuntimeError):
        return None
    return changed


def slope_at_zero(subject: Subject, zeroed: Values, place: str, grads_of: Tensors) -> float | None:
    """Return the derivative of the reference at a zero; None if slopes beside it do not agree.

    At the zero itself differences of an even function are 0, as are those of one with steps.
    """
    wide = reference_values(subject, zeroed)
    tensor = differentiable_inputs(subject, wide)[place]
    direction = torch.zeros(tensor.numel(), dtype=tensor.dtype)
    direction[:1] = 1
    on_cpu = {name: each.cpu() for name, each in grads_of.items()}
    slopes = []
    for number in BESIDE:
        beside = put(subject, wide, place, number)
        if beside is None:
            return None
        found = reference_slope(subject, beside, on_cpu, place, direction.reshape(tensor.shape))
        if found is None:
            return None
        slopes.append(found.value)
    middle = sum(slopes) / len(slopes)
    is_known = all(abs(each - middle) <= APART * (1 + abs(middle)) for each in slopes)
    return middle if is_known else None
