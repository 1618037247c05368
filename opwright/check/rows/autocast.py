"""Under torch.autocast the operator does what it declares, and nothing else.

For float16 and bfloat16, with autocast on the NPU and, in the other column, on the CPU: an operator
with `autocast=` computes as if its floating-point arguments had been converted by that rule (not
float64, and not what it writes) and autocast were off. One without keeps its dtypes and values.
Results of fake tensors, which torch.compile works with, have the dtypes of the real ones.
Of an operator of another library that declares nothing the row asks that it works, and that fake
and real results have one dtype.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from opwright.check.finding import Kind
from opwright.check.observe.tensors import move_to_device, replace_tensors, tensor_arguments
from opwright.check.observe.tolerance import difference
from opwright.check.row import Row
from opwright.check.row_context import EagerCallError, NotApplicableError
from opwright.check.subject import flat
from opwright.internals.fake_tensors import FakeTensorMode
from opwright.kit.live import dispatcher
from opwright.kit.live.autocast import AUTOCAST_KEYS, is_eligible, target

if TYPE_CHECKING:
    from opwright.check.finding import Finding
    from opwright.check.row_context import RowContext
    from opwright.check.subject import Subject
    from opwright.kit.declare.sample import Sample
    from opwright.kit.live.arguments import Values

__all__ = ["ROW"]

RAISES = Kind(
    "raises",
    "the operator raises under torch.autocast",
    "allow the dtype that the rule converts to (dtypes=), or choose another rule (autocast=)",
)
DTYPE = Kind(
    "wrong-dtype",
    "under torch.autocast results have another dtype than the rule gives",
    "run the kernel with autocast off (c10::impl::ExcludeDispatchKeyGuard of the Autocast key), "
    "and convert arguments as the declaration says",
)
VALUES = Kind(
    "wrong-values",
    "under torch.autocast the operator computes something else than the rule gives",
    "convert each floating-point argument once, and nothing else, in the Autocast kernel",
)
FAKE = Kind(
    "fake-differs",
    "under torch.autocast fake and real results have different dtypes",
    "let the kernel not depend on autocast, or register an Autocast kernel, which fake tensors "
    "pass as well",
)

DTYPES = (torch.float16, torch.bfloat16)


def needs(subject: Subject) -> str | None:
    """Say that autocast converts nothing."""
    if not any(argument.type.has_tensors for argument in subject.schema.arguments):
        return "the operator has no tensor arguments"
    return None


def run(context: RowContext) -> None:
    """Compare calls under autocast with the rule."""
    device = context.device_of_column()
    has_rule = dispatcher.has_kernel(context.subject.overload, "AutocastCPU")
    if device == "cpu" and context.subject.is_foreign and not has_rule:
        message = "the library has no autocast rule for the CPU"
        raise NotApplicableError(message)

    def examine(sample: Sample) -> Finding | None:
        if not any(
            is_eligible(tensor) for tensor in flat(context.arguments(sample, "cpu")).values()
        ):
            return None
        for dtype in DTYPES:
            found = compare(context, sample, device, dtype)
            if found is not None:
                return found
        return None

    context.each(examine, vary={"dtype", "presence", "length"}, examples=4)


def compare(context: RowContext, sample: Sample, device: str, dtype: torch.dtype) -> Finding | None:
    """Compare a call under autocast with one on converted arguments."""
    subject = context.subject
    known = is_rule_known(subject)
    with torch.autocast(device, enabled=False):
        wanted = plain(context, sample, device, dtype) if known else None
    values = context.arguments(sample, device)
    name = str(dtype).removeprefix("torch.")
    call = f"with torch.autocast({device!r}, dtype=torch.{name})"
    lines = (
        f"with torch.autocast({device!r}, dtype=torch.{name}):",
        f"    got = operator(**arguments({device!r}))",
    )
    try:
        with torch.autocast(device, dtype=dtype):
            got = flat(subject.computed(context.call(values, sample), values))
    except EagerCallError as error:
        if wanted is None and not works(context, sample, device):
            return None  # it works for no dtype: row numerics
        return context.finding(
            RAISES,
            expected=f"results {call}",
            got=str(error),
            sample=sample,
            error=error.error,
            script=lines,
        )
    if wanted is not None:
        for result, want in wanted.items():
            if got[result].dtype is not want.dtype:
                return context.finding(
                    DTYPE,
                    expected=f"{result} of {want.dtype} {call} and {describe_rule(subject)}",
                    got=str(got[result].dtype),
                    sample=sample,
                    script=(*lines, f"assert got.dtype is {want.dtype}, got.dtype"),
                )
            if subject.is_seeded or subject.is_declared_nondeterministic:
                continue
            text = difference(got[result], want, subject.operator.tolerances)
            if text is not None:
                return context.finding(
                    VALUES,
                    expected=f"{result} as without autocast, on arguments as "
                    f"{describe_rule(subject)}",
                    got=f"{text} {call}",
                    sample=sample,
                )
    return compare_fake(context, sample, device, dtype, {n: t.dtype for n, t in got.items()})


def is_rule_known(subject: Subject) -> bool:
    """Return whether it is known what the operator must do under autocast."""
    if subject.operator.autocast is not None:
        return True
    if subject.facts is None or subject.is_foreign:
        return False
    # An operator made of others does as these do.
    return subject.operator.call is not False


def describe_rule(subject: Subject) -> str:
    """Say what the declaration says."""
    rule = subject.operator.autocast
    return "no rule" if rule is None else f"autocast={rule!r}"


def works(context: RowContext, sample: Sample, device: str) -> bool:
    """Return whether a call without autocast works."""
    try:
        with torch.autocast(device, enabled=False):
            context.call(context.arguments(sample, device), sample)
    except EagerCallError:
        return False
    return True


def plain(
    context: RowContext, sample: Sample, device: str, dtype: torch.dtype
) -> dict[str, torch.Tensor] | None:
    """Call the operator without autocast on arguments that are converted; None if that raises."""
    subject = context.subject
    values = convert(subject, context.arguments(sample, device), device, dtype)
    try:
        returned = context.call(values, sample)
    except EagerCallError:
        if works(context, sample, device):
            # The rule gives what the operator does not take; under autocast that shows.
            return None
        raise
    return flat(subject.computed(returned, values))


def convert(subject: Subject, values: Values, device: str, dtype: torch.dtype) -> Values:
    """Return arguments as the declared rule converts them."""
    rule = subject.operator.autocast
    if rule is None:
        return values
    written = {argument.name for argument in subject.schema.mutated}
    names = tensor_arguments(subject.schema, values)
    key = next(key for key, of in AUTOCAST_KEYS.items() if of == device)
    with torch.autocast(device, dtype=dtype):
        to = target(rule, key, [t for t in tensors(values) if is_eligible(t)])
    return replace_tensors(
        values,
        [name for name in names if name not in written],
        lambda _, each: each.to(to) if to is not None and is_eligible(each) else each,
    )


def tensors(values: Values) -> list[torch.Tensor]:
    """Return all tensors of arguments."""
    return list(flat(values).values())


def compare_fake(
    context: RowContext,
    sample: Sample,
    device: str,
    dtype: torch.dtype,
    real: dict[str, torch.dtype],
) -> Finding | None:
    """Compare the dtypes of fake results with real ones."""
    subject = context.subject
    values = context.arguments(sample, "cpu")
    names = tensor_arguments(subject.schema, values)
    mode = FakeTensorMode()
    device_values = move_to_device(values, device)
    fake = replace_tensors(device_values, names, lambda _, each: mode.from_tensor(each))
    try:
        with mode, torch.autocast(device, dtype=dtype):
            results = flat(subject.computed(subject.call(fake), fake))
    except Exception:  # noqa: BLE001 - row meta reports operators without a working Meta
        return None
    for name, result in results.items():
        if name in real and result.dtype is not real[name]:
            return context.finding(
                FAKE,
                expected=f"{name} of {real[name]}, as in eager mode, under autocast to {dtype}",
                got=f"{result.dtype} of fake tensors",
                sample=sample,
                script=(
                    "from torch._subclasses.fake_tensor import FakeTensorMode",
                    f"real = arguments({device!r})",
                    f"with torch.autocast({device!r}, dtype={dtype}):",
                    "    eager = operator(**real)",
                    "    with FakeTensorMode() as mode:",
                    "        for n, v in real.items():",
                    "            real[n] = mode.from_tensor(v) if torch.is_tensor(v) else v",
                    "        fake = operator(**real)",
                    "assert eager.dtype is fake.dtype, (eager.dtype, fake.dtype)",
                ),
            )
    return None


ROW = Row(
    name="autocast",
    title="autocast does what is declared",
    kinds=(RAISES, DTYPE, VALUES, FAKE),
    run=run,
    columns=("npu", "cpu"),
    needs=needs,
)
