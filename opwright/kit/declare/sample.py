"""Samples of an operator's arguments: what it must accept, and what it must refuse."""

from __future__ import annotations

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
    layout
        How its elements lie in memory. A tensor with too few axes for it is contiguous.
    """

    shape: tuple[int, ...]
    dtype: str | None = None
    low: float | None = None
    high: float | None = None
    layout: TensorLayout = "contiguous"


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

    Examples
    --------
    >>> tensor(2, 3, dtype="int32", low=0, high=8)
    TensorSpec(shape=(2, 3), dtype='int32', low=0, high=8, layout='contiguous')

    Raises
    ------
    FieldError
        OPW-D009: there is no such layout.
    """
    if layout not in LAYOUTS:
        raise FieldError(
            where=f"{caller()}, layout of a sample's tensor",
            got=repr(layout),
            allowed=LAYOUTS,
            fix="use one of them",
        )
    return TensorSpec(shape=shape, dtype=dtype, low=low, high=high, layout=layout)


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
