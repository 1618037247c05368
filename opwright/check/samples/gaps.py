"""Samples that the declared rules allow and the reference refuses: the declaration says too little.

Some refusals are nothing that a declaration is blamed for: those that an error sample states, those
of values in tensors, of elements of an `int[]` (no rule speaks of each of them), of empty tensors
and lists, of other attributes than the usual ones, of layouts, and of what torch has no CPU kernel
for. They are counted only.
"""

from __future__ import annotations

import warnings
from itertools import product
from typing import TYPE_CHECKING

import torch

from opwright.check.samples.made import arguments
from opwright.check.samples.specs import specs_of
from opwright.kit.declare.sample import TensorSpec
from opwright.kit.live.arguments import Binder, tensors_in

if TYPE_CHECKING:
    from opwright.check.subject import Subject
    from opwright.kit.declare.sample import Sample, Value
    from opwright.kit.declare.schema import Argument

__all__ = ["is_gap"]

NO_KERNEL = ("NotImplementedError", "not implemented for")


def is_gap(subject: Subject, sample: Sample, base: Sample, text: str) -> bool:
    """Return whether the declaration should say that a sample is refused.

    Parameters
    ----------
    base
        The simplest sample: its attributes are the usual ones.
    text
        What the reference says.
    """
    if any(each.match in text for each in subject.operator.errors):
        return False
    if any(each in text for each in NO_KERNEL):
        return False
    if any(value == () for _, value in sample.values) or any(
        0 in spec.shape or spec.layout != "contiguous" for spec in specs_of(sample)
    ):
        return False
    return attributes(sample) == attributes(base) and not depends_on_values(subject, sample)


def attributes(sample: Sample) -> dict[str, Value]:
    """Return the arguments of a sample that have no tensors."""
    return {
        name: value
        for name, value in sample.values
        if value is not None
        and not isinstance(value, TensorSpec)
        and not (isinstance(value, tuple) and any(isinstance(e, TensorSpec) for e in value))
    }


def depends_on_values(subject: Subject, sample: Sample) -> bool:
    """Return whether the reference takes tensors of the same shapes, and lists of the same lengths.

    Lists of a fixed length stay as they are: rules can speak of their elements.
    """
    assert subject.reference is not None
    lists = [each.name for each in subject.schema.arguments if is_free_list(each)]
    for number, fill in product((None, 0, 1) if lists else (None,), (zeros, ones, identity)):
        values = arguments(subject.operator, sample, "cpu")
        if number is not None:
            values |= {name: [number] * len(values[name] or ()) for name in lists}
        try:
            with warnings.catch_warnings(), torch.no_grad():
                warnings.simplefilter("ignore")
                for value in values.values():
                    for tensor in tensors_in(value):
                        fill(tensor)
                Binder.of(subject.schema).call(subject.reference, values)
        except Exception:  # noqa: BLE001, S112 - the user's function refuses them too
            continue
        return True
    return False


def is_free_list(argument: Argument) -> bool:
    """Return whether an argument is a list of any number of whole numbers."""
    kind = argument.type
    return kind.is_list and kind.base.is_integer and kind.length is None and not kind.optional


def zeros(tensor: torch.Tensor) -> None:
    """Make all elements 0."""
    tensor.zero_()


def ones(tensor: torch.Tensor) -> None:
    """Make all elements 1."""
    tensor.fill_(1)


def identity(tensor: torch.Tensor) -> None:
    """Make each matrix the identity: it can be factorized and inverted."""
    tensor.zero_()
    if tensor.ndim > 1:
        tensor.diagonal(dim1=-2, dim2=-1).fill_(1)
