"""An explicit sample as the solver would have made it: every tensor with its dtype, no defaults."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from opwright.check.samples.values import is_default
from opwright.kit.declare.sample import Sample, TensorSpec
from opwright.kit.live.arguments import tensors_in
from opwright.kit.live.samples import sample_arguments

if TYPE_CHECKING:
    import torch

    from opwright.kit.declare.operator import Operator
    from opwright.kit.declare.sample import Value

__all__ = ["resolve"]


def resolve(operator: Operator, sample: Sample) -> Sample:
    """Return the sample with the dtypes that its tensors get, in the order of the schema."""
    made = sample_arguments(operator, sample)
    given = dict(sample.values)
    return Sample(
        tuple(
            (
                argument.name,
                with_dtypes(given[argument.name], list(tensors_in(made[argument.name]))),
            )
            for argument in operator.schema.arguments
            if argument.name in given and not is_default(argument, given[argument.name])
        ),
        sample.seed,
    )


def with_dtypes(value: Value, tensors: list[torch.Tensor]) -> Value:
    """Return a value whose tensors have dtypes; they are taken from the list."""
    if isinstance(value, TensorSpec):
        return replace(value, dtype=str(tensors.pop(0).dtype).removeprefix("torch."))
    if isinstance(value, tuple):
        return tuple(with_dtypes(each, tensors) for each in value)
    return value
