"""Where a named axis of the declaration is in the tensors of a call, and in its results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from opwright.kit.declare.rules import Dims
from opwright.kit.declare.schema_text import split

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opwright.check.subject import Subject
    from opwright.kit.live.arguments import Values

__all__ = ["Places", "find_places", "list_axes"]


class NamedSize(int):
    """A size that knows whose it is: rules for results hand it on where they take a whole axis."""

    name: str


@dataclass(frozen=True, slots=True)
class StandIn:
    """A tensor of which a shape rule can ask the shape alone."""

    shape: tuple[Any, ...]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def dim(self) -> int:
        """Return the number of axes."""
        return len(self.shape)

    def size(self, axis: int | None = None) -> Any:  # noqa: ANN401 - a size, or all
        """Return one size, or all."""
        return self.shape if axis is None else self.shape[axis]


@dataclass(frozen=True, slots=True)
class Places:
    """The axis of a name in arguments and results, by their names, and its size."""

    arguments: dict[str, int]
    results: dict[str, int]
    size: int


def list_axes(subject: Subject, name: str, rank: int) -> dict[str, int]:
    """Return the axes of a tensor argument with a pattern, by their names.

    Of several axes (`*batch`) the first one has the name, if the tensor has any.
    """
    rule = subject.operator.shapes.get(name)
    if not isinstance(rule, Dims):
        return {}
    parts = split(rule.text)
    spread = rank - len(parts) + 1 if any(part.startswith("*") for part in parts) else 1
    found: dict[str, int] = {}
    axis = 0
    for part in parts:
        width = spread if part.startswith("*") else 1
        if width:
            found.setdefault(part, axis)
        axis += width
    return found


def find_places(subject: Subject, values: Values, axis: str) -> Places | None:
    """Return where an axis is; None if no argument of this call has it.

    The axis "*" is the first one of pointwise operators, where tensors of fewer axes, and those of
    size 1, are the same for all elements.
    """
    tensors = {n: v for n, v in values.items() if isinstance(v, torch.Tensor)}
    if axis == "*":
        rank = max((tensor.ndim for tensor in tensors.values()), default=0)
        full = {n: t for n, t in tensors.items() if t.ndim == rank > 0}
        size = max((tensor.shape[0] for tensor in full.values()), default=0)
        arguments = {n: 0 for n, t in full.items() if t.shape[0] == size}
    else:
        arguments = {
            name: axes[axis]
            for name, tensor in tensors.items()
            if axis in (axes := list_axes(subject, name, tensor.ndim))
        }
        size = next((tensors[name].shape[place] for name, place in arguments.items()), 0)
    if not arguments:
        return None
    results = find_in_results(subject, values, {axis: arguments}, axis)
    return Places(arguments, results, size)


def find_in_results(
    subject: Subject, values: Values, arguments: dict[str, dict[str, int]], axis: str
) -> dict[str, int]:
    """Return where an axis is in what a call computes; what does not have it is left out."""
    shapes = shapes_of_results(subject, values, arguments)
    found: dict[str, int] = {}
    for name, shape in shapes.items():
        places = [i for i, size in enumerate(shape) if getattr(size, "name", None) == axis]
        if len(places) == 1:
            found[name] = places[0]
    return found


def shapes_of_results(
    subject: Subject, values: Values, arguments: dict[str, dict[str, int]]
) -> dict[str, tuple[Any, ...]]:
    """Return the shapes of what a call computes, with sizes that know their axes.

    Parameters
    ----------
    arguments
        By name of an axis, where it is in arguments.
    """
    stand_ins: Values = {}
    for name, value in values.items():
        if not isinstance(value, torch.Tensor):
            stand_ins[name] = value
            continue
        shape: list[Any] = list(value.shape)
        for axis, places in arguments.items():
            if name in places:
                shape[places[name]] = named(shape[places[name]], axis)
        stand_ins[name] = StandIn(tuple(shape))
    written = [argument.name for argument in subject.schema.mutated]
    shapes = {n: v.shape for n, v in stand_ins.items() if n in written and isinstance(v, StandIn)}
    rules = subject.rules
    for output in () if rules is None else rules.facts.outputs:
        if rules is not None and output.is_new and output.shape is not None and not output.count:
            shapes[output.name] = rules.shape(output, stand_ins)
    return shapes


def named(size: int, name: str) -> NamedSize:
    """Return a size that knows the name of its axis."""
    made = NamedSize(size)
    made.name = name
    return made


def has_all(shape: Iterable[Any], names: Iterable[str]) -> bool:
    """Return whether a shape has all of some axes."""
    return set(names) <= {getattr(size, "name", None) for size in shape}
