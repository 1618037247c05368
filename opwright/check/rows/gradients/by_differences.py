"""Gradients beside differences of the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from opwright.check.observe.differentiated import (
    differentiable_inputs,
    dot,
    find_dependent,
    jittered,
    random_like,
    reference_slope,
)
from opwright.check.row_context import EagerCallError
from opwright.check.rows.gradients.at_zero import examine_zero
from opwright.check.rows.gradients.calls import (
    Fault,
    UnjudgedError,
    best_precision,
    call_and_judge,
    finding_of,
    has_autograd,
    pass_on_refusal,
    reference_values,
)
from opwright.check.rows.gradients.kinds import RAISES, SILENT, WRONG
from opwright.check.rows.gradients.precision import norm, of_terms, rounding, value_noise
from opwright.check.rows.gradients.second import examine_second

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.check.finding import Finding
    from opwright.check.observe.differentiated import Gradients, Tensors
    from opwright.check.row_context import RowContext
    from opwright.check.subject import Subject
    from opwright.kit.declare.sample import Sample
    from opwright.kit.live.arguments import Values

__all__ = ["confirm", "examine_reference"]

POINTS = 3


def examine_reference(context: RowContext, sample: Sample) -> Finding | None:
    """Compare the gradients of the CPU operator with differences of the reference."""
    values = best_precision(context, sample)
    return (
        confirm(context, sample, values, "cpu")
        or examine_zero(context, sample, values)
        or examine_second(context, sample, values)
    )


def confirm(context: RowContext, sample: Sample, values: Values, device: str) -> Finding | None:
    """Return a fault that shows at several points near by."""
    known: dict[tuple[str, str], list[Fault]] = {}
    tried = 0
    for point in range(POINTS):
        try:
            faults = list(check_directional(context, sample, jittered(values, point), device))
        except (UnjudgedError, EagerCallError):
            if not point:
                raise
            continue  # a point that is not allowed, or shows nothing
        tried += 1
        if not faults and not point:
            return None
        for fault in faults:
            known.setdefault((fault.kind.name, fault.place), []).append(fault)
    for faults in known.values():
        if len(faults) == tried and tried > 1:
            return finding_of(context, sample, faults[0])
    return None


def check_directional(
    context: RowContext, sample: Sample, values: Values, device: str
) -> Iterator[Fault]:
    """Yield what is wrong with gradients at one point, by differences of the reference.

    Raises
    ------
    UnjudgedError
        Nothing was compared.
    """
    subject = context.subject
    call, grads_of = call_and_judge(context, sample, values, device)
    try:
        grads = call.pull(grads_of)
        context.synchronize()
    except Exception as error:  # noqa: BLE001 - user code
        pass_on_refusal(subject, error)
        text = f"{type(error).__name__}: {error}"
        for place in call.leaves:
            yield Fault(RAISES, place, f"a gradient of {place!r}", text)
        return
    if not has_autograd(subject) and all(grad is None for grad in grads.values()):
        message = "the library registers no Autograd kernel for it: torch warns, without gradients"
        raise UnjudgedError(message)
    wide = reference_values(subject, values)
    yield from compare(subject, wide, call.results, grads_of, grads)


def compare(
    subject: Subject, values: Values, results: Tensors, grads_of: Tensors, grads: Gradients
) -> Iterator[Fault]:
    """Yield gradients that are not what differences of the reference say.

    Parameters
    ----------
    values
        Arguments of the reference.
    results, grads_of, grads
        What the operator computed, gradients of that, and the gradients that are judged.
    """
    judged = False
    on_cpu = {name: grad.cpu() for name, grad in grads_of.items()}
    inputs = differentiable_inputs(subject, values)
    changed = find_dependent(subject, values, inputs)
    for place, tensor in inputs.items():
        floor = rounding(results, grads_of, tensor, changed[place])
        grad = grads[place]
        noise = value_noise(results, grads_of, tensor, grad, changed[place])
        for what, direction in directions(tensor, place):
            want = reference_slope(subject, values, on_cpu, place, direction, noise)
            if want is None:
                continue
            judged = True
            got = 0.0 if grad is None else dot(grad, direction)
            terms = abs(want.value)
            if grad is not None:
                terms = max(terms, dot(grad.abs(), direction.abs()))
            slack = of_terms(torch.float32 if grad is None else grad.dtype) * terms
            slack += 10 * want.error + norm(floor * direction.abs()) + 1e-9
            if abs(got - want.value) <= slack:
                continue
            missing = grad is None or not bool(grad.any())
            shown = "None" if grad is None else "zero everywhere" if missing else f"{got:.6g}"
            factor = "" if missing or not want.value else f", {got / want.value:.4g} times as much"
            yield Fault(
                SILENT if missing else WRONG,
                place,
                f"{want.value:.6g}, the derivative of the reference by {place!r} {what}",
                f"{shown}{factor}",
            )
            break
    if not judged:
        message = "differences of the reference do not agree on a derivative"
        raise UnjudgedError(message)


def directions(tensor: torch.Tensor, place: str) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield directions to differentiate along."""
    yield "along a random direction", random_like(tensor, f"direction of {place}")
    for index in dict.fromkeys((0, tensor.numel() // 2, tensor.numel() - 1)):
        if 0 <= index < tensor.numel() > 1:
            one = torch.zeros(tensor.numel(), dtype=tensor.dtype)
            one[index] = 1
            yield f"at element {index}", one.reshape(tensor.shape)
