"""Views as arguments give what contiguous tensors of the same values give.

Each tensor argument is tried as a view: transposed, a part of a larger tensor, behind other
elements of its storage, expanded (stride 0). Results and written arguments are compared with those
of the same call with contiguous copies. A kernel that reads memory one element after the other, or
from its start, passes every test with fresh tensors and computes with the wrong elements when a
model passes it a slice.

An argument that the operator writes is a view as well: its elements must change and no other
element of the storage. An operator that refuses views with an error which names contiguity, strides
or layout is right; the cell then says that it refuses them.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from opwright.check.finding import Kind
from opwright.check.observe.against_reference import differs_by_itself
from opwright.check.observe.deviation import deviation
from opwright.check.observe.memory import Form, snapshots
from opwright.check.row import Row, takes_tensors
from opwright.check.row_context import EagerCallError, NotApplicableError
from opwright.check.samples.layouts import layouts_for
from opwright.check.subject import flat
from opwright.kit.declare.sample import Sample, TensorSpec
from opwright.kit.live.arguments import map_tensors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.check.finding import Finding
    from opwright.check.row_context import RowContext
    from opwright.kit.declare.sample import TensorLayout
    from opwright.kit.live.arguments import Values

__all__ = ["ROW"]

IGNORED = Kind(
    "strides-ignored",
    "a view gives something else than a contiguous tensor of the same values",
    "let the kernel heed strides and storage offset, or call x.contiguous() before it",
)
RAISES = Kind(
    "raises-for-view",
    "the operator raises for a view and does not say that it wants contiguous tensors",
    "call x.contiguous() before the kernel, or check: TORCH_CHECK(x.is_contiguous(), ...)",
)
OUTSIDE = Kind(
    "wrote-beside-view",
    "a written view changes elements of its storage that are not its own",
    "let the kernel heed strides and storage offset of what it writes, or write into a contiguous "
    "copy and copy that back",
)

# The layouts of a column; the first one that a tensor can have is taken.
LAYOUTS: dict[str, tuple[TensorLayout, ...]] = {
    "transposed": ("transposed", "reversed"),
    "channels_last": ("channels_last",),
    "sliced": ("sliced", "strided"),
    "strided": ("strided",),
    "offset": ("offset",),
    "expanded": ("expanded",),
}
REFUSAL = re.compile(r"contiguous|stride|layout|overlap|view", re.IGNORECASE)


def run(context: RowContext) -> None:
    """Compare calls with views and calls with contiguous copies."""
    refused: list[str] = []

    def examine(sample: Sample) -> Finding | None:
        names = [name for name, _ in sample.values]
        given = lay_out(context, sample, set(names))
        if given is None:
            return None
        found = compare(context, given, refused)
        if found is None:
            return None
        # One view is enough, if it shows the same.
        for name in names:
            alone = lay_out(context, sample, {name})
            smaller = None if alone is None else compare(context, alone, [])
            if smaller is not None and smaller.kind == found.kind:
                return smaller
        return found

    context.each(examine, vary={"size", "rank", "presence", "length"}, examples=4)
    if not context.calls:
        message = f"no argument of the samples can be {context.column}"
        raise NotApplicableError(message)
    if refused:
        context.details["refused"] = refused[0]


def lay_out(context: RowContext, sample: Sample, names: set[str]) -> Sample | None:
    """Return the sample with views for some arguments; None if none of them can be one."""
    written = {argument.name for argument in context.subject.schema.mutated}
    values = tuple(
        (name, with_layout(value, context.column, is_written=name in written))
        if name in names
        else (name, value)
        for name, value in sample.values
    )
    return None if values == sample.values else replace(sample, values=values)


def with_layout(value: Any, column: str, *, is_written: bool) -> Any:  # noqa: ANN401 - of a sample
    """Return a value of a sample with tensors that lie in memory as a column says."""
    if isinstance(value, tuple):
        return tuple(with_layout(each, column, is_written=is_written) for each in value)
    if not isinstance(value, TensorSpec):
        return value
    possible = layouts_for(value.shape, is_written=is_written)
    chosen = next((each for each in LAYOUTS[column] if each in possible), None)
    return value if chosen is None else replace(value, layout=chosen)


def compare(context: RowContext, sample: Sample, refused: list[str]) -> Finding | None:
    """Compare a call with views and one with contiguous copies of them."""
    plain = {n: map_tensors(copy, v) for n, v in context.arguments(sample).items()}
    want = compute(context, plain, sample)
    values = context.arguments(sample)
    before = snapshots(values)
    try:
        got = compute(context, values, sample)
    except EagerCallError as error:
        if REFUSAL.search(str(error)):
            refused.append(str(error))
            return None
        return context.finding(
            RAISES,
            expected="what contiguous tensors give, or an error that says contiguous",
            got=f"{views(values)}: {error}",
            sample=sample,
            error=error.error,
            script=("operator(**arguments('npu'))", "torch.npu.synchronize()"),
        )
    for name, value in want.items():
        found = deviation(got[name], value, context.subject.operator.tolerances)
        if found.wrong and is_drawn(context, sample):
            continue  # two draws show nothing of strides
        if found.is_wrong:
            return context.finding(
                IGNORED,
                expected=f"{name} as with contiguous tensors",
                got=f"{views(values)}: {found}",
                sample=sample,
                script=script(context, name),
            )
    for each in before:
        places = each.outside().tolist()
        if places:
            return context.finding(
                OUTSIDE,
                expected=f"writes in {each.label} alone: {each.form}",
                got=f"{len(places)} other elements of its storage changed: {places[:8]}",
                sample=sample,
            )
    return None


def is_drawn(context: RowContext, sample: Sample) -> bool:
    """Return whether contiguous tensors give something else each time."""

    def call(other: Sample) -> dict[str, torch.Tensor]:
        plain = {n: map_tensors(copy, v) for n, v in context.arguments(other).items()}
        return compute(context, plain, other)

    if context.draws is None:
        context.draws = context.subject.is_seeded or differs_by_itself(context, call, sample)
    return context.draws


def compute(context: RowContext, values: Values, sample: Sample) -> dict[str, torch.Tensor]:
    """Call the operator and return what it computed, contiguous on the CPU."""
    results = flat(context.subject.computed(context.call(values, sample), values))
    return {name: copy(value.detach().cpu()) for name, value in results.items()}


def copy(tensor: torch.Tensor) -> torch.Tensor:
    """Return a contiguous copy."""
    return tensor.clone(memory_format=torch.contiguous_format)


def views(values: Values) -> str:
    """Say which arguments are views."""
    return "with " + ", ".join(describe_layouts(values))


def describe_layouts(values: Values) -> Iterator[str]:
    """Yield how each argument that is not contiguous, or begins later, lies in memory."""
    for name, value in values.items():
        for tensor in value if isinstance(value, list | tuple) else [value]:
            if isinstance(tensor, torch.Tensor) and not (
                tensor.is_contiguous() and not tensor.storage_offset()
            ):
                yield f"{name} with {Form.of(tensor)}"


def script(context: RowContext, name: str) -> tuple[str, ...]:
    """Return the lines that compare the two calls."""
    from opwright.check.observe.deviation import write_pick  # noqa: PLC0415 - for a fault only

    taken = write_pick(context.subject.schema, name)
    return (
        "values = arguments('npu')",
        "def copied(value):",
        "    if isinstance(value, list):",
        "        return [copied(each) for each in value]",
        "    is_tensor = isinstance(value, torch.Tensor)",
        "    return value.clone(memory_format=torch.contiguous_format) if is_tensor else value",
        "plain = {name: copied(value) for name, value in values.items()}",
        "returned = operator(**values)",
        f"got = {taken}",
        "values, returned = plain, operator(**plain)",
        f"want = {taken}",
        "torch.testing.assert_close(got, want)",
    )


ROW = Row(
    name="layouts",
    title="views give what contiguous tensors give",
    kinds=(IGNORED, RAISES, OUTSIDE),
    run=run,
    columns=tuple(LAYOUTS),
    needs=takes_tensors,
)
