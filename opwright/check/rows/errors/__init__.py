"""Arguments that the operator must refuse are refused alike by NPU kernel, CPU kernel and Meta.

The declared error samples, and others that are derived: a sample is changed in one place (another
dtype, for one tensor and for all that share it, an axis more or less, another size, a number or
word outside of what `requires` allows, a list of another length, None for a tensor that is not
optional, a tensor on another device), and where the declared rules do not allow what comes out, the
operator must not either.

Each refusal is an exception of a kind that callers expect (ValueError, TypeError, RuntimeError,
IndexError, NotImplementedError) whose text says what is wrong: it names an argument, a dtype, a
size or another property of an argument, and is no failed assertion of the implementation. An error
sample's own words are in it. Nothing is written by a call that is refused, and the next call with
good arguments works as before.

Of an operator that nobody describes only this is asked: None for a tensor that is not optional
does not give a result, and an attribute or a length of a list that the library's kernel for the CPU
refuses does not, either. It may take other dtypes and ranks than that. Such an operator may have
written an argument before it meets None, or a tensor on another device; torch's own message that a
backend lacks a kernel counts as useful.

An operator that a set with `existing=True` describes may accept what the description refuses, if it
computes what the reference does; its Meta may accept it in any case. A declaration without
`existing=True` says what a library that was made from it, or written for it, has to refuse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import torch

from opwright.check.finding import Kind
from opwright.check.observe.against_reference import is_random
from opwright.check.observe.tensors import (
    first_unequal,
    move_to_device,
    same_bits,
    tensors_by_place,
)
from opwright.check.observe.tolerance import difference
from opwright.check.row import Row
from opwright.check.row_context import EagerCallError, NotApplicableError
from opwright.check.rows.errors.changes import Bad, changes
from opwright.check.rows.errors.messages import MESSAGE, OTHER, TYPE, examine_error
from opwright.check.samples import describe
from opwright.check.subject import flat
from opwright.internals.fake_tensors import FakeTensorMode
from opwright.kit.declare.sample import Sample
from opwright.kit.live import dispatcher

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opwright.check.finding import Finding
    from opwright.check.row_context import RowContext
    from opwright.check.subject import Subject
    from opwright.kit.live.arguments import Values

__all__ = ["ROW"]

ACCEPTED = Kind(
    "accepted",
    "the operator accepts arguments that the declaration refuses",
    "check the arguments in the kernel and in Meta (TORCH_CHECK), or allow them in the declaration",
)
WRITTEN = Kind(
    "written-before-refusal",
    "a call that raises has written its arguments",
    "check all arguments before the first write",
)
AFTER = Kind(
    "state-after-error",
    "after an error, a call with good arguments does not work as before",
    "let an error leave nothing behind: free what was taken, and take back what was noted",
)

MOST = 24  # derived error samples of one sample

Good: TypeAlias = "dict[str, torch.Tensor] | None"


def run(context: RowContext) -> None:
    """Call the operator with bad arguments."""
    device = "meta" if context.column == "meta" else context.device_of_column()
    if context.column == "meta" and not has_meta(context.subject):
        message = "the operator has no Meta function"
        raise NotApplicableError(message)
    tried: list[str] = []

    for bad in find_declared(context.subject):
        if not context.findings:
            examine_declared(context, device, bad, tried)

    def examine(sample: Sample) -> Finding | None:
        good = compute_good_results(context, sample, device)
        for bad in derive_changes(context, sample):
            if bad.only not in {None, context.column}:
                continue
            found = refuse(context, sample, device, bad, good)
            tried.append(bad.what)
            if found is not None:
                return found
        return None

    if not context.findings:
        context.each(examine, vary={"presence", "length", "rank"}, examples=2)
    context.details["refused"] = "\n".join(dict.fromkeys(tried))
    if not tried:
        message = "nothing is known that the operator must refuse"
        raise NotApplicableError(message)


def has_meta(subject: Subject) -> bool:
    """Return whether an operator has a Meta function."""
    return dispatcher.has_kernel(subject.overload, "Meta") or dispatcher.has_fake(
        subject.namespace, subject.operator.name
    )


def find_declared(subject: Subject) -> Iterator[tuple[Sample, str]]:
    """Yield the declared error samples, with what their errors say."""
    for each in subject.operator.errors:
        yield Sample(each.values), each.match


def examine_declared(
    context: RowContext, device: str, bad: tuple[Sample, str], tried: list[str]
) -> None:
    """Call the operator with an error sample."""
    sample, match = bad
    context.examine(lambda _: None, sample)
    tried.append(describe(sample))
    what = Bad(f"the error sample {describe(sample)}", lambda values: values, match=match)
    found = refuse(context, sample, device, what, None)
    if found is not None:
        context.findings.append(found)


def derive_changes(context: RowContext, sample: Sample) -> Iterator[Bad]:
    """Yield changes of a sample that the declaration does not allow."""
    subject = context.subject
    values = context.arguments(sample, "cpu")
    count = 0
    for bad in changes(subject, values):
        if count == MOST:
            return
        if bad.only is None and not is_refused(subject, bad, context.arguments(sample, "cpu")):
            continue
        count += 1
        yield bad


def is_refused(subject: Subject, bad: Bad, values: Values) -> bool:
    """Return whether the declared rules refuse arguments, or else the library's CPU kernel."""
    if bad.is_none:
        return True
    if subject.rules is None:
        return is_judged_by_cpu(subject, bad) and is_refused_by_cpu(subject, bad, values)
    try:
        subject.rules.check(bad.change(values))
    except (TypeError, ValueError):
        return True
    return False


