"""Results are those of the reference, for each dtype, and for values that are no ordinary numbers.

The operator runs on the NPU and the reference on the CPU, on samples that differ in dtype, sizes
and values. Of an operator that nobody describes, the kernel that its library has for the CPU is the
reference. All that the operator computes is compared: new results, and what it writes.
|got - want| <= atol + rtol * |want| with the declared tolerances, or those of torch.testing for the
dtype; NaN equals NaN, integers are equal. Where no tolerance is declared, a kernel may also be as
near to the reference in the next wider dtype: one that sums half precision in float32 is more exact
than a reference which does not. The cell shows the largest error of each dtype.

Arguments that the declared shapes, dtypes and rules allow must give results: where the reference
refuses them, the declaration says too little, or the reference is wrong. So it is for a declaration
with a shape for each tensor; of others the cell shows what was left out. Rules that no arguments
satisfy are reported as well.

The column `special-values` puts other numbers into inputs that the samples do not bound: NaN,
infinities, negative zero, the largest of the dtype, and values of nine magnitudes; integers that
float32 or 32 bits do not hold; -1 in a tensor of whole numbers for which no sample gives a least
value, where the reference means something by it (padding to be skipped) and not the last place.
Ints among the arguments become as large: factors whose product
passes 2^32, and single ones. They may be sizes, so that only references are tried which make no
large tensors of them; an operator that refuses such an int is right (integers in tensors it must
take). Results of which the reference in the next wider dtype gives others are not compared: there,
how numbers are rounded decides.

The column `large-sizes` has a handful of samples with last axes of 63, 64, 65 and 128, and with
more than 4,096 elements: there kernels begin to work in blocks. The column `cpu` compares a CPU
kernel that a library has beside the one for the NPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from opwright.check.finding import Kind
from opwright.check.observe.affordable import is_affordable
from opwright.check.observe.against_reference import (
    RANDOM,
    compare,
    is_ill_conditioned,
    is_random,
    report_wrong_result,
)
from opwright.check.observe.memory import argument_text, label_tensors
from opwright.check.observe.tensors import same_bits
from opwright.check.row import Row
from opwright.check.row_context import EagerCallError, NotApplicableError
from opwright.check.samples import describe
from opwright.check.samples.specs import specs_in
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
    "NaN, an infinity, -1 or a large number gives something else than in the reference",
    "correct the kernel (fmax drops NaN, a cast to half precision overflows, -1 marks what is to "
    "be skipped, a product of sizes or attributes needs int64_t), or state which values the "
    "operator takes: tensor(..., low=, high=) in the samples, requires= for attributes",
)

LARGE = 100.0


def needs(subject: Subject) -> str | None:
    """Say that there is nothing to compare with."""
    if subject.reference is not None:
        return None
    return "the operator has no reference function, nor a kernel for the CPU"


def run(context: RowContext) -> None:
    """Compare the operator with the reference."""
    if context.column == "special-values":
        if context.subject.is_seeded:
            raise NotApplicableError(RANDOM)
        context.each(compare_special(context), vary={"dtype"}, examples=4)
        return
    own = context.subject.is_own_reference or not context.subject.is_foreign
    if context.column == "cpu" and own:
        message = "the CPU kernel is the reference itself"
        raise NotApplicableError(message)
    device = context.device_of_column()
    wide = context.samples.wide if context.column == "large-sizes" else None
    if wide == []:
        message = "its axes have no other sizes"
        raise NotApplicableError(context.samples.why_none() or message)
    if context.column == "eager" and report_no_sample(context):
        return
    largest: dict[str, tuple[Deviation, str]] = {}
    drawn: list[str] = []

    def examine(sample: Sample) -> Finding | None:
        values = context.arguments(sample, device)
        try:
            got = flat(context.subject.computed(context.call(values, sample), values))
        except EagerCallError as error:
            return report_raise(context, sample, error, device)
        want = flat(context.expected(sample))
        for name, value in want.items():
            found = compare(context, got[name], value, name, context.arguments(sample, "cpu"))
            if found.wrong and is_random(context, sample):
                drawn.append(name)
                continue
            if found.is_wrong:
                return report_wrong_result(context, WRONG, sample, name, found, device)
            dtype = str(value.dtype).removeprefix("torch.")
            if dtype not in largest or largest[dtype][0].error < found.error:
                largest[dtype] = (found, f"{name} of {describe(sample)}")
        return None

    context.each(
        examine,
        vary={"dtype", "size", "rank", "presence", "length", "value"},
        examples=12,
        samples=wide,
    )
    if drawn and not context.findings:
        raise NotApplicableError(RANDOM)
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


def report_raise(
    context: RowContext, sample: Sample, error: EagerCallError, device: str
) -> Finding:
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


def compare_special(context: RowContext) -> Callable[[Sample], Finding | None]:
    """Return what compares calls with values that are no ordinary numbers."""

    def examine(sample: Sample) -> Finding | None:
        if not is_right(context, sample):
            return None  # the other column reports it
        for case in CASES:
            found = of_case(context, sample, case)
            if found is not None:
                return found
        return of_minus_one(context, sample) or of_large_ints(context, sample)

    return examine


def is_right(context: RowContext, sample: Sample) -> bool:
    """Return whether an ordinary call gives what the reference gives."""
    try:
        got = flat(context.run(sample))
    except EagerCallError:
        return False
    return not any(
        compare(context, got[name], value, name, context.arguments(sample, "cpu")).is_wrong
        for name, value in flat(context.expected(sample)).items()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Other values for tensors.

    Parameters
    ----------
    line
        Python that writes the values; `{}` stands for the tensor. Run, and shown in scripts.
    dtypes
        Those that have such values.
    scale
        Factor for the absolute tolerance: the magnitude of the values.
    """

    name: str
    line: str
    dtypes: frozenset[torch.dtype]
    scale: float = 1.0

    @property
    def is_integer(self) -> bool:
        """Whether it is about whole numbers."""
        return not any(each.is_floating_point for each in self.dtypes)

    def change(self, tensor: torch.Tensor) -> None:
        """Write the values into a tensor."""
        if tensor.dtype in self.dtypes:
            exec(self.line.format("tensor"), {"torch": torch, "tensor": tensor})  # noqa: S102 - our own text


