"""Sizes of 0 and 1, tensors without axes, absent arguments and empty lists work like all others.

The operator runs on samples at an edge of what the declaration allows, and is compared with the
reference:

* `empty`: a tensor without elements. A kernel that is not launched for it leaves what a reduction
  should set, and one that is launched may divide by the number of blocks.
* `one`: sizes of 1, where broadcasting and reductions become something else.
* `0-d`: a tensor without axes.
* `absent`: optional arguments left out. An operator that nobody describes may refuse such a call in
  its own words; an error caused by using None is a finding.
* `empty-list`.

What the rules exclude is not tried: state `1 <= N` in `requires` where an operator does not take
empty tensors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.check.finding import Kind
from opwright.check.observe.against_reference import RANDOM, compare, is_random, report_wrong_result
from opwright.check.row import Row
from opwright.check.row_context import EagerCallError, NotApplicableError
from opwright.check.samples.specs import specs_of
from opwright.check.subject import flat

if TYPE_CHECKING:
    from collections.abc import Callable

    from opwright.check.finding import Finding
    from opwright.check.row_context import RowContext
    from opwright.check.subject import Subject
    from opwright.kit.declare.sample import Sample

__all__ = ["ROW"]

RAISES = Kind(
    "raises-at-edge",
    "the operator raises for a size, absent argument or empty list that its rules allow",
    "handle the case in the kernel's caller (return an empty result), or exclude it: requires=",
)
WRONG = Kind(
    "wrong-at-edge",
    "the operator computes something else than the reference at an edge",
    "handle the case before the kernel is launched: what a reduction over nothing gives is set by "
    "nobody else",
)


# Messages of Python and C++ for a None that is used, or for a parameter without a default.
NONE_ERRORS = (
    *("NoneType", "bad optional access", "bad_optional_access"),
    "required positional argument",
)


def is_empty(subject: Subject, sample: Sample) -> bool:
    """Return whether a tensor has no elements."""
    del subject
    return any(0 in each.shape for each in specs_of(sample))


def is_one(subject: Subject, sample: Sample) -> bool:
    """Return whether a tensor has a size of 1."""
    del subject
    return any(1 in each.shape for each in specs_of(sample))


def is_scalar(subject: Subject, sample: Sample) -> bool:
    """Return whether a tensor has no axes."""
    del subject
    return any(not each.shape for each in specs_of(sample))


def is_absent(subject: Subject, sample: Sample) -> bool:
    """Return whether an optional argument is not given."""
    given = dict(sample.values)
    return any(
        argument.type.optional and given.get(argument.name) is None and argument.default == "None"
        for argument in subject.schema.arguments
    )


def has_empty_list(subject: Subject, sample: Sample) -> bool:
    """Return whether a list has no elements."""
    del subject
    return any(value == () for _, value in sample.values)


EDGES: dict[str, Callable[[Subject, Sample], bool]] = {
    "empty": is_empty,
    "one": is_one,
    "0-d": is_scalar,
    "absent": is_absent,
    "empty-list": has_empty_list,
}


def run(context: RowContext) -> None:
    """Compare what is at an edge with the reference."""
    is_at_edge = EDGES[context.column]
    has_reference = context.subject.reference is not None
    drawn: list[str] = []

    def examine(sample: Sample) -> Finding | None:
        if not is_at_edge(context.subject, sample):
            return None  # one that is smaller and no longer at the edge
        values = context.arguments(sample)
        try:
            got = flat(context.subject.computed(context.call(values, sample), values))
        except EagerCallError as error:
            return context.finding(
                RAISES,
                expected="results",
                got=str(error),
                sample=sample,
                error=error.error,
                script=("operator(**arguments('npu'))", "torch.npu.synchronize()"),
            )
        if not has_reference:
            return None
        for name, value in flat(context.expected(sample)).items():
            found = compare(context, got[name], value, name, context.arguments(sample, "cpu"))
            if found.wrong and is_random(context, sample):
                drawn.append(name)
                continue
            if found.is_wrong:
                return report_wrong_result(context, WRONG, sample, name, found, context.device)
        return None

    given = context.samples.of({"size", "rank", "presence", "length"}, 6)
    chosen = [sample for sample in given if is_at_edge(context.subject, sample)]
    if not chosen and context.column == "absent" and context.subject.facts is None:
        report_use_of_none(context)
        if context.findings:
            return
    if not chosen:
        message = f"no sample that the rules allow has what is called {context.column!r} here"
        raise NotApplicableError(message)
    context.each(examine, samples=chosen[:12])
    if drawn and not context.findings:
        raise NotApplicableError(RANDOM)


def report_use_of_none(context: RowContext) -> None:
    """Report a call that omits an optional argument and fails because None is used."""
    for sample, refusal in context.samples.refused.items():
        if is_absent(context.subject, sample) and any(word in refusal.text for word in NONE_ERRORS):
            context.report(
                RAISES,
                expected="results, or a refusal that says what has to be given",
                got=refusal.text,
                sample=sample,
                script=("operator(**arguments('npu'))", "torch.npu.synchronize()"),
            )
            return


ROW = Row(
    name="edges",
    title="sizes of 0 and 1, absent arguments and empty lists work like all others",
    kinds=(RAISES, WRONG),
    run=run,
    columns=tuple(EDGES),
)
