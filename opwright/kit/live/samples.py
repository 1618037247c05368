"""The values of a sample: what an operator, or its reference, is called with."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import torch

from opwright.kit.declare.defaults import default_value
from opwright.kit.declare.rules import DtypeSet, SameDtype
from opwright.kit.declare.sample import TensorSpec
from opwright.kit.live.arguments import tensors_in, torch_value
from opwright.kit.shipped.support import laid_out

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.kit.declare.operator import Operator
    from opwright.kit.declare.sample import Sample
    from opwright.kit.declare.schema import Argument

__all__ = ["sample_arguments"]


def sample_arguments(operator: Operator, sample: Sample, device: str = "cpu") -> dict[str, object]:
    """Return the values of a sample by argument, and defaults for what it lacks.

    Tensors have the same values in each call, and on all devices.
    """
    generator = torch.Generator().manual_seed(sample.seed)
    given = dict(sample.values)
    values: dict[str, object] = {}
    for argument in operator.schema.arguments:
        if argument.name in given:
            value: object = given[argument.name]
        else:
            value = default_value(argument)
        values[argument.name] = convert(value, argument, operator, values, generator, device)
    return values


def convert(
    value: object,
    argument: Argument,
    operator: Operator,
    values: Mapping[str, object],
    generator: torch.Generator,
    device: str,
) -> object:
    """Turn the value of a sample, or a default, into what the reference gets."""
    if isinstance(value, TensorSpec):
        dense = make_tensor(value, dtype_of(value, argument.name, operator, values), generator)
        # Laid out behind the copy: one between devices keeps neither offsets nor expanded axes.
        return laid_out(dense.to(device), value.layout)
    if isinstance(value, list | tuple):
        return [convert(each, argument, operator, values, generator, device) for each in value]
    return torch_value(value, argument.type.base)


def dtype_of(
    spec: TensorSpec, name: str, operator: Operator, values: Mapping[str, object]
) -> torch.dtype:
    """Return the dtype of a tensor: the sample's, that of the tensor it equals, or the first."""
    if spec.dtype is not None:
        return cast("torch.dtype", getattr(torch, spec.dtype))
    seen: set[str] = set()
    while name not in seen:
        seen.add(name)
        rule = operator.dtypes.get(name)
        if isinstance(rule, DtypeSet):
            return cast("torch.dtype", getattr(torch, rule.names[0]))
        if isinstance(rule, SameDtype):
            name = rule.tensor
            known = next(tensors_in(values.get(name)), None)
            if known is not None:
                return known.dtype
    return torch.float32


def make_tensor(spec: TensorSpec, dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    """Make a tensor of the given values, or of random ones between the bounds."""
    if spec.values is not None:
        return torch.tensor(spec.values).reshape(spec.shape).to(dtype)
    if dtype.is_complex:
        parts = [make_tensor(spec, torch.float32, generator) for _ in range(2)]
        return torch.complex(*parts).to(dtype)
    if dtype.is_floating_point:
        low = -1.0 if spec.low is None else spec.low
        high = 1.0 if spec.high is None else spec.high
        wide = torch.empty(spec.shape, dtype=torch.float32)
        return wide.uniform_(low, high, generator=generator).to(dtype)
    least = 0 if spec.low is None else int(spec.low)
    most = (1 if dtype is torch.bool else 9) if spec.high is None else int(spec.high)
    return torch.randint(least, most + 1, spec.shape, generator=generator).to(dtype)
