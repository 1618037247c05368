"""Meta tensors whose sizes multiply to more than 32 bits hold: they take no memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

from opwright.check.observe.memory import argument_text, label_tensors
from opwright.check.observe.meta_calls import move_to_meta
from opwright.check.observe.sizes import resize
from opwright.check.samples import arguments
from opwright.check.samples.specs import specs_of
from opwright.check.subject import flat
from opwright.kit.declare.sample import Sample, TensorSpec
from opwright.kit.live.arguments import Binder
from opwright.kit.live.reference import new_results

if TYPE_CHECKING:
    from opwright.check.row_context import RowContext
    from opwright.check.subject import Subject
    from opwright.kit.live.arguments import Values

__all__ = ["enlarge_to_meta", "large_shapes", "reference_takes", "write_large"]

ELEMENTS = 33  # of a tensor, as a power of two
MOST_ELEMENTS = 1 << 56  # bytes are counted in 64 bits


def enlarge_to_meta(context: RowContext, sample: Sample) -> Values | None:
    """Return the arguments of a sample with meta tensors of many elements.

    Equal sizes stay equal, and multiples multiples; None if no size can grow, or a tensor would
    have 2^56 elements or more.
    """
    rank = max((sum(size > 1 for size in spec.shape) for spec in specs_of(sample)), default=0)
    if not rank:
        return None
    factor = 2 ** math.ceil(ELEMENTS / rank)
    larger = resize(context.subject.schema, sample, lambda size: size * factor)
    if any(math.prod(spec.shape) >= MOST_ELEMENTS for spec in specs_of(larger)):
        return None
    # Arguments of the usual size first: no tensor of this one is made.
    values = arguments(context.subject.operator, sample, "cpu")
    given = dict(larger.values)
    found = {}
    for name, value in values.items():
        found[name] = move_to_meta(with_sizes(value, given.get(name, value)))
    return found


def with_sizes(value: Any, larger: Any) -> Any:  # noqa: ANN401 - any argument
    """Return a meta tensor with the sizes of a description; what is no tensor as it is there."""
    if isinstance(value, torch.Tensor):
        assert isinstance(larger, TensorSpec)
        return torch.empty(larger.shape, dtype=value.dtype, device="meta")
    if isinstance(value, list | tuple) and any(isinstance(e, torch.Tensor) for e in value):
        return [with_sizes(one, other) for one, other in zip(value, larger, strict=True)]
    is_number = isinstance(larger, int) and not isinstance(larger, bool)
    return larger if is_number else value


def large_shapes(subject: Subject, values: Values) -> dict[str, tuple[int, ...]] | None:
    """Return the shapes of new results, by the rules or else the reference; None if neither says.

    What they refuse is no call, and a result of too many elements none that Meta can make.
    """
    try:
        if subject.rules is not None:
            subject.rules.check(values)
            by_rules = {
                output.name: tuple(subject.rules.shape(output, values))
                for output in subject.rules.facts.outputs
                if output.is_new and output.shape is not None and not output.type.is_list
            }
            if any(math.prod(shape) >= MOST_ELEMENTS for shape in by_rules.values()):
                return None
            if by_rules:
                return by_rules
        if subject.operator.reference is None:
            return None
        returned = Binder.of(subject.schema).call(subject.operator.reference, values)
        results = new_results(subject.operator, returned, values, where=subject.where)
        return {name: tuple(tensor.shape) for name, tensor in flat(results).items()}
    except Exception:  # noqa: BLE001 - the rules refuse these sizes, or the user's function does
        return None


def reference_takes(subject: Subject, values: Values) -> bool:
    """Return whether the reference accepts the arguments: rules need not know of all limits."""
    if subject.operator.reference is None:
        return False
    try:
        Binder.of(subject.schema).call(subject.operator.reference, values)
    except Exception:  # noqa: BLE001 - the user's function refuses these sizes
        return False
    return True


def write_large(context: RowContext, sample: Sample, values: Values) -> tuple[str, ...]:
    """Return the lines of a script that call the operator with enlarged arguments."""
    usual = context.arguments(sample, "cpu")
    numbers = {
        name: value
        for name, value in values.items()
        if isinstance(value, int) and value != usual[name]
    }
    return (
        "values = arguments('meta')",
        *(
            f"{argument_text(label)} = torch.empty({tuple(each.shape)}, dtype={each.dtype}, "
            "device='meta')"
            for _, label, each in label_tensors(values)
        ),
        *(f"{argument_text(name)} = {number}" for name, number in numbers.items()),
        "returned = operator(**values)",
    )
