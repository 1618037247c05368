"""Work on tensors for rows: compare bits, make other values, call with other arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from opwright.kit.live.arguments import map_tensors, tensors_in
from opwright.kit.live.proof import same_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from opwright.kit.declare.schema import Schema
    from opwright.kit.live.arguments import Values

__all__ = [
    "base",
    "copy_arguments",
    "describe",
    "first_unequal",
    "move_to_device",
    "replace_tensors",
    "roll",
    "same_bits",
    "tensor_arguments",
    "tensors_by_place",
]


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Return whether two tensors have equal shapes, dtypes and bits."""
    return same_bytes(one.detach().cpu(), other.detach().cpu())


def first_unequal(
    one: Mapping[str, torch.Tensor], other: Mapping[str, torch.Tensor]
) -> tuple[str, str] | None:
    """Return the first tensor that differs in its bits, and how; None if all are equal."""
    for name, left in one.items():
        right = other[name]
        if same_bits(left, right):
            continue
        if left.shape != right.shape or left.dtype != right.dtype:
            return name, f"{describe(left)}, then {describe(right)}"
        a, b = left.detach().cpu().reshape(-1), right.detach().cpu().reshape(-1)
        places = ((a != b) & ~((a != a) & (b != b))).nonzero()  # noqa: PLR0124 - NaN is what differs from itself
        if not len(places):
            return name, "values that are equal, but not in their bits"
        place = int(places[0])
        text = f"{a[place].item()!r}, then {b[place].item()!r}, at element {place}"
        return name, f"{text}; {len(places)} of {a.numel()} elements differ"
    return None


def describe(tensor: torch.Tensor) -> str:
    """Return dtype and shape as text."""
    return f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"


def copy_arguments(values: Values) -> Values:
    """Return arguments with copies of their tensors, which keep strides."""
    return {name: map_tensors(torch.clone, value) for name, value in values.items()}


def move_to_device(values: Values, device: str) -> Values:
    """Return arguments on another device."""
    return {name: map_tensors(lambda t: t.to(device), value) for name, value in values.items()}


def tensor_arguments(schema: Schema, values: Values) -> list[str]:
    """Return the arguments that have tensors in a call."""
    return [
        argument.name
        for argument in schema.arguments
        if argument.type.has_tensors and any(True for _ in tensors_in(values[argument.name]))
    ]


def tensors_by_place(
    values: Mapping[str, Any], names: Iterable[str]
) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the tensors of arguments; those of a list are called `name[index]`."""
    for name in names:
        value = values[name]
        if isinstance(value, torch.Tensor):
            yield name, value
        elif isinstance(value, list | tuple):
            for index, each in enumerate(value):
                if isinstance(each, torch.Tensor):
                    yield f"{name}[{index}]", each


def base(place: str) -> str:
    """Return the name of the argument or result that a place is in.

    >>> base("xs[1]")
    'xs'
    """
    return place.partition("[")[0]


def replace_tensors(
    values: Values, names: Iterable[str], make: Callable[[str, torch.Tensor], Any]
) -> Values:
    """Return arguments where the tensors of some are others."""
    new = dict(values)
    for name in names:
        value = values[name]
        if isinstance(value, torch.Tensor):
            new[name] = make(name, value)
        elif isinstance(value, list | tuple):
            new[name] = [
                make(f"{name}[{index}]", each) if isinstance(each, torch.Tensor) else each
                for index, each in enumerate(value)
            ]
    return new


def roll(tensor: torch.Tensor, by: int = 1) -> torch.Tensor:
    """Return a tensor of the same values in another order: it stays among what is allowed.

    A 0-d tensor of floats gets a smaller value.
    """
    if not by:
        return tensor.clone()
    if tensor.numel() > 1:
        return tensor.reshape(-1).roll(by).reshape(tensor.shape)
    return tensor * (1 - by / 16) if tensor.is_floating_point() else tensor.clone()
