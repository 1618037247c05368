"""Models that write tensors by operators, as people write them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

__all__ = ["MODELS", "Model"]

ops: Any = torch.ops.in_graphs


@dataclass(frozen=True, kw_only=True)
class Model:
    """A model.

    Parameters
    ----------
    shapes
        Of its inputs; None is the size that changes from call to call.
    launched
        Its operators of the set in the order of their launches.
    copies
        How many copies it takes: those that somebody would see if they were missing.
    """

    function: Callable[..., Any]
    shapes: tuple[tuple[int | None, ...], ...]
    launched: tuple[str, ...]
    copies: int = 0


def cache(cache: Tensor, x: Tensor) -> Tensor:
    ops.put(cache, x * 2, 1)
    ops.put(cache, x, 3, mode="add")
    return cache.sum() + x


def only_write(x: Tensor) -> None:
    ops.scale_(x, 3.0)


def chain(x: Tensor) -> Tensor:
    y = x + 1
    for _ in range(4):
        ops.scale_(y, 1.5)
    return y * 2


def slices(cache: Tensor, x: Tensor) -> Tensor:
    ops.scale_(cache[1:3], 3.0)
    ops.scale_(cache[0])
    return cache + x


def transposed(cache: Tensor) -> Tensor:
    ops.scale_(cache.t(), 3.0)
    return cache + 1


def views_of_one(cache: Tensor) -> Tensor:
    ops.rotate_(cache[0], cache[1], cache[2])
    return cache.sum(0)


def both_states(states: Tensor, x: Tensor) -> Tensor:
    result: Tensor = ops.update(states[0], states[1], x + 1)
    return result


def one_state(state: Tensor, x: Tensor) -> Tensor:
    result: Tensor = ops.update(state, None, x + 1)
    return result


def rotated(q: Tensor, k: Tensor, by: Tensor) -> Tensor:
    new_q, new_k = ops.rotate_(q + 1, k + 1, by)
    total: Tensor = new_q + new_k
    return total


def rotated_inputs(q: Tensor, k: Tensor, by: Tensor) -> Tensor:
    new_q, new_k = ops.rotate_(q, k, by)
    total: Tensor = new_q + new_k + q
    return total


def several(x: Tensor, y: Tensor, factor: Tensor) -> Tensor:
    z = x + y
    ops.scale_all_([x, z], factor)
    return z - 1


def into_new(x: Tensor, y: Tensor) -> Tensor:
    out = torch.empty_like(x)
    ops.weighted.out(x, y, weight=2.0, out=out)
    return out + 1


def into_input(x: Tensor, y: Tensor, out: Tensor) -> Tensor:
    ops.weighted.out(x, y, weight=2.0, out=out)
    return out + 1


def kept_before(x: Tensor) -> Tensor:
    """Need what was there before the write: one copy is right."""
    y = x + 1
    before = y.clone()
    ops.scale_(y, 3.0)
    return y - before


def kept_input(x: Tensor) -> Tensor:
    """Leave the input alone: one copy is right."""
    y = x.clone()
    ops.scale_(y, 3.0)
    return y + x


def parts(x: Tensor) -> Tensor:
    low, high = ops.split(x)
    ops.scale_(low, 4.0)
    result: Tensor = low + high
    return result


N = None
MODELS = {
    model.function.__name__: model
    for model in (
        Model(function=cache, shapes=((4, N), (N,)), launched=("Put", "Put")),
        Model(function=only_write, shapes=((N,),), launched=("Scale",)),
        Model(function=chain, shapes=((N,),), launched=("Scale",) * 4),
        Model(function=slices, shapes=((4, N), (N,)), launched=("Scale", "Scale")),
        Model(function=transposed, shapes=((4, N),), launched=("Scale",)),
        Model(function=views_of_one, shapes=((4, N),), launched=("Rotate",)),
        Model(function=both_states, shapes=((2, N), (N,)), launched=("Update",)),
        Model(function=one_state, shapes=((N,), (N,)), launched=("Update",)),
        Model(function=rotated, shapes=((N,), (N,), (N,)), launched=("Rotate",)),
        Model(function=rotated_inputs, shapes=((N,), (N,), (N,)), launched=("Rotate",)),
        Model(function=several, shapes=((N,), (N,), (1,)), launched=("ScaleAll",)),
        Model(function=into_new, shapes=((N,), (N,)), launched=("Weighted",)),
        Model(function=into_input, shapes=((N,), (N,), (N,)), launched=("Weighted",)),
        Model(function=kept_before, shapes=((N,),), launched=("Scale",), copies=1),
        Model(function=kept_input, shapes=((N,),), launched=("Scale",), copies=1),
        Model(function=parts, shapes=((N,),), launched=("Split", "Scale")),
    )
}
