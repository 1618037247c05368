"""The operator writes the arguments that its schema says, all of them, and nothing else.

All bytes of the arguments' storages are compared before and after each call, with samples of
different dtypes, sizes and values, optional arguments given and not.

* An argument that changes and is not annotated breaks every graph: torch.compile reorders or drops
  the call, and the model computes something else without an error.
* An annotation of an argument that no sample changes is a clone in each graph.
* A written argument is tried as the middle of a larger tensor: what lies before and behind it must
  stay as it is.
* Sizes, strides and memory of an argument are not changed.
* Autograd sees each write: the version counter of what is written goes up. Otherwise a backward
  uses what was overwritten, where torch should raise.
* One tensor may be passed for a written argument and for one that is read, f_(y, y), where the
  reference computes what it does for f_(y, y.clone()): elsewhere the operator may do as it likes,
  and it may raise in any case. An out= argument is left out.

A sample that happens to hold what would be written shows nothing; so an annotated argument is
accused only if no sample changes it, not with large values either, and the reference does not
touch it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from opwright.check.finding import Kind
from opwright.check.observe.against_reference import is_random, report_wrong_result
from opwright.check.observe.memory import Form, label_tensors, snapshots
from opwright.check.observe.one_tensor import find_clash
from opwright.check.row import Row, takes_tensors
from opwright.check.row_context import EagerCallError
from opwright.kit.live.arguments import map_tensors

if TYPE_CHECKING:
    from collections.abc import Callable

    from opwright.check.finding import Finding
    from opwright.check.observe.memory import Snapshot
    from opwright.check.row_context import RowContext
    from opwright.kit.declare.sample import Sample
    from opwright.kit.live.arguments import Values

__all__ = ["ROW"]

UNDECLARED = Kind(
    "undeclared-write",
    "an argument is written and the schema does not say so",
    "annotate it, Tensor(a!) x, or write into a copy",
)
NEVER = Kind(
    "never-written",
    "an argument is annotated as written and no call changes it",
    "remove the annotation: it costs a clone in each graph",
)
OUTSIDE = Kind(
    "write-outside",
    "memory beside a written argument is changed",
    "let the kernel heed sizes, strides and storage offset of what it writes",
)
MOVED = Kind(
    "argument-resized",
    "the call changes sizes, strides or memory of an argument",
    "write into the memory that was given; return a new tensor where the size is not known before",
)
UNSEEN = Kind(
    "version-not-bumped",
    "autograd does not see the write of an annotated argument",
    "register an ADInplaceOrView kernel that calls torch.autograd.graph.increment_version, or use "
    "torch.library.custom_op(mutates_args=...), which does",
)

OVERLAP = Kind(
    "reads-what-it-wrote",
    "an argument that is the written one as well is read after it has been overwritten",
    "read what is needed before the first write, or raise where two arguments are one tensor",
)

MARGIN = 16  # elements before and behind a padded tensor
LARGE = 1000.0


def run(context: RowContext) -> None:
    """Compare what is written with what is annotated."""
    device = context.device_of_column()
    annotated = {argument.name for argument in context.subject.schema.mutated}
    written: set[str] = set()
    given: dict[str, Sample] = {}

    def examine(sample: Sample) -> Finding | None:
        values = context.arguments(sample, device)
        for name, _, tensor in label_tensors(values):
            if name in annotated and tensor.numel():
                given.setdefault(name, sample)
        found = observe(context, sample, values, annotated, written)
        if found is None and annotated:
            values = {
                name: map_tensors(pad, value) if name in annotated else value
                for name, value in context.arguments(sample, device).items()
            }
            found = observe(context, sample, values, annotated, written, is_padded=True)
        return found or (examine_overlap(context, sample) if annotated else None)

    context.each(examine, vary={"dtype", "size", "presence", "length", "value"}, examples=12)
    if not context.findings:
        for name in sorted(given.keys() - written):
            context.findings += report_never_written(context, given[name], name, device)


def observe(
    context: RowContext,
    sample: Sample,
    values: Values,
    annotated: set[str],
    written: set[str],
    *,
    is_padded: bool = False,
) -> Finding | None:
    """Call the operator and return what is wrong with what it wrote; note what it wrote."""
    before = snapshots(values)
    try:
        context.call(values, sample)
    except EagerCallError as error:
        if "OPW-L032" not in str(error):
            raise
        return context.finding(
            UNDECLARED, expected="annotations of all that is written", got=str(error), sample=sample
        )
    for each in before:
        found = judge_tensor(context, each, sample, is_annotated=each.name in annotated)
        if found is not None:
            return found
        changed = bool(each.written().any())
        if changed:
            written.add(each.name)
        if is_padded and each.name in annotated and each.outside().numel():
            return report_outside(context, each, sample)
    return None


def examine_overlap(context: RowContext, sample: Sample) -> Finding | None:
    """Give a written argument for another one as well, where the reference allows that."""
    subject = context.subject
    if (
        context.column == "cpu"
        or subject.reference is None
        or subject.is_seeded
        or subject.schema.is_out_variant
    ):
        return None
    found = find_clash(context, sample)
    if found is None:
        return None
    if found.deviation.wrong and is_random(context, sample):
        return None
    return report_wrong_result(
        context,
        OVERLAP,
        sample,
        found.result,
        found.deviation,
        context.device,
        change=(f"values[{found.read!r}] = values[{found.written!r}]",),
        got=f"with one tensor for {found.written} and {found.read}: ",
    )


def judge_tensor(
    context: RowContext, each: Snapshot, sample: Sample, *, is_annotated: bool
) -> Finding | None:
    """Return what is wrong with one tensor after a call."""
    place = context.device_of_column()
    if each.is_moved:
        return context.finding(
            MOVED,
            expected=f"{each.label} with {each.form}",
            got=f"{Form.of(each.tensor)}, {each.tensor.untyped_storage().nbytes()} bytes",
            sample=sample,
            script=(
                f"values = arguments({place!r})",
                f"before = values{item(each)}.untyped_storage()._cdata, values{item(each)}.shape",
                "operator(**values)",
                f"after = values{item(each)}.untyped_storage()._cdata, values{item(each)}.shape",
                "assert after == before",
            ),
        )
    if not is_annotated:
        if not each.changed().any():
            return None
        return context.finding(
            UNDECLARED,
            expected=f"{each.label} as it was: {context.subject.schema} annotates "
            f"{', '.join(a.name for a in context.subject.schema.mutated) or 'nothing'}",
            got=each.difference() if each.written().any() else outside_text(each),
            sample=sample,
            fix=f"annotate it, Tensor(a!) {each.name}, or write into a copy",
            script=(
                f"values = arguments({place!r})",
                f"before = values{item(each)}.clone()",
                "operator(**values)",
                f"assert torch.equal(values{item(each)}, before)",
            ),
        )
    if each.written().any() and not each.is_bumped and not each.tensor.is_inference():
        return context.finding(
            UNSEEN,
            expected=f"a higher version of {each.label}",
            got=f"version {each.version} before and after; {each.difference()}",
            sample=sample,
            script=(
                f"values = arguments({place!r})",
                f"before = values{item(each)}._version",
                "operator(**values)",
                f"assert values{item(each)}._version > before",
            ),
        )
    return None


def report_outside(context: RowContext, each: Snapshot, sample: Sample) -> Finding:
    """Return the finding of a write beside an argument."""
    return context.finding(
        OUTSIDE,
        expected=f"what is around {each.label} as it was: it has storage offset "
        f"{each.form.offset} and strides {list(each.form.strides)}",
        got=outside_text(each),
        sample=sample,
        script=(
            "values = arguments('npu')",
            f"given = values{item(each)}",
            f"around = torch.ones(given.numel() + {2 * MARGIN}, dtype=given.dtype, device='npu')",
            f"view = around[{MARGIN}:-{MARGIN}].view(given.shape).copy_(given)",
            f"values{item(each)} = view",
            "operator(**values)",
            f"ends = torch.cat([around[:{MARGIN}], around[-{MARGIN}:]])",
            "assert torch.equal(ends, torch.ones_like(ends))",
        ),
    )


def outside_text(each: Snapshot) -> str:
    """Say what changed beside a tensor."""
    places = each.outside().tolist()
    return f"{len(places)} elements of its storage changed that are not its own: {places[:8]}"


def item(each: Snapshot) -> str:
    """Return the Python that takes a tensor out of the arguments.

    >>> from opwright.check.observe.memory import Snapshot
    >>> item(Snapshot("xs", "xs[0]", None, None, 0, 0, None))
    "['xs'][0]"
    """
    return f"[{each.name!r}]{each.label.removeprefix(each.name)}"


def pad(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor as the middle of a larger one."""
    around = torch.ones(tensor.numel() + 2 * MARGIN, dtype=tensor.dtype, device=tensor.device)
    middle = around.as_strided(tensor.shape, tensor.contiguous().stride(), MARGIN)
    return middle.copy_(tensor)