def is_judged_by_cpu(subject: Subject, bad: Bad) -> bool:
    """Return whether the library's kernel for the CPU says if arguments must be refused."""
    return subject.is_own_reference and not subject.is_seeded and bad.keeps_tensors


def is_refused_by_cpu(subject: Subject, bad: Bad, values: Values) -> bool:
    """Return whether the library's kernel for the CPU refuses arguments."""
    try:
        subject.expected(bad.change(values))
    except Exception:  # noqa: BLE001 - whatever a user's kernel raises
        return True
    return False


def refuse(
    context: RowContext, sample: Sample, device: str, bad: Bad, good: Good
) -> Finding | None:
    """Call the operator with bad arguments and look at what comes."""
    subject = context.subject
    values = bad.change(arguments(context, sample, device))
    context.watch(bad.sample(sample))  # a crash or hang shows what was called
    written = [argument.name for argument in subject.schema.mutated]
    before = {
        place: each.clone()
        for place, each in tensors_by_place(values, written)
        if each.device.type != "meta"
    }
    where = {"npu": "the NPU kernel", "cpu": "the CPU kernel", "meta": "Meta"}[context.column]
    lines = (
        f"values = arguments({device!r})",
        *bad.lines,
        "try:",
        "    operator(**values)",
        *(["    torch.npu.synchronize()"] if context.column == "npu" else []),
    )
    try:
        returned = call(context, values, device)
    except Exception as error:  # noqa: BLE001 - any error is looked at
        after = dict(tensors_by_place(values, written))
        found = None
        if not is_judged_by_cpu(subject, bad):  # nobody promised what its errors say
            found = examine_error(context, sample, bad, error, where, lines)
        return found or examine_after(context, sample, device, bad, before, after, good)
    if is_right_all_the_same(context, sample, device, bad, returned, values):
        return None
    return context.finding(
        ACCEPTED,
        expected=f"an error for {bad.what}",
        got=f"{where} returns {texts(returned)}",
        sample=sample,
        script=(
            *lines,
            "except Exception:",
            "    pass",
            "else:",
            "    raise AssertionError('accepted')",
        ),
    )


def arguments(context: RowContext, sample: Sample, device: str) -> Values:
    """Return fresh arguments; those of Meta are fake tensors' cousins without data."""
    values = context.arguments(sample, "cpu" if device == "meta" else device)
    return move_to_device(values, "meta") if device == "meta" else values


