"""Batches: in another order, and in two halves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from opwright.check.finding import Kind
from opwright.check.observe.deviation import deviation, write_pick
from opwright.check.row_context import EagerCallError
from opwright.check.rows.relations.axes import find_places
from opwright.check.subject import flat
from opwright.kit.declare.relations import Batch

if TYPE_CHECKING:
    from collections.abc import Callable

    from opwright.check.finding import Finding
    from opwright.check.row_context import RowContext
    from opwright.check.rows.relations.axes import Places
    from opwright.kit.declare.relations import Relation
    from opwright.kit.declare.sample import Sample
    from opwright.kit.live.arguments import Values

__all__ = ["PERMUTED", "POINTWISE", "SPLIT", "compute", "examine_permuted", "examine_split"]

PERMUTED = Kind(
    "batch-order",
    "the elements of a batch give something else in another order",
    "compute each element from its own arguments: initialise sums for each of them, and take "
    "offsets from the element's place; or take back what is stated in relations=",
)
SPLIT = Kind(
    "batch-split",
    "half of a batch gives something else than the whole",
    "look for what depends on how many elements there are, or on where one stands in a block; or "
    "take back what is stated in relations=",
)
FEWEST = 2
POINTWISE = Batch("*")  # any axis, as the tag says


def examine_permuted(context: RowContext, sample: Sample, relation: Relation) -> Finding | None:
    """Compare a call with one on the batch in another order."""
    places = places_of(context, sample, relation)
    if places is None:
        return None
    order = shuffle(places.size)

    def permute(values: Values) -> Values:
        taken = torch.tensor(order, device=context.device)
        return change(values, places, lambda each, axis: each.index_select(axis, taken))

    want = compute(context, context.arguments(sample), sample)
    got = compute(context, permute(context.arguments(sample)), sample)
    for label, axis in results_of(want, places).items():
        expected = want[label].index_select(axis, torch.tensor(order))
        found = deviation(got[label], expected, context.subject.operator.tolerances)
        if found.is_wrong:
            taken = write_pick(context.subject.schema, label)
            return context.finding(
                PERMUTED,
                expected=f"{label} in the order {order} of {describe(relation)}, as its arguments",
                got=str(found),
                sample=sample,
                script=(
                    f"order = torch.tensor({order}, device='npu')",
                    "values = arguments('npu')",
                    *(
                        f"values[{name!r}] = values[{name!r}].index_select({at}, order)"
                        for name, at in places.arguments.items()
                    ),
                    "returned = operator(**values)",
                    f"got = {taken}",
                    "values = arguments('npu')",
                    "returned = operator(**values)",
                    f"want = {taken}.index_select({axis}, order)",
                    "torch.testing.assert_close(got, want)",
                ),
            )
    return None


def examine_split(context: RowContext, sample: Sample, relation: Relation) -> Finding | None:
    """Compare a call with one on each half of the batch."""
    places = places_of(context, sample, relation)
    if places is None:
        return None
    middle = (places.size + 1) // 2
    bounds = [(0, middle), (middle, places.size)]

    def part(start: int, stop: int) -> Values:
        def narrow(each: torch.Tensor, axis: int) -> torch.Tensor:
            return each.narrow(axis, start, stop - start).contiguous()

        return change(context.arguments(sample), places, narrow)

    want = compute(context, context.arguments(sample), sample)
    try:
        if context.subject.rules is not None:
            for bound in bounds:
                context.subject.rules.check(part(*bound))
        halves = [compute(context, part(*bound), sample) for bound in bounds]
    except (EagerCallError, ValueError):
        return None  # sizes of halves are refused; row numerics tries smaller sizes
    for label, axis in results_of(want, places).items():
        joined = torch.cat([each[label] for each in halves], axis)
        found = deviation(joined, want[label], context.subject.operator.tolerances)
        if found.is_wrong:
            taken = write_pick(context.subject.schema, label)
            return context.finding(
                SPLIT,
                expected=f"{label} of the whole, from {middle} and {places.size - middle} elements "
                f"of {describe(relation)}",
                got=str(found),
                sample=sample,
                script=(
                    "parts = []",
                    f"for start, size in {[(a, b - a) for a, b in bounds]}:",
                    "    values = arguments('npu')",
                    *(
                        f"    values[{name!r}] = "
                        f"values[{name!r}].narrow({at}, start, size).contiguous()"
                        for name, at in places.arguments.items()
                    ),
                    "    returned = operator(**values)",
                    f"    parts.append({taken})",
                    "values = arguments('npu')",
                    "returned = operator(**values)",
                    f"torch.testing.assert_close(torch.cat(parts, {axis}), {taken})",
                ),
            )
    return None


def places_of(context: RowContext, sample: Sample, relation: Relation) -> Places | None:
    """Return where the batch is; None if this sample has fewer than two elements."""
    assert isinstance(relation, Batch)
    places = find_places(context.subject, context.arguments(sample, "meta"), relation.axis)
    return None if places is None or places.size < FEWEST or not places.results else places


def describe(relation: Relation) -> str:
    """Say which batch it is."""
    return "the first axis, by the tag pointwise" if relation == POINTWISE else str(relation)


def results_of(computed: dict[str, torch.Tensor], places: Places) -> dict[str, int]:
    """Return the computed tensors that have the axis, with its place."""
    return {label: places.results[label] for label in computed if label in places.results}


def change(
    values: Values, places: Places, make: Callable[[torch.Tensor, int], torch.Tensor]
) -> Values:
    """Return arguments where the tensors with the axis are others."""
    return values | {name: make(values[name], axis) for name, axis in places.arguments.items()}


def shuffle(count: int) -> list[int]:
    """Return an order in which few elements are where they were, the same one each time."""
    order: list[int] = torch.randperm(count, generator=torch.Generator().manual_seed(0)).tolist()
    return order if order != list(range(count)) else order[::-1]


def compute(context: RowContext, values: Values, sample: Sample) -> dict[str, torch.Tensor]:
    """Call the operator and return what it computed, on the CPU."""
    results = flat(context.subject.computed(context.call(values, sample), values))
    return {name: value.detach().cpu() for name, value in results.items()}