FLOATING = frozenset({torch.float16, torch.bfloat16, torch.float32, torch.float64})
INTEGERS = frozenset({torch.int32, torch.int64})
SIGNED = INTEGERS | {torch.int8, torch.int16}
CASES = (
    Case(name="NaN", line="{}.view(-1)[:1] = float('nan')", dtypes=FLOATING),
    Case(name="inf", line="{}.view(-1)[-1:] = float('inf')", dtypes=FLOATING),
    Case(name="-0.0", line="{}.view(-1)[::2] = -0.0", dtypes=FLOATING),
    Case(name="large numbers", line=f"{{}}.mul_({LARGE})", dtypes=FLOATING, scale=LARGE),
    Case(
        name="numbers of several magnitudes",
        line="{0}.view(-1).mul_(10.0 ** (4 - torch.arange({0}.numel()).to({0}.device) % 9))",
        dtypes=FLOATING,
        scale=10_000.0,
    ),
    Case(
        name="the dtype's largest number",
        line="{0}.view(-1)[:1] = torch.finfo({0}.dtype).max",
        dtypes=FLOATING,
    ),
    Case(name="integers beyond 2^24", line="{}.add_(2**24 + 1)", dtypes=INTEGERS),
    Case(
        name="int32's largest numbers",
        line="{}.view(-1)[:2] = 2**31 - 1",
        dtypes=INTEGERS,
    ),
    Case(
        name="integers beyond 2^32", line="{}.add_(2**32 + 2**24)", dtypes=INTEGERS - {torch.int32}
    ),
)


def of_case(context: RowContext, sample: Sample, case: Case) -> Finding | None:
    """Compare one call with changed inputs."""
    free = find_unbounded(context, sample, case)
    if not free:
        return None

    def arguments() -> Values:
        values = context.arguments(sample, "cpu")
        for _, label, tensor in label_tensors(values):
            if label in free:
                case.change(tensor)
        return values

    if case.is_integer and not is_affordable(context.subject, arguments()):
        return None  # they may be sizes, or places in another tensor
    lines = tuple(case.line.format(argument_text(each)) for each in sorted(free))
    where = f"with {case.name} in {', '.join(sorted(free))}: "
    return compare_changed(context, sample, arguments, lines, where, scale=case.scale)


# It often marks what is to be skipped: padding, an empty slot, a label to ignore.
MINUS_ONE = "{}.view(-1)[-1:] = -1"


def of_minus_one(context: RowContext, sample: Sample) -> Finding | None:
    """Compare calls with -1 in a tensor of whole numbers, where the reference gives it a meaning.

    That the reference takes it for the last place, as Python's sequences do, is none: kernels that
    are given places need not count from the end.
    """
    declared = context.subject.operator.samples
    for name, label, tensor in label_tensors(context.arguments(sample, "cpu")):
        specs = [spec for each in declared for spec in specs_in(dict(each.values).get(name))]
        if (
            tensor.dtype not in SIGNED
            or not tensor.numel()
            or not tensor.is_contiguous()
            or any(spec.low is not None for spec in specs)
        ):
            continue

        def arguments(label: str = label, number: int = -1) -> Values:
            values = context.arguments(sample, "cpu")
            for _, other, each in label_tensors(values):
                if other == label:
                    each.view(-1)[-1:] = number
            return values

        if is_last_place(context.subject, arguments):
            continue
        found = compare_changed(
            context,
            sample,
            arguments,
            (MINUS_ONE.format(argument_text(label)),),
            f"with -1 at the end of {label}: ",
            may_refuse=True,
        )
        if found is not None:
            return found
    return None


