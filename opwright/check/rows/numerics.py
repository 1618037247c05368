"""Results are those of the reference, for each dtype, and for values that are no ordinary numbers.

The operator runs on the NPU and the reference on the CPU, on samples that differ in dtype, sizes
and values. All that the operator computes is compared: new results, and what it writes.
|got - want| <= atol + rtol * |want| with the declared tolerances, or those of torch.testing for the
dtype; NaN equals NaN, integers are equal. Where no tolerance is declared, a kernel may also be as
near to the reference in the next wider dtype: one that sums half precision in float32 is more exact
than a reference which does not. The cell shows the largest error of each dtype.

Arguments that the declared shapes, dtypes and rules allow must give results: where the reference
refuses them, the declaration says too little, or the reference is wrong. So it is for a declaration
with a shape for each tensor; of others the cell shows what was left out. Rules that no arguments
satisfy are reported as well.

The column `special-values` puts NaN, infinities and large numbers into inputs that the samples do
not bound. The column `cpu` compares a CPU kernel that a library has beside the one for the NPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from opwright.check.finding import Kind
from opwright.check.observe.against_reference import RANDOM, compared, is_random, wrong_result
from opwright.check.observe.memory import labelled
from opwright.check.row import Row
from opwright.check.row_context import EagerCallError, NotApplicableError
from opwright.check.samples import describe
from opwright.check.subject import flat
from opwright.kit.declare.sample import TensorSpec
from opwright.kit.live.arguments import map_tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from opwright.check.finding import Finding
    from opwright.check.observe.deviation import Deviation
    from opwright.check.row_context import RowContext
    from opwright.check.subject import Subject
    from opwright.kit.declare.sample import Sample
    from opwright.kit.live.arguments import Values

    Results = Mapping[str, torch.Tensor]

__all__ = ["ROW"]

RAISES = Kind(
    "raises",
    "the operator raises for arguments that it must accept",
    "correct the kernel, or state in the declaration that these arguments are refused",
)
WRONG = Kind(
    "wrong-values",
    "the operator computes something else than the reference",
    "correct the kernel or the reference; if both are right, state how exact it is: tolerances=",
)
NO_SAMPLE = Kind(
    "no-sample",
    "no arguments satisfy the rules",
    "correct requires=, shapes= or dtypes=; if some arguments do satisfy them, give them: "
    "samples=[ow.sample(...)]",
)
SPECIAL = Kind(
    "wrong-special-values",
    "NaN, an infinity or a large number gives something else than in the reference",
    "correct the kernel (fmax drops NaN, a cast to half precision overflows), or state in the "
    "samples which values the operator takes: tensor(..., low=, high=)",
)

LARGE = 100.0


def needs(subject: Subject) -> str | None:
    """Say that there is nothing to compare with."""
    return None if subject.reference is not None else "the operator has no reference function"


def run(context: RowContext) -> None:
    """Compare the operator with the reference."""
    if context.column == "special-values":
        context.each(special(context), vary={"dtype"}, examples=4)
        return
    if context.column == "cpu" and not context.subject.is_foreign:
        message = "the CPU kernel is the reference itself"
        raise NotApplicableError(message)
    device = context.device_of_column()
    if context.column == "eager" and report_no_sample(context):
        return
    largest: dict[str, tuple[Deviation, str]] = {}

    def examine(sample: Sample) -> Finding | None:
        values = context.arguments(sample, device)
        try:
            got = flat(context.subject.computed(context.call(values, sample), values))
        except EagerCallError as error:
            return raised(context, sample, error, device)
        want = flat(context.expected(sample))
        for name, value in want.items():
            found = compared(context, got[name], value, name, context.arguments(sample, "cpu"))
            if found.is_wrong and is_random(context, sample):
                raise NotApplicableError(RANDOM)
            if found.is_wrong:
                return wrong_result(context, WRONG, sample, name, found, device)
            dtype = str(value.dtype).removeprefix("torch.")
            if dtype not in largest or largest[dtype][0].error < found.error:
                largest[dtype] = (found, f"{name} of {describe(sample)}")
        return None

    context.each(
        examine, vary={"dtype", "size", "rank", "presence", "length", "value"}, examples=12
    )
    for dtype, (found, where) in largest.items():
        text = f"{found} ({where})" if found.error else "0"
        context.details[f"largest error, {dtype}"] = text
    if context.column == "eager" and not context.findings:
        report_refused(context)


def report_no_sample(context: RowContext) -> bool:
    """Report a declaration that nothing satisfies, and one of which the reference takes nothing."""
    if context.samples.bases:
        return False
    if context.samples.has_none_by_rules():
        last = next(reversed(context.samples.refused.values()), None)
        said = "" if last is None else f"; of the last ones tried the rules say: {last.text}"
        context.report(
            NO_SAMPLE,
            expected="arguments that the declaration allows",
            got=f"none were found{said}",
        )
        return True
    report_refused(context)
    return bool(context.findings)


def report_refused(context: RowContext) -> None:
    """Report what the rules allow and the reference refuses, or note that it was left out."""
    refused = context.samples.refused_by_reference
    if not refused:
        return
    first = refused[0]
    context.details["left out"] = (
        f"samples that the reference refuses: {len(refused)}; the first: {describe(first)}: "
        f"{context.samples.refused[first].text}"
    )
    gap = context.samples.gap()
    if gap is not None:
        context.report(
            RAISES,
            expected="results, or a rule of the declaration that refuses these arguments",
            got=f"the reference raises {context.samples.refused[gap].text}",
            sample=gap,
            fix="handle these arguments, or say in requires=, shapes= or dtypes= that they are "
            "refused",
            script=("operator(**arguments('npu'))", "torch.npu.synchronize()"),
        )


def raised(context: RowContext, sample: Sample, error: EagerCallError, device: str) -> Finding:
    """Return the finding of a call that raised."""
    return context.finding(
        RAISES,
        expected="results",
        got=str(error),
        sample=sample,
        error=error.error,
        script=(f"operator(**arguments({device!r}))", "torch.npu.synchronize()"),
    )


# NaN, infinities, large numbers.


def special(context: RowContext) -> Callable[[Sample], Finding | None]:
    """Return what compares calls with values that are no ordinary numbers."""

    def examine(sample: Sample) -> Finding | None:
        if not is_right(context, sample):
            return None  # the other column reports it
        for case, (change, line) in CASES.items():
            found = of_case(context, sample, case, change, line)
            if found is not None:
                return found
        return None

    return examine


def is_right(context: RowContext, sample: Sample) -> bool:
    """Return whether an ordinary call gives what the reference gives."""
    try:
        got = flat(context.run(sample))
    except EagerCallError:
        return False
    return not any(
        compared(context, got[name], value, name, context.arguments(sample, "cpu")).is_wrong
        for name, value in flat(context.expected(sample)).items()
    )


def nan(tensor: torch.Tensor) -> None:
    """Make the first element NaN."""
    tensor.reshape(-1)[:1] = torch.nan


def infinite(tensor: torch.Tensor) -> None:
    """Make the last element infinite."""
    tensor.reshape(-1)[-1:] = torch.inf


def large(tensor: torch.Tensor) -> None:
    """Make all elements large."""
    tensor.mul_(LARGE)


CASES = {
    "NaN": (nan, "{}.view(-1)[:1] = float('nan')"),
    "inf": (infinite, "{}.view(-1)[-1:] = float('inf')"),
    "large": (large, f"{{}}.mul_({LARGE})"),
}


def of_case(
    context: RowContext,
    sample: Sample,
    case: str,
    change: Callable[[torch.Tensor], None],
    line: str,
) -> Finding | None:
    """Compare one call with changed inputs."""
    free = unbounded(context, sample)
    if not free:
        return None

    def arguments() -> Values:
        values = context.arguments(sample, "cpu")
        for _, label, tensor in labelled(values):
            if label in free:
                change(tensor)
        return values

    try:
        want = flat(context.subject.expected(arguments()))
    except Exception:  # noqa: BLE001 - the user's function refuses such values: nothing to compare
        return None
    values = {
        name: map_tensors(lambda each: each.to(context.device), value)
        for name, value in arguments().items()
    }
    lines = tuple(line.format(argument_text(each)) for each in sorted(free))
    try:
        got = flat(context.subject.computed(context.call(values, sample), values))
    except EagerCallError as error:
        return context.finding(
            SPECIAL,
            expected="results, as from the reference",
            got=f"with {case} in {', '.join(sorted(free))}: {error}",
            sample=sample,
            error=error.error,
            script=("values = arguments('npu')", *lines, "operator(**values)"),
        )
    for name, value in want.items():
        scale = LARGE if case == "large" else 1.0
        found = compared(context, got[name], value, name, arguments(), scale=scale)
        if found.is_wrong:
            text = f"with {case} in {', '.join(sorted(free))}: "
            return wrong_result(
                context, SPECIAL, sample, name, found, context.device, change=lines, got=text
            )
    return None


def argument_text(label: str) -> str:
    """Return the Python for an argument of `values`.

    >>> argument_text("xs[0]")
    "values['xs'][0]"
    """
    name, bracket, rest = label.partition("[")
    return f"values[{name!r}]{bracket}{rest}"


def unbounded(context: RowContext, sample: Sample) -> set[str]:
    """Return the floating-point tensors of a sample whose values nothing bounds, by label."""
    given = dict(sample.values)
    tensors = labelled(context.arguments(sample, "cpu"))
    return {
        label
        for name, label, tensor in tensors
        if tensor.is_floating_point() and tensor.numel() and not is_bounded(given.get(name))
    }


def is_bounded(value: Any) -> bool:  # noqa: ANN401 - a value of a sample
    """Return whether a sample bounds the values of an argument."""
    if isinstance(value, tuple):
        return any(is_bounded(each) for each in value)
    return isinstance(value, TensorSpec) and (value.low is not None or value.high is not None)


ROW = Row(
    name="numerics",
    title="results are those of the reference",
    kinds=(RAISES, NO_SAMPLE, WRONG, SPECIAL),
    run=run,
    needs=needs,
    columns=("eager", "special-values", "cpu"),
)
