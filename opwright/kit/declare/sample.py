"""Samples of an operator's arguments: what it must accept, and what it must refuse."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from opwright.kit.declare.errors import FieldError
from opwright.kit.declare.place import caller

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "LAYOUTS",
    "ErrorSample",
    "Sample",
    "TensorLayout",
    "TensorSpec",
    "Tolerance",
    "Value",
    "error",
    "sample",
    "tensor",
]

# How the elements of a tensor lie in memory; `opwright.kit.shipped.support` makes them.
# contiguous     one after the other
# transposed     the last two axes are exchanged
# reversed       all axes are in the other order
# channels_last  the second axis is the innermost one
# offset         contiguous, behind other elements of the storage
# sliced         each row is a part of a longer one
# strided        every second element
# expanded       one element stands for all along the first axis that has several: stride 0
TensorLayout: TypeAlias = Literal[
    "contiguous",
    "transposed",
    "reversed",
    "channels_last",
    "offset",
    "sliced",
    "strided",
    "expanded",
]
LAYOUTS: tuple[TensorLayout, ...] = get_args(TensorLayout)
Number: TypeAlias = "bool | int | float | complex"


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorSpec:
    """A tensor to be made: random values of a dtype between two bounds, or given ones.

    Parameters
    ----------
    shape
        Sizes.
    dtype
        None for the first dtype that the operator allows for the argument.
    low, high
        Bounds of the values; None for -1 to 1 (floating), 0 to 9 (integers).
    layout
        How its elements lie in memory. A tensor with too few axes for it is contiguous.
    values
        Its elements in the order of a contiguous tensor; None for random ones.
    """

    shape: tuple[int, ...]
    dtype: str | None = None
    low: float | None = None
    high: float | None = None
    layout: TensorLayout = "contiguous"
    values: tuple[Number, ...] | None = None

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """Return the bounds of its values, those of given ones included."""
        numbers = [
            each
            for each in self.values or ()
            if isinstance(each, int | float) and math.isfinite(each)
        ]
        return (min(numbers), max(numbers)) if numbers else (self.low, self.high)

    def with_shape(self, shape: tuple[int, ...]) -> TensorSpec:
        """Return the tensor with other sizes: given values bound the random ones of these."""
        if shape == self.shape:
            return self
        low, high = self.bounds
        return replace(self, shape=shape, low=low, high=high, values=None)


Value: TypeAlias = "TensorSpec | bool | int | float | complex | str | tuple[Value, ...] | None"


@dataclass(frozen=True, slots=True)
class Sample:
    """Arguments of one call, by name; what is missing has its default.

    Parameters
    ----------
    seed
        Of the values of its tensors.
    """

    values: tuple[tuple[str, Value], ...]
    seed: int = 0

    def with_seed(self, seed: int) -> Sample:
        """Return the sample with other values in its tensors."""
        return replace(self, seed=seed)


@dataclass(frozen=True, slots=True)
class ErrorSample:
    """Arguments that the operator must refuse with an error whose text contains `match`."""

    values: tuple[tuple[str, Value], ...]
    match: str


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a result may be from the reference: |got - want| <= atol + rtol * |want|."""

    rtol: float
    atol: float


def tensor(
    *shape: int,
    dtype: str | None = None,
    low: float | None = None,
    high: float | None = None,
    layout: TensorLayout = "contiguous",
    values: object = None,
) -> TensorSpec:
    """Describe a tensor of a sample.

    Parameters
    ----------
    shape
        Its sizes; none for a 0-d tensor.
    dtype
        As torch names it; None for the first dtype that the operator allows for the argument.
    low, high
        Bounds of its random values; None for -1 to 1 (floating), 0 to 9 (integers).
    layout
        How its elements lie in memory: contiguous, transposed, reversed, channels_last, offset,
        sliced, strided, expanded.
    values
        Its elements, as nested lists, or in one list beside the sizes. Samples that are solved
        keep within the least and the largest of them.

    Examples
    --------
    >>> tensor(2, 3, dtype="int32", low=0, high=8)
    TensorSpec(shape=(2, 3), dtype='int32', low=0, high=8, layout='contiguous', values=None)
    >>> tensor(values=[[1, 2], [3, 4]]).shape
    (2, 2)

    Raises
    ------
    FieldError
        OPW-D009: there is no such layout, or the values are not as many as the sizes say.
    """
    if layout not in LAYOUTS:
        raise FieldError(
            where=f"{caller()}, layout of a sample's tensor",
            got=repr(layout),
            allowed=LAYOUTS,
            fix="use one of them",
        )
    given: tuple[Number, ...] | None = None
    if values is not None:
        place = f"{caller()}, values of a sample's tensor"
        found, given = flatten(values, where=place)
        if (low, high) != (None, None):
            raise FieldError(
                where=place,
                got="values and bounds",
                fix="leave out low= and high=: the values have bounds of their own",
            )
        if shape and math.prod(shape) != len(given):
            raise FieldError(
                where=place,
                got=f"{len(given)} values for the sizes {shape}",
                allowed=(f"{math.prod(shape)} values",),
                fix="leave out the sizes: nested lists have them",
            )
        shape = shape or found
    return TensorSpec(shape=shape, dtype=dtype, low=low, high=high, layout=layout, values=given)


def flatten(values: object, *, where: str) -> tuple[tuple[int, ...], tuple[Number, ...]]:
    """Return the sizes of nested lists, and what is in them.

    Raises
    ------
    FieldError
        OPW-D009: lists beside each other have other lengths, or something in them is no number.
    """
    if isinstance(values, bool | int | float | complex):
        return (), (values,)
    if not isinstance(values, list | tuple):
        raise FieldError(
            where=where,
            got=repr(values),
            allowed=("a number", "nested lists of numbers"),
            fix="use tolist() of a tensor or an array",
        )
    parts = [flatten(each, where=where) for each in values]
    shapes = {shape for shape, _ in parts}
    if len(shapes) > 1:
        raise FieldError(
            where=where,
            got=f"lists beside each other of the sizes {sorted(shapes)}",
            fix="give all of them the same length",
        )
    inner = next(iter(shapes), ())
    return (len(parts), *inner), tuple(each for _, part in parts for each in part)


def sample(**values: object) -> Sample:
    """Give the arguments of one call; what is missing has its default.

    Parameters
    ----------
    values
        By argument: `tensor(...)`, a number, a text, None, or a list of these.

    Examples
    --------
    >>> sample(x=tensor(2, 3), alpha=0.5).values  # doctest: +ELLIPSIS
    (('x', TensorSpec(shape=(2, 3), ...)), ('alpha', 0.5))
    """
    return Sample(tuple((name, frozen(value)) for name, value in values.items()))


def error(match: str, **values: object) -> ErrorSample:
    """Give arguments that the operator must refuse.

    Parameters
    ----------
    match
        A part of the error's text.
    values
        As of `sample`.

    Examples
    --------
    >>> error("k", x=tensor(4), k=5).match
    'k'
    """
    return ErrorSample(tuple((name, frozen(value)) for name, value in values.items()), match)


def frozen(value: object) -> Value:
    """Turn lists into tuples."""
    if isinstance(value, list | tuple):
        items: Sequence[object] = value
        return tuple(frozen(item) for item in items)
    if value is None or isinstance(value, TensorSpec | bool | int | float | complex | str):
        return value
    # A torch.dtype and the like: its name says what it is, and nothing here imports torch.
    return str(value).removeprefix("torch.")
