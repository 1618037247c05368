"""Second derivatives beside differences of the first ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from opwright.check.observe.differentiated import (
    cotangents,
    differentiable_inputs,
    differentiable_outputs,
    dot,
    is_differentiable,
    random_like,
)
from opwright.check.observe.slope import slope
from opwright.check.observe.tensors import replace_tensors
from opwright.check.rows.gradients.calls import backward_place, call_recorded, script
from opwright.check.rows.gradients.kinds import SECOND
from opwright.check.rows.gradients.precision import norm, of_terms, unit_roundoff

if TYPE_CHECKING:
    from opwright.check.finding import Finding
    from opwright.check.observe.differentiated import Call, Gradients
    from opwright.check.row_context import RowContext
    from opwright.kit.declare.sample import Sample
    from opwright.kit.live.arguments import Values

__all__ = ["examine_second"]


def examine_second(context: RowContext, sample: Sample, values: Values) -> Finding | None:
    """Compare second derivatives with differences of the first ones."""
    subject = context.subject
    inputs = differentiable_inputs(subject, values)
    if subject.schema.mutated:
        return None

    def first(given: Values, *, create: bool) -> tuple[Call, Gradients]:
        call = call_recorded(context, sample, given, inputs)
        outputs = differentiable_outputs(subject, call.results)
        return call, call.pull(cotangents(call.results, outputs), create=create)

    weights = {place: random_like(tensor, f"weight of {place}") for place, tensor in inputs.items()}

    def weighted(grads: Gradients) -> float:
        return sum(dot(weights[p], g) for p, g in grads.items() if g is not None)

    try:
        call, grads = first(values, create=True)
    except Exception:  # noqa: BLE001 - it says that there is no second derivative
        return None
    found = [(place, grad) for place, grad in grads.items() if grad is not None]
    heads = [(place, grad) for place, grad in found if grad.requires_grad]
    seconds: Gradients = dict.fromkeys(inputs)
    if heads:
        try:
            got = torch.autograd.grad(
                [grad for _, grad in heads],
                list(call.leaves.values()),
                [weights[place] for place, _ in heads],
                allow_unused=True,
            )
        except Exception:  # noqa: BLE001 - as above
            return None
        seconds = dict(zip(call.leaves, got, strict=True))
    numbers = filter(is_differentiable, (*inputs.values(), *call.results.values()))
    roundoff = max(map(unit_roundoff, numbers))
    for place, tensor in inputs.items():
        direction = random_like(tensor, f"second direction of {place}")

        def along(step: float, place: str = place, direction: torch.Tensor = direction) -> float:
            def moved(at: str, each: torch.Tensor) -> torch.Tensor:
                return each + step * direction if at == place else each

            return weighted(first(replace_tensors(values, list(values), moved), create=False)[1])

        want = slope(along)
        if want is None:
            continue
        second = seconds[place]
        value = 0.0 if second is None else dot(second, direction)
        terms = abs(want.value)
        if second is not None:
            terms = max(terms, dot(second.abs(), direction.abs()))
        slack = of_terms(tensor.dtype) * terms + 10 * want.error + 1e-7
        # Where gradients barely change, their last digit is all that differences see.
        size = math.hypot(*(norm(weights[p] * g) for p, g in found))
        slack += 8 * roundoff * size / want.step
        if abs(value - want.value) > slack:
            return context.finding(
                SECOND,
                expected=f"{want.value:.6g}, the derivative of the gradients by {place!r}, or an "
                "error that there is none",
                got="None" if second is None else f"{value:.6g}",
                sample=sample,
                place=backward_place(subject),
                script=script(
                    context,
                    "first = torch.autograd.grad(result.sum(), list(leaves.values()), "
                    "create_graph=True)",
                    "print([each.requires_grad for each in first])",
                ),
            )
    return None
