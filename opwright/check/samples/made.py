"""Samples -> the arguments of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from opwright.kit.declare.schema import Base
from opwright.kit.live.arguments import tensors_in
from opwright.kit.live.samples import sample_arguments

if TYPE_CHECKING:
    from opwright.kit.declare.operator import Operator
    from opwright.kit.declare.sample import Sample
    from opwright.kit.live.arguments import Values

__all__ = ["arguments"]


def arguments(operator: Operator, sample: Sample, device: str) -> Values:
    """Return fresh arguments by name, of the same values on all devices.

    Without a tensor among them, a Device argument says where the operator runs: it is `device`.
    """
    values: Values = sample_arguments(operator, sample, device)
    if any(True for value in values.values() for _ in tensors_in(value)):
        return values
    for argument in operator.schema.arguments:
        if argument.type.base is Base.DEVICE and not argument.type.is_list:
            values[argument.name] = torch.device(device)
    return values
