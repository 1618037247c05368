"""Calls with related arguments give related results, also where nothing says what these are.

An operator without a reference can still contradict itself. What must hold between calls is
stated in the declaration, `relations=`, or shown by the tag pointwise; nothing is guessed:

* Column `permuted`: `"batch N"` says that the elements along the axis N do not know of each other.
  In another order they give the same results in that order. A kernel that carries something from
  one row to the next, or whose blocks overlap, gives others.
* Column `split`: for the same statement, the two halves of the batch give the two halves of the
  results. An error that depends on how many elements there are, or on where one stands in a block,
  shows here.
* Column `padded`: `"padding of x along S behind lengths"` and `"padding of x where mask"` say which
  elements do not matter. Other numbers there must change nothing, but in the padding of results
  that have the same axes.
* Column `linear`: `"linear in x"` says that the results for a sum are the sum of the results, and
  those for -2 times x are -2 times as large. That is compared in float32 and wider types, as far as
  rounding lets it.

Axes go by the names of the patterns in `shapes=`; a result has the axis where its rule says so. All
is compared with the declared tolerances. Random operators are left out, and so are samples without
padding, or with fewer than two elements. (That views of larger buffers give what contiguous tensors
give is row layouts, a thousand calls of one sample are in row determinism, a batch of calls against
one is row vmap.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.check.observe.against_reference import RANDOM
from opwright.check.row import Row
from opwright.check.row_context import NotApplicableError
from opwright.check.rows.relations.batch import (
    PERMUTED,
    POINTWISE,
    SPLIT,
    examine_permuted,
    examine_split,
)
from opwright.check.rows.relations.linear import NOT_LINEAR, examine_linear
from opwright.check.rows.relations.padding import PADDING, examine_padding
from opwright.kit.declare.relations import Batch, Linear, MaskedPadding, PaddingBehind

if TYPE_CHECKING:
    from collections.abc import Callable

    from opwright.check.finding import Finding
    from opwright.check.row_context import RowContext
    from opwright.check.samples import Aspect
    from opwright.check.subject import Subject
    from opwright.kit.declare.relations import Relation
    from opwright.kit.declare.sample import Sample

__all__ = ["ROW"]

# Columns -> the relations that they are about, how one is examined, what differs between samples.
COLUMNS: dict[
    str,
    tuple[
        tuple[type[Relation], ...],
        Callable[[RowContext, Sample, Relation], Finding | None],
        set[Aspect],
    ],
] = {
    "permuted": ((Batch,), examine_permuted, {"size", "rank", "presence"}),
    "split": ((Batch,), examine_split, {"size", "rank", "presence"}),
    "padded": ((PaddingBehind, MaskedPadding), examine_padding, {"size", "presence"}),
    "linear": ((Linear,), examine_linear, {"size", "presence"}),
}


def stated(subject: Subject) -> tuple[Relation, ...]:
    """Return the relations that the declaration states or a tag shows."""
    is_pointwise = "pointwise" in subject.operator.tags
    return (*subject.operator.relations, *((POINTWISE,) if is_pointwise else ()))


def needs(subject: Subject) -> str | None:
    """Say that there is nothing to compare."""
    if subject.is_seeded:
        return RANDOM
    if not stated(subject):
        return "the declaration states no relations=, and has no tag pointwise"
    return None


def run(context: RowContext) -> None:
    """Compare calls whose arguments are related."""
    kinds, examine, vary = COLUMNS[context.column]
    relations = [each for each in stated(context.subject) if isinstance(each, kinds)]
    if not relations:
        message = "the declaration states no relation of this kind"
        raise NotApplicableError(message)

    def examine_all(sample: Sample) -> Finding | None:
        for relation in relations:
            found = examine(context, sample, relation)
            if found is not None:
                return found
        return None

    context.each(examine_all, vary=vary, examples=6)
    if not context.calls:
        texts = ", ".join(repr(str(each)) for each in relations)
        message = f"no sample has enough elements, or padding, for {texts}"
        raise NotApplicableError(message)


ROW = Row(
    name="relations",
    title="related arguments give related results",
    kinds=(PERMUTED, SPLIT, PADDING, NOT_LINEAR),
    run=run,
    columns=tuple(COLUMNS),
    needs=needs,
)
