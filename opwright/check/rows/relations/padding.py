"""Padding: elements that do not matter are others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from opwright.check.finding import Kind
from opwright.check.observe.deviation import deviation, write_pick
from opwright.check.observe.tensors import roll
from opwright.check.rows.relations.axes import has_all, list_axes, shapes_of_results
from opwright.check.rows.relations.batch import compute
from opwright.kit.declare.relations import MaskedPadding, PaddingBehind

if TYPE_CHECKING:
    from typing import Any

    from opwright.check.finding import Finding
    from opwright.check.row_context import RowContext
    from opwright.check.subject import Subject
    from opwright.kit.declare.relations import Relation
    from opwright.kit.declare.sample import Sample
    from opwright.kit.live.arguments import Values

__all__ = ["PADDING", "examine_padding"]

PADDING = Kind(
    "padding-matters",
    "elements that do not matter change the results",
    "leave padding out of sums, maxima and means: select with torch.where before them, and count "
    "the elements that remain; or take back what is stated in relations=",
)


def examine_padding(context: RowContext, sample: Sample, relation: Relation) -> Finding | None:
    """Compare a call with one that has other padding."""
    assert isinstance(relation, PaddingBehind | MaskedPadding)
    values = context.arguments(sample, "cpu")
    padding = find_padding(context.subject, values, relation)
    if padding is None or not padding.mask.any():
        return None
    name = relation.tensor
    before = values[name]
    other = roll(before)
    if before.is_floating_point():
        other = other * 3 + 1
    changed = torch.where(padding.mask, other, before)
    want = compute(context, context.arguments(sample), sample)
    given = context.arguments(sample) | {name: changed.to(context.device)}
    got = compute(context, given, sample)
    for label, value in want.items():
        kept = padding.keep(context.subject, values, label, value)
        if label == name:
            continue
        found = deviation(got[label][kept], value[kept], context.subject.operator.tolerances)
        if found.is_wrong:
            taken = write_pick(context.subject.schema, label)
            return context.finding(
                PADDING,
                expected=f"{label} as before: {relation}",
                got=f"with {int(padding.mask.sum())} other elements in the padding: {found}",
                sample=sample,
                script=(
                    "values = arguments('npu')",
                    "returned = operator(**values)",
                    f"want = {taken}",
                    "values = arguments('npu')",
                    f"padding = torch.tensor({padding.mask.tolist()}, device='npu')",
                    f"x = values[{name!r}]",
                    "other = x.reshape(-1).roll(1).reshape(x.shape)",
                    "other = other * 3 + 1 if x.is_floating_point() else other",
                    f"values[{name!r}] = torch.where(padding, other, x)",
                    "returned = operator(**values)",
                    f"got = {taken}  # its own padding, if it has any, may differ",
                    *(
                        ("torch.testing.assert_close(got, want)",)
                        if bool(kept.all())
                        else (
                            f"kept = torch.tensor({kept.tolist()})",
                            "torch.testing.assert_close(got.cpu()[kept], want.cpu()[kept])",
                        )
                    ),
                ),
            )
    return None


class Padding:
    """The elements of a tensor that do not matter.

    Parameters
    ----------
    axes
        The axes that decide it, in the order of the tensor: names, and their places.
    mask
        For each element of the tensor whether it does not matter.
    """

    def __init__(self, tensor: str, axes: dict[str, int], mask: torch.Tensor) -> None:
        self.tensor = tensor
        self.axes = axes
        self.mask = mask

    def keep(
        self, subject: Subject, values: Values, label: str, result: torch.Tensor
    ) -> torch.Tensor:
        """Return which elements of a result are to be compared: no padding of its own."""
        kept = torch.ones(result.shape, dtype=torch.bool)
        arguments = {name: {self.tensor: place} for name, place in self.axes.items()}
        shape = shapes_of_results(subject, values, arguments).get(label)
        if shape is None or not has_all(shape, self.axes):
            return kept
        names: list[Any] = [getattr(size, "name", None) for size in shape]
        order = [name for name in names if name in self.axes]
        if len(order) != len(self.axes):
            return kept
        others = [axis for axis in range(self.mask.ndim) if axis not in self.axes.values()]
        small = self.mask
        for axis in sorted(others, reverse=True):
            small = small.select(axis, 0)
        by_place = sorted(self.axes, key=lambda name: self.axes[name])
        small = small.permute([by_place.index(name) for name in order])
        for axis, name in enumerate(names):
            if name not in self.axes:
                small = small.unsqueeze(axis)
        return kept & ~small


def find_padding(
    subject: Subject, values: Values, relation: PaddingBehind | MaskedPadding
) -> Padding | None:
    """Return the padding of a call; None if it has none."""
    tensor = values[relation.tensor]
    source = relation.lengths if isinstance(relation, PaddingBehind) else relation.mask
    selector = values[source]
    if not isinstance(tensor, torch.Tensor) or not isinstance(selector, torch.Tensor):
        return None
    if not tensor.numel():
        return None
    axes = list_axes(subject, relation.tensor, tensor.ndim)
    own = list_axes(subject, source, selector.ndim)
    if any(name.startswith("*") for name in own):
        return None  # several axes of a name are no single place
    used = {name: axes[name] for name in own}
    order = sorted(used, key=lambda name: used[name])
    spread = selector.permute([own[name] for name in order])
    for axis in range(tensor.ndim):
        if axis not in used.values():
            spread = spread.unsqueeze(axis)
    if isinstance(relation, PaddingBehind):
        axis = axes[relation.axis]
        sizes = [-1 if each == axis else 1 for each in range(tensor.ndim)]
        places = torch.arange(tensor.shape[axis]).reshape(sizes)
        mask = places >= spread
        used = used | {relation.axis: axis}
    else:
        mask = spread.bool() == relation.wanted
    return Padding(relation.tensor, used, mask.expand(tensor.shape))
