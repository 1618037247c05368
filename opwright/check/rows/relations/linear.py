"""Linearity: sums and multiples of an argument."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from opwright.check.finding import Kind
from opwright.check.observe.deviation import write_pick
from opwright.check.observe.tensors import roll
from opwright.check.rows.relations.batch import compute
from opwright.kit.declare.relations import Linear

if TYPE_CHECKING:
    from opwright.check.finding import Finding
    from opwright.check.row_context import RowContext
    from opwright.kit.declare.relations import Relation
    from opwright.kit.declare.sample import Sample

__all__ = ["NOT_LINEAR", "examine_linear"]

NOT_LINEAR = Kind(
    "not-linear",
    "the results for a sum or a multiple of an argument are not the sum or multiple of the results",
    "look for a bound, an absolute value, a term that is added, or a condition on values; or take "
    "back what is stated in relations=",
)
# Of the largest result: sums of thousands of products in float32 are exact to less.
ROUNDING = 1e-4
WIDE = (torch.float32, torch.float64, torch.complex64, torch.complex128)
FACTOR = -2.0


def examine_linear(context: RowContext, sample: Sample, relation: Relation) -> Finding | None:
    """Compare the results for a sum and a multiple with those for the parts."""
    assert isinstance(relation, Linear)
    name = relation.tensor
    first = context.arguments(sample)[name]
    if not isinstance(first, torch.Tensor) or first.dtype not in WIDE or not first.numel():
        return None
    second = roll(first) * 0.5

    def results(x: torch.Tensor) -> dict[str, torch.Tensor]:
        values = context.arguments(sample) | {name: x}
        return compute(context, values, sample)

    of_first, of_second = results(first), results(second)
    trials = {
        f"{name} + 0.5 * roll({name})": (results(first + second), 1.0, 1.0),
        f"{FACTOR:g} * {name}": (results(FACTOR * first), FACTOR, 0.0),
    }
    for text, (got, one, other) in trials.items():
        for label, value in got.items():
            if label == name or value.dtype not in WIDE:
                continue
            want = one * of_first[label] + other * of_second[label]
            error = distance(value, want)
            parts = (value, of_first[label], of_second[label])
            allowed = ROUNDING * max(largest(each) for each in parts)
            if error > allowed:
                return context.finding(
                    NOT_LINEAR,
                    expected=f"{label} for {text} from those of the parts, as it is {relation}",
                    got=f"off by {error:.3g}, {allowed:.3g} is allowed",
                    sample=sample,
                    script=script(context, name, label, one, other),
                )
    return None


def distance(one: torch.Tensor, other: torch.Tensor) -> float:
    """Return the largest difference; 0 where nothing is finite."""
    apart = (one - other).abs()
    return largest(apart[apart.isfinite()])


def largest(tensor: torch.Tensor) -> float:
    """Return the largest finite absolute value."""
    finite = tensor[tensor.isfinite()]
    return float(finite.abs().max()) if finite.numel() else 0.0


def script(context: RowContext, name: str, label: str, one: float, other: float) -> tuple[str, ...]:
    """Return the lines that show it alone."""
    taken = write_pick(context.subject.schema, label)
    return (
        "def result(x):",
        "    values = arguments('npu')",
        f"    values[{name!r}] = x",
        "    returned = operator(**values)",
        f"    return {taken}",
        "",
        f"x = arguments('npu')[{name!r}]",
        "y = x.reshape(-1).roll(1).reshape(x.shape) * 0.5",
        f"want = {one} * result(x) + {other} * result(y)",
        f"got = result({one} * x + {other} * y)",
        f"scale = max(got.abs().max(), result(x).abs().max()) * {ROUNDING}",
        "assert (got - want).abs().max() <= scale, (got, want)",
    )
