"""Samples of the same form and other sizes: for them a compiled graph has to be right, too."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import torch

from opwright.declare.sample import Sample, TensorSpec
from opwright.declare.schema import Base

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from opwright.check.bench import Bench
    from opwright.check.subject import Subject
    from opwright.declare.schema import Schema
    from opwright.declare.sample import Value
    from opwright.live.arguments import Values

__all__ = ["has_no_special_size", "other_sizes"]

SPECIAL = (0, 1)  # sizes for which a graph is made anew


def other_sizes(bench: Bench, sample: Sample, *, count: int = 2) -> Iterator[Sample]:
    """Yield samples that differ from one in sizes and values alone, and that the rules allow."""
    form = form_of(bench, sample)
    seen = {form_sizes(bench, sample)}
    for other in candidates(bench, sample):
        if len(seen) > count:
            return
        try:
            values = bench.arguments(other, "cpu")
            bench.subject.rules is None or bench.subject.rules.check(values)
        except (TypeError, ValueError, RuntimeError):
            continue
        sizes = form_sizes(bench, other)
        if sizes not in seen and form_of(bench, other) == form:
            seen.add(sizes)
            yield other


def candidates(bench: Bench, sample: Sample) -> Iterator[Sample]:
    """Yield what may be such a sample."""
    yield from bench.samples.of({"size"}, 12)
    if may_be_resized(bench.subject):
        for change in (lambda size: size + 1, lambda size: 2 * size, lambda size: 3 * size + 1):
            yield resized(bench.subject.schema, sample, change)


def may_be_resized(subject: Subject) -> bool:
    """Tell whether sizes that were guessed are refused before a kernel sees them, if wrong."""
    return subject.facts is not None and (not subject.is_foreign or bool(subject.facts.checks))


def resized(schema: Schema, sample: Sample, change: Callable[[int], int]) -> Sample:
    """Return a sample with other sizes; equal ones stay equal."""

    def changed(name: str, value: Value) -> Value:
        if isinstance(value, TensorSpec):
            shape = tuple(size if size in SPECIAL else change(size) for size in value.shape)
            return dataclasses.replace(value, shape=shape)
        if isinstance(value, tuple):
            return tuple(changed(name, each) for each in value)
        argument = schema.argument(name)
        is_size = argument is not None and argument.type.base is Base.SYMINT
        if is_size and isinstance(value, int) and value > 1:
            return change(value)
        return value

    values = tuple((name, changed(name, value)) for name, value in sample.values)
    return dataclasses.replace(sample, values=values)


def form_of(bench: Bench, sample: Sample) -> tuple[object, ...]:
    """Return what two samples have in common if one graph serves both."""
    values = bench.arguments(sample, "cpu")
    return tuple(
        (name, form_of_value(bench.subject.schema, name, value)) for name, value in values.items()
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


def form_sizes(bench: Bench, sample: Sample) -> tuple[object, ...]:
    """Return the sizes of a sample."""
    values = bench.arguments(sample, "cpu")
    return tuple(sizes_of_value(value) for value in values.values())


def sizes_of_value(value: Any) -> object:  # noqa: ANN401 - any argument
    """Return the sizes in an argument."""
    if isinstance(value, torch.Tensor):
        return tuple(value.shape)
    if isinstance(value, list | tuple):
        return tuple(sizes_of_value(each) for each in value)
    return value


def has_no_special_size(values: Values) -> bool:
    """Tell whether no tensor has an axis of size 0 or 1."""
    from opwright.check.subject import flat  # noqa: PLC0415 - that module imports much

    return not any(size in SPECIAL for t in flat(values).values() for size in t.shape)
