"""Samples of the same form and other sizes: for them a compiled graph has to be right, too."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable  # noqa: TC003 - the type of a constant
from typing import TYPE_CHECKING, Any

import torch

from opwright.check.observe.symbols import sizes_of
from opwright.check.subject import flat
from opwright.kit.declare.sample import Sample, TensorSpec
from opwright.kit.declare.schema import Base

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opwright.check.row_context import RowContext
    from opwright.check.subject import Subject
    from opwright.kit.declare.sample import Value
    from opwright.kit.declare.schema import Schema
    from opwright.kit.live.arguments import Values

__all__ = ["find_special_axes", "has_no_special_size", "other_sizes"]

SPECIAL = (0, 1)  # sizes for which a graph is made anew


def other_sizes(
    context: RowContext, sample: Sample, *, count: int = 2, alike: bool = False
) -> Iterator[Sample]:
    """Yield samples that differ from one in sizes and values alone, and that the rules allow.

    Parameters
    ----------
    alike
        All sizes differ from those of the sample, and those are equal that are equal in it: then
        one graph with symbols serves them all.
    """
    form = form_of(context, sample)
    sizes = form_sizes(context, sample)
    seen = {sizes}
    for other in candidates(context, sample):
        if len(seen) > count:
            return
        if not is_allowed(context, other) or form_of(context, other) != form:
            continue
        others = form_sizes(context, other)
        if others in seen or (alike and not are_alike(sizes, others)):
            continue
        seen.add(others)
        yield other


def is_allowed(context: RowContext, sample: Sample) -> bool:
    """Return whether the declared rules allow a sample, and it is not too large."""
    try:
        values = context.arguments(sample, "cpu")
        if context.subject.rules is not None:
            context.subject.rules.check(values)
    except (TypeError, ValueError, RuntimeError):
        return False
    return all(tensor.numel() <= LARGEST for tensor in flat(values).values())


def are_alike(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Return whether all sizes differ, and equal ones stay equal and others do not become so."""
    pairs = [(a, b) for a, b in zip(one, other, strict=True) if a not in SPECIAL]
    renamed = dict(pairs)
    return all(renamed[a] == b and a != b for a, b in pairs) and len(set(renamed.values())) == len(
        renamed
    )


def candidates(context: RowContext, sample: Sample) -> Iterator[Sample]:
    """Yield what may be such a sample: a larger one, those of the declaration, larger ones."""
    changes = CHANGES if may_be_resized(context.subject) else ()
    larger = [resize(context.subject.schema, sample, change) for change in changes]
    yield from larger[:1]
    yield from context.samples.of({"size"}, 12)
    yield from larger[1:]


# One to one: equal sizes stay equal, others do not become so. Sums first, then products, for sizes
# that have to be even.
CHANGES: tuple[Callable[[int], int], ...] = (
    lambda size: size + 5,
    lambda size: size + 7,
    lambda size: size + 11,
    lambda size: size * 2,
    lambda size: size * 3,
    lambda size: size * 4,
)
LARGEST = 1 << 22  # elements of a tensor


def may_be_resized(subject: Subject) -> bool:
    """Return whether sizes that were guessed are refused before a kernel sees them, if wrong."""
    return subject.facts is not None and (not subject.is_foreign or bool(subject.facts.checks))


def resize(schema: Schema, sample: Sample, change: Callable[[int], int]) -> Sample:
    """Return a sample with other sizes; equal ones stay equal."""

    def changed(name: str, value: Value) -> Value:
        if isinstance(value, TensorSpec):
            shape = tuple(size if size in SPECIAL else change(size) for size in value.shape)
            return value.with_shape(shape)
        if isinstance(value, tuple):
            return tuple(changed(name, each) for each in value)
        argument = schema.argument(name)
        is_size = argument is not None and argument.type.base is Base.SYMINT
        if is_size and isinstance(value, int) and value > 1:
            return change(value)
        return value

    values = tuple((name, changed(name, value)) for name, value in sample.values)
    return dataclasses.replace(sample, values=values)


def form_of(context: RowContext, sample: Sample) -> tuple[object, ...]:
    """Return what two samples have in common if one graph serves both."""
    values = context.arguments(sample, "cpu")
    return tuple(
        (name, form_of_value(context.subject.schema, name, value)) for name, value in values.items()
    )


def form_of_value(schema: Schema, name: str, value: Any) -> object:  # noqa: ANN401 - any argument
    """Return what an argument's value has in common with others of the same form."""
    if isinstance(value, torch.Tensor):
        sizes = tuple(size if size in SPECIAL else None for size in value.shape)
        return (value.dtype, sizes, order_of_strides(value))
    if isinstance(value, list | tuple):
        return tuple(form_of_value(schema, name, each) for each in value)
    argument = schema.argument(name)
    assert argument is not None
    if argument.type.base is Base.SYMINT and isinstance(value, int) and value > 1:
        return "a size"
    return value


def order_of_strides(tensor: torch.Tensor) -> tuple[int, ...] | None:
    """Return the order of the axes in memory; None for a contiguous tensor."""
    if tensor.is_contiguous():
        return None
    return tuple(sorted(range(tensor.ndim), key=tensor.stride))


def form_sizes(context: RowContext, sample: Sample) -> tuple[int, ...]:
    """Return the sizes of a sample, and its int arguments that may be symbols."""
    values = context.arguments(sample, "cpu")
    return tuple(size for _, size in sizes_of(context.subject.schema, values))


def find_special_axes(tensors: Mapping[str, torch.Tensor]) -> frozenset[tuple[str, int, int]]:
    """Return the axes of size 0 or 1, which a graph is made for: the tensor, the axis, the size."""
    return frozenset(
        (name, axis, size)
        for name, tensor in tensors.items()
        for axis, size in enumerate(tensor.shape)
        if size in SPECIAL
    )


def has_no_special_size(values: Values) -> bool:
    """Return whether no tensor has an axis of size 0 or 1."""
    return not any(size in SPECIAL for t in flat(values).values() for size in t.shape)
