"""Samples of an operator's arguments: what it must accept, and what it must refuse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ErrorSample", "Sample", "TensorSpec", "Tolerance", "Value", "error", "sample", "tensor"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorSpec:
    """A tensor to be made: random values of a dtype between two bounds.

    Parameters
    ----------
    shape
        Sizes.
    dtype
        None for the first dtype that the operator allows for the argument.
    low, high
        Bounds of the values; None for -1 to 1 (floating), 0 to 9 (integers).
    """

    shape: tuple[int, ...]
    dtype: str | None = None
    low: float | None = None
    high: float | None = None


Value: TypeAlias = "TensorSpec | bool | int | float | complex | str | tuple[Value, ...] | None"


@dataclass(frozen=True, slots=True)
class Sample:
    """Arguments of one call, by name; what is missing has its default."""

    values: tuple[tuple[str, Value], ...]


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
    *shape: int, dtype: str | None = None, low: float | None = None, high: float | None = None
) -> TensorSpec:
    """Describe a tensor of a sample.

    Examples
    --------
    >>> tensor(2, 3, dtype="int32", low=0, high=8)
    TensorSpec(shape=(2, 3), dtype='int32', low=0, high=8)
    """
    return TensorSpec(shape=shape, dtype=dtype, low=low, high=high)


def sample(**values: object) -> Sample:
    """Give the arguments of one call.

    Examples
    --------
    >>> sample(x=tensor(2, 3), alpha=0.5).values
    (('x', TensorSpec(shape=(2, 3), dtype=None, low=None, high=None)), ('alpha', 0.5))
    """
    return Sample(tuple((name, frozen(value)) for name, value in values.items()))


def error(match: str, **values: object) -> ErrorSample:
    """Give arguments that the operator must refuse with an error that says `match`."""
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
