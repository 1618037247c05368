"""Gradients on the device beside those on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.check.observe.differentiated import differentiable_inputs, find_dependent
from opwright.check.observe.tensors import move_to_device
from opwright.check.row_context import EagerCallError
from opwright.check.rows.gradients.by_differences import confirm
from opwright.check.rows.gradients.calls import (
    Fault,
    best_precision,
    call_and_judge,
    call_recorded,
    finding_of,
    has_autograd,
    pass_on_refusal,
)
from opwright.check.rows.gradients.kinds import DEVICE, RAISES, SILENT
from opwright.check.rows.gradients.precision import describe_gap, rounding
from opwright.check.rows.gradients.relations import examine_leaf, relations

if TYPE_CHECKING:
    from opwright.check.finding import Finding
    from opwright.check.observe.differentiated import Gradients, Tensors
    from opwright.check.row_context import RowContext
    from opwright.kit.declare.sample import Sample
    from opwright.kit.live.arguments import Values

__all__ = ["examine_device"]

RELATED = 5  # samples of which gradients are compared with each other


def examine_device(context: RowContext, sample: Sample) -> Finding | None:
    """Compare gradients on the device with those on the CPU, and with each other."""
    subject = context.subject
    values = context.arguments(sample, "cpu")
    if subject.is_foreign:
        found = None
        if has_autograd(subject):
            given = move_to_device(values, context.device)
            found = examine_leaf(
                context, sample, given, list(differentiable_inputs(subject, given))
            )
        found = found or confirm(context, sample, values, context.device)
    else:
        found = examine_against_cpu(context, sample, values)
    if found is not None or len(context.ran) > RELATED:
        return found
    given = move_to_device(values, context.device)
    places = list(differentiable_inputs(subject, given))
    try:
        return next(filter(None, relations(context, sample, given, places)), None)
    except EagerCallError:
        raise
    except Exception as error:  # noqa: BLE001 - user code
        fault = Fault(RAISES, "", "gradients", f"{type(error).__name__}: {error}")
        return finding_of(context, sample, fault, error)


def examine_against_cpu(context: RowContext, sample: Sample, values: Values) -> Finding | None:
    """Compare the gradients on the device with those of the CPU operator."""
    subject = context.subject
    call, grads_of = call_and_judge(context, sample, values, context.device)
    try:
        same = cpu_gradients(context, sample, values, grads_of)
        wide = best_precision(context, sample)
        exact = cpu_gradients(context, sample, wide, grads_of)
        grads = call.pull(grads_of)
        context.synchronize()
    except Exception as error:  # noqa: BLE001 - user code
        pass_on_refusal(subject, error)
        fault = Fault(RAISES, "", "gradients", f"{type(error).__name__}: {error}")
        return finding_of(context, sample, fault, error)
    changed = find_dependent(subject, wide, call.leaves)
    for place, leaf in call.leaves.items():
        floor = rounding(call.results, grads_of, leaf, changed[place])
        text = describe_gap(grads[place], exact[place], same[place], floor)
        if text is not None:
            got = grads[place]
            missing = got is None or (not bool(got.any()))
            kind = SILENT if missing else DEVICE
            return finding_of(
                context, sample, Fault(kind, place, f"{place!r}: as on the CPU", text)
            )
    return None


def cpu_gradients(
    context: RowContext, sample: Sample, values: Values, grads_of: Tensors
) -> Gradients:
    """Return the gradients of the CPU operator."""
    call = call_recorded(context, sample, values, differentiable_inputs(context.subject, values))
    given = {place: grad.cpu().to(call.results[place].dtype) for place, grad in grads_of.items()}
    return call.pull(given)