def call(context: RowContext, values: Values, device: str) -> object:
    """Call the operator and wait for the device."""
    context.calls += 1
    if device == "meta" and not dispatcher.has_kernel(context.subject.overload, "Meta"):
        with FakeTensorMode(allow_non_fake_inputs=True):
            return context.subject.call(values)
    returned = context.subject.call(values)
    context.synchronize()
    return returned


def is_right_all_the_same(
    context: RowContext, sample: Sample, device: str, bad: Bad, returned: object, values: Values
) -> bool:
    """Return whether results are right although the arguments need not be accepted.

    A kernel may read a tensor from host memory, or not need it for these attributes; an operator
    that existed before its description may take more than that says.
    """
    subject = context.subject
    lenient = not subject.is_specified or bad.only is not None or bad.is_none
    if not lenient or bad.match is not None:
        return False
    is_unknown = subject.operator.reference is None and not is_judged_by_cpu(subject, bad)
    if is_unknown or subject.is_seeded:
        return True
    if not subject.is_specified and device == "meta":
        return True  # its Meta need not know what only a description says
    got = flat(subject.computed(returned, values))
    givens = [bad.change(context.arguments(sample, "cpu"))]
    if bad.only is not None or bad.is_none:
        givens.append(context.arguments(sample, "cpu"))
    for given in givens:
        try:
            want = flat(subject.expected(given))
        except Exception:  # noqa: BLE001, S112 - the reference refuses them
            continue
        if want.keys() <= got.keys() and all(
            is_alike(got[name], each, device, subject) for name, each in want.items()
        ):
            return True
    return False


def is_alike(got: torch.Tensor, want: torch.Tensor, device: str, subject: Subject) -> bool:
    """Return whether a result is as expected; of Meta, as far as it can be."""
    if device == "meta":
        return got.shape == want.shape and got.dtype == want.dtype
    return difference(got, want, subject.operator.tolerances) is None


def texts(returned: object) -> str:
    """Describe results."""
    if isinstance(returned, torch.Tensor):
        return f"a tensor {str(returned.dtype).removeprefix('torch.')} {list(returned.shape)}"
    if isinstance(returned, tuple | list):
        return ", ".join(map(texts, returned)) or "nothing"
    return "nothing" if returned is None else type(returned).__name__


def examine_after(
    context: RowContext,
    sample: Sample,
    device: str,
    bad: Bad,
    before: Mapping[str, torch.Tensor],
    after: Mapping[str, torch.Tensor],
    good: Good,
) -> Finding | None:
    """Look at what a refused call left: written arguments, and whether the next call works."""
    # A foreign operator may write before it reaches the None, or the tensor on another device:
    # torch's own composite operators do.
    lenient = (bad.is_none or bad.is_on_cpu) and context.subject.is_foreign
    for place, each in before.items():
        if not lenient and place in after and not same_bits(each, after[place]):
            return context.finding(
                WRITTEN,
                expected=f"{place!r} as it was before a call that is refused, for {bad.what}",
                got="other values",
                sample=sample,
            )
    if good is None:
        return None
    expected = "the results of a good call, as before"
    try:
        now = compute_good_results(context, sample, device)
    except EagerCallError as error:
        got = f"after a call with {bad.what}: {error}"
        return context.finding(AFTER, expected=expected, got=got, sample=sample, error=error.error)
    unequal = None
    loose = context.subject.is_seeded or context.subject.is_declared_nondeterministic
    if now is not None and not loose:
        unequal = first_unequal(good, now)
    if unequal is None or is_random(context, sample):
        return None
    got = f"after a call with {bad.what}, {unequal[0]}: {unequal[1]}"
    return context.finding(AFTER, expected=expected, got=got, sample=sample)


def compute_good_results(context: RowContext, sample: Sample, device: str) -> Good:
    """Call the operator with good arguments; None for Meta, which has no values."""
    if device == "meta":
        return None
    return flat(context.run(sample, device))


ROW = Row(
    name="errors",
    title="what must be refused is refused, and the caller learns why",
    kinds=(ACCEPTED, MESSAGE, TYPE, OTHER, WRITTEN, AFTER),
    run=run,
    columns=("npu", "cpu", "meta"),
)