def is_last_place(subject: Subject, arguments: Callable[..., Values]) -> bool:
    """Return whether the reference computes with -1 what it does with the last place of an axis."""
    tensors = flat(arguments())
    places = {size - 1 for tensor in tensors.values() for size in tensor.shape if size > 0}
    try:
        want = flat(subject.expected(arguments()))
    except Exception:  # noqa: BLE001 - the user's function refuses -1: there is nothing to compare
        return False
    for place in places:
        try:
            other = flat(subject.expected(arguments(number=place)))
        except Exception:  # noqa: BLE001, S112 - as above
            continue
        if all(same_bits(value, other[name]) for name, value in want.items()):
            return True
    return False


# Ints of two arguments, whose product passes 2^32; then of one. A kernel that keeps 32 bits of an
# int takes the usual one plus 2^32 for the usual one.
FACTORS = (65_537, 65_539, 65_543, 65_551)
BEYOND_INT32 = 2**32
LARGE_INTS = (2**24 + 1, BEYOND_INT32 + 2**24 + 1)


def of_large_ints(context: RowContext, sample: Sample) -> Finding | None:
    """Compare calls with large ints among the arguments, where rules and reference take them."""
    subject = context.subject
    usual = context.arguments(sample, "cpu")
    names = [
        each.name
        for each in subject.schema.arguments
        if each.type.base.is_integer
        and not each.type.is_list
        and isinstance(usual[each.name], int)
        and not isinstance(usual[each.name], bool)
    ]
    changes = [dict(zip(names, FACTORS, strict=False))] if len(names) > 1 else []
    changes += [
        {name: number} for name in names for number in (*LARGE_INTS, usual[name] + BEYOND_INT32)
    ]
    for change in changes:

        def arguments(change: dict[str, int] = change) -> Values:
            return context.arguments(sample, "cpu") | change

        try:
            if subject.rules is not None:
                subject.rules.check(arguments())
        except (ValueError, TypeError, RuntimeError):
            continue
        if not is_affordable(subject, arguments()):
            continue
        lines = (f"values |= {change!r}",)
        text = ", ".join(f"{name} {number}" for name, number in change.items())
        found = compare_changed(
            context, sample, arguments, lines, f"with {text}: ", may_refuse=True
        )
        if found is not None:
            return found
    return None


def compare_changed(
    context: RowContext,
    sample: Sample,
    arguments: Callable[[], Values],
    lines: tuple[str, ...],
    where: str,
    *,
    scale: float = 1.0,
    may_refuse: bool = False,
) -> Finding | None:
    """Compare a call with other arguments than those of the sample.

    Parameters
    ----------
    lines
        Of a script: they change `values`.
    where
        The change, as text for the report.
    may_refuse
        Whether an operator that raises is right.
    """
    try:
        want = flat(context.subject.expected(arguments()))
    except Exception:  # noqa: BLE001 - the user's function refuses such values: nothing to compare
        return None
    values = {
        name: map_tensors(lambda each: each.to(context.device), value)
        for name, value in arguments().items()
    }
    try:
        got = flat(context.subject.computed(context.call(values, sample), values))
    except EagerCallError as error:
        if may_refuse:
            return None
        return context.finding(
            SPECIAL,
            expected="results, as from the reference",
            got=f"{where}{error}",
            sample=sample,
            error=error.error,
            script=("values = arguments('npu')", *lines, "operator(**values)"),
        )
    for name, value in want.items():
        found = compare(context, got[name], value, name, arguments(), scale=scale)
        if found.wrong and is_random(context, sample):
            raise NotApplicableError(RANDOM)
        if found.wrong and is_ill_conditioned(context, value, name, arguments(), scale=scale):
            continue  # a sound kernel may round in another order
        if found.is_wrong:
            return report_wrong_result(
                context, SPECIAL, sample, name, found, context.device, change=lines, got=where
            )
    return None


def find_unbounded(context: RowContext, sample: Sample, case: Case) -> set[str]:
    """Return the tensors of a sample that a case is about and nothing bounds, by label."""
    given = dict(sample.values)
    tensors = label_tensors(context.arguments(sample, "cpu"))
    # Without explicit samples whole numbers were bounded here, as if they were places.
    is_free = case.is_integer and not context.subject.operator.samples
    return {
        label
        for name, label, tensor in tensors
        if tensor.dtype in case.dtypes
        and tensor.numel()
        and tensor.is_contiguous()
        and (is_free or not is_bounded(given.get(name)))
    }


def is_bounded(value: Any) -> bool:  # noqa: ANN401 - a value of a sample
    """Return whether a sample bounds the values of an argument."""
    if isinstance(value, tuple):
        return any(is_bounded(each) for each in value)
    return isinstance(value, TensorSpec) and value.bounds != (None, None)


ROW = Row(
    name="numerics",
    title="results are those of the reference",
    kinds=(RAISES, NO_SAMPLE, WRONG, SPECIAL),
    run=run,
    needs=needs,
    columns=("eager", "special-values", "large-sizes", "cpu"),
)
