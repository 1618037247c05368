"""Gradients are the derivatives of the reference, on the CPU and on the NPU.

Column `reference`: the operator's gradients on the CPU, in double where it takes double, are
compared with differences of the reference function, along random directions and single elements.
Steps are chosen so that references that compute in single precision can be judged too. Where the
differences do not agree on a derivative (a kink, a step), nothing is said; a fault must show at
several points near by, and be larger than what rounding leaves of terms that cancel. It also has to
be larger than a share of the terms: 0.01 % where the operator takes double, else 0.2 % in single
precision, 3 % in float16, 10 % in bfloat16; so allow double where you can. Second derivatives are
right, or an error says that there are none. A gradient where an argument is zero is a number, if
the differences agree on a derivative there.

Column `npu`: the gradients on the NPU are compared with those of the CPU operator in double and in
the same dtype, those of another library's operator with differences of its reference. Then:

* gradients are the same for some inputs or results alone as for all together, for an expanded and
  a transposed gradient of a result, and for a tensor that is passed twice;
* backward twice gives the same, or an error;
* a tensor that is overwritten after the call gives the old gradient or an error;
* a leaf that requires grad is not written;
* without anything that requires grad, results have no graph.

An operator that is declared without a backward must say so when a gradient is asked of it. The row
skips operators that another library registered without an Autograd kernel (torch warns), whose
gradient torch refuses because nothing was registered, or that torch.library.custom_op defined
without register_autograd.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from opwright.check.observe.differentiated import (
    cotangents,
    differentiable_inputs,
    differentiable_outputs,
)
from opwright.check.row import Row
from opwright.check.row_context import NotApplicableError
from opwright.check.rows.gradients.by_differences import examine_reference
from opwright.check.rows.gradients.calls import (
    NO_INPUT,
    NO_RESULT,
    UnjudgedError,
    call_recorded,
    script,
)
from opwright.check.rows.gradients.kinds import KINDS, REFUSAL
from opwright.check.rows.gradients.on_device import examine_device
from opwright.internals.library import lacks_backward

if TYPE_CHECKING:
    from opwright.check.finding import Finding
    from opwright.check.observe.differentiated import Gradients
    from opwright.check.row_context import RowContext
    from opwright.check.samples import Aspect
    from opwright.check.subject import Subject
    from opwright.kit.declare.sample import Sample

__all__ = ["ROW"]

MOST = 20  # samples
# torch.library.custom_op without register_autograd; autogradNotImplementedFallback.
NO_GRADIENT = re.compile(r"no autograd formula was registered|derivative for \S+ is not impl")
REFUSING = re.compile(r"backward|differentia|grad|derivative|autograd", re.IGNORECASE)


def needs(subject: Subject) -> str | None:
    """Say that there is nothing to differentiate, or to compare with."""
    if subject.reference is None:
        return "the operator has no reference function"
    if not any(argument.type.has_tensors for argument in subject.schema.arguments):
        return "the operator has no tensor arguments"
    if subject.is_seeded:
        return "the operator is random: differences of it are no derivative"
    if subject.schema.is_out_variant and subject.is_foreign:
        return "an operator with out= arguments has no gradients"
    if subject.is_foreign and lacks_backward(f"{subject.namespace}::{subject.operator.name}"):
        return "torch.library.custom_op defined it, and no backward is registered"
    return None


def run(context: RowContext) -> None:
    """Compare gradients."""
    device = "cpu" if context.column == "reference" else context.device
    subject = context.subject
    if device == "cpu" and not subject.runs_on_cpu:
        message = "the operator has no kernel for the CPU"
        raise NotApplicableError(message)
    judged: list[Sample] = []
    faulty: list[Sample] = []
    unjudged: list[str] = []

    def examine(sample: Sample) -> Finding | None:
        if len(judged) >= MOST and not faulty:
            return None
        try:
            if refuses(subject):
                found = examine_refusal(context, sample, device)
            elif context.column == "reference":
                found = examine_reference(context, sample)
            else:
                found = examine_device(context, sample)
        except UnjudgedError as error:
            unjudged.append(str(error))
            return None
        if found is not None and subject.is_foreign and NO_GRADIENT.search(found.got):
            unjudged.append("the library says that it has no gradient")
            return None
        judged.append(sample)
        if found is not None:
            faulty.append(sample)
        return found

    aspects: set[Aspect] = {"presence", "length", "size", "value"}
    if context.column == "npu":
        aspects.add("dtype")
    context.each(examine, vary=aspects, examples=2)
    if not judged and not context.findings:
        raise NotApplicableError(unjudged[0])


def refuses(subject: Subject) -> bool:
    """Return whether an operator is declared without a backward."""
    facts = subject.facts
    return (
        facts is not None
        and not subject.is_foreign
        and facts.autograd is None
        and (subject.operator.call is not False or subject.schema.is_out_variant)
    )


def examine_refusal(context: RowContext, sample: Sample, device: str) -> Finding | None:
    """Ask for a gradient of an operator that has no backward."""
    subject = context.subject
    values = context.arguments(sample, device)
    places = list(differentiable_inputs(subject, values))
    if not places:
        raise UnjudgedError(NO_INPUT)
    expected = "an error that says that the operator has no backward"
    outputs: list[str] | None = None
    grads: Gradients = {}
    try:
        call = call_recorded(context, sample, values, places)
        outputs = differentiable_outputs(subject, call.results)
        grads = call.pull(cotangents(call.results, outputs))
        context.synchronize()
    except Exception as error:  # noqa: BLE001 - any error may say it
        if REFUSING.search(str(error)):
            return None
        got = f"{type(error).__name__}: {error}"
        return context.finding(REFUSAL, expected=expected, got=got, sample=sample, error=error)
    if not outputs:
        raise UnjudgedError(NO_RESULT)
    given = [place for place, grad in grads.items() if grad is not None]
    got = f"gradients of {', '.join(given)}" if given else "no gradient, and no error"
    return context.finding(
        REFUSAL, expected=expected, got=got, sample=sample, script=script(context)
    )


ROW = Row(
    name="gradients",
    title="gradients are the derivatives of the reference",
    kinds=KINDS,
    run=run,
    columns=("reference", "npu"),
    needs=needs,
)
