"""The Autocast keys: floating-point arguments are converted, then autocast is over."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import torch

from opwright.kit.live import dispatcher
from opwright.kit.live.arguments import map_tensors

if TYPE_CHECKING:
    from collections.abc import Callable

    from opwright.kit.declare.operator import Autocast
    from opwright.kit.live.arguments import Values
    from opwright.kit.live.live_operator import LiveOperator

__all__ = ["AUTOCAST_KEYS", "autocast_kernel"]

# The dispatch keys, with the device type whose autocast dtype holds.
AUTOCAST_KEYS = {"AutocastCPU": "cpu", "AutocastPrivateUse1": "npu"}


def autocast_kernel(live: LiveOperator, rule: Autocast, key: str) -> Callable[..., object]:
    """Return the kernel that converts the arguments. What is written keeps its dtype."""
    written = {argument.name for argument in live.facts.schema.mutated}

    def kernel(*args: object, **kwargs: object) -> object:
        values = live.binder.bind(args, kwargs)
        dtype = target(rule, key, [t for t in live.tensors(values) if is_eligible(t)])

        def converted(tensor: torch.Tensor) -> torch.Tensor:
            return tensor.to(dtype) if dtype is not None and is_eligible(tensor) else tensor

        cast: Values = {
            name: value if name in written else map_tensors(converted, value)
            for name, value in values.items()
        }
        with dispatcher.below_key(key):
            return live.binder.call(live.overload(), cast)

    return kernel


def is_eligible(tensor: torch.Tensor) -> bool:
    """Return whether autocast may convert a tensor: as in torch, not float64."""
    return tensor.is_floating_point() and tensor.dtype is not torch.float64


def target(rule: Autocast, key: str, tensors: list[torch.Tensor]) -> torch.dtype | None:
    """Return what tensors become."""
    if rule == "promote":
        dtypes = [tensor.dtype for tensor in tensors]
        return reduce(torch.promote_types, dtypes) if dtypes else None
    if rule == "autocast dtype":
        return torch.get_autocast_dtype(AUTOCAST_KEYS[key])
    dtype: torch.dtype = getattr(torch, rule)
    return dtype