# Arguments that no sample changed.


def report_never_written(
    context: RowContext, sample: Sample, name: str, device: str
) -> list[Finding]:
    """Return the finding of an annotation too many, unless other values or the reference write."""
    for fill in (large, torch.zeros_like):
        values = context.arguments(sample, device)
        values[name] = map_tensors(fill, values[name])
        if is_changed(name, values, lambda: context.call(values, sample)):  # noqa: B023 - called now
            return []
    if context.subject.reference is not None:
        values = context.arguments(sample, "cpu")
        if is_changed(name, values, lambda: context.subject.expected(values), by_version=True):
            return []
    argument = context.subject.schema.argument(name)
    return [
        context.finding(
            NEVER,
            expected=f"a sample that changes {argument}",
            got="the same bytes after each call, with large values and zeros as well",
            sample=sample,
            fix=f"write {str(argument).replace(str(argument.alias), '', 1)}"
            if argument and argument.alias
            else None,
            script=(
                f"alias = {{a.name: a.alias_info for a in operator._schema.arguments}}[{name!r}]",
                "assert alias is None or not alias.is_write",
            ),
        )
    ]


def is_changed(
    name: str, values: Values, call: Callable[[], Any], *, by_version: bool = False
) -> bool:
    """Return whether a call writes an argument; what it raises for odd values tells nothing."""
    before = [each for each in snapshots(values) if each.name == name]
    try:
        call()
    except (EagerCallError, RuntimeError, ValueError, TypeError, IndexError):
        return True
    return any(
        each.is_moved or bool(each.written().any()) or (by_version and each.is_bumped)
        for each in before
    )


def large(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor of large values of both signs; integers stay, which may be indices."""
    if not tensor.is_floating_point():
        return tensor
    signs = torch.ones(tensor.numel(), dtype=tensor.dtype, device=tensor.device)
    signs[::2] = -1
    return (signs * LARGE).reshape(tensor.shape)


ROW = Row(
    name="mutation",
    title="what is written is what the schema annotates",
    kinds=(UNDECLARED, NEVER, OUTSIDE, MOVED, UNSEEN, OVERLAP),
    run=run,
    columns=("npu", "cpu"),
    needs=takes_tensors,
)
