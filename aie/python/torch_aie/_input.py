"""Input: the shape, or range of shapes, and type of one input of a graph."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

import torch

from torch_aie._enums import TensorFormat, dtype, of_torch_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Input", "ShapeMode"]

_MOST_DIMENSIONS = 8
_UNBOUNDED = -1
_LARGEST_SIZE = 2**63 - 1
_FORMATS = {
    torch.contiguous_format: TensorFormat.NCHW,
    torch.channels_last: TensorFormat.NHWC,
}


class ShapeMode(str, enum.Enum):
    """The shapes that an Input declares: one, or a range."""

    STATIC = "static"
    DYNAMIC = "dynamic"


class Input:
    """One input of a graph.

    Parameters
    ----------
    shape
        A static shape, positional or by keyword: at most 8 dimensions, none below 0.
    min_shape, max_shape
        A range of shapes instead, both ends included; -1 in both is a size without bounds.
    dtype
        Of PyTorch or of this package.
    format
        A memory format of PyTorch, or a TensorFormat.
    name
        Kept for the user.

    Raises
    ------
    TypeError, ValueError
        That name what was given and what is allowed.
    """

    def __init__(
        self,
        *args: Sequence[int],
        shape: Sequence[int] | None = None,
        min_shape: Sequence[int] | None = None,
        max_shape: Sequence[int] | None = None,
        dtype: dtype | torch.dtype = dtype.FLOAT,
        format: torch.memory_format | TensorFormat = TensorFormat.ND,  # noqa: A002 - the API's name
        name: str | None = None,
    ) -> None:
        if len(args) > 1:
            msg = f"Input: got {len(args)} positional arguments, allowed is 1, the shape"
            raise TypeError(msg)
        if args:
            shape = args[0]
        both = min_shape is not None and max_shape is not None
        either = min_shape is not None or max_shape is not None
        if (shape is None and not both) or (shape is not None and either):
            msg = "Input: give either shape, or both min_shape and max_shape"
            raise ValueError(msg)
        least = 0 if shape is not None else _UNBOUNDED
        self.min_shape = _checked(shape if min_shape is None else min_shape, least)
        self.max_shape = _checked(shape if max_shape is None else max_shape, least)
        _check_range(self.min_shape, self.max_shape)
        self.shape = self.min_shape if shape is not None else None
        one = self.min_shape == self.max_shape and _UNBOUNDED not in self.min_shape
        self.shape_mode = ShapeMode.STATIC if one else ShapeMode.DYNAMIC
        self.dtype = _dtype(dtype)
        self.format = _format(format)
        if name is not None and not isinstance(name, str):
            msg = f"Input: got {name!r} as a name, allowed are strings and None"
            raise TypeError(msg)
        self.name = name

    def __repr__(self) -> str:
        """Return the call that makes it."""
        shape = (
            f"shape={self.shape}"
            if self.shape is not None
            else f"min_shape={self.min_shape}, max_shape={self.max_shape}"
        )
        return f"Input({shape}, dtype={self.dtype.name}, format={self.format.name})"

    @classmethod
    def like(cls, tensor: torch.Tensor) -> Input:
        """Return the static input that takes tensors such as this one."""
        return cls(tuple(tensor.shape), dtype=tensor.dtype)

    def row(self) -> tuple[list[int], list[int], int]:
        """Return what the C++ library takes."""
        return list(self.min_shape), list(self.max_shape), int(self.dtype)


def _checked(shape: Sequence[int] | None, least: int) -> tuple[int, ...]:
    if not isinstance(shape, (tuple, list)):  # torch.Size is a tuple
        msg = f"Input: got {shape!r} as a shape, allowed are a tuple, a list and torch.Size"
        raise TypeError(msg)
    for size in shape:
        fits = isinstance(size, int) and not isinstance(size, bool)
        if not fits or not least <= size <= _LARGEST_SIZE:
            msg = (
                f"Input: got dimension {size!r} in {tuple(shape)}, allowed are from {least} to"
                f" {_LARGEST_SIZE}"
            )
            raise ValueError(msg)
    if len(shape) > _MOST_DIMENSIONS:
        msg = f"Input: got {len(shape)} dimensions, allowed are at most {_MOST_DIMENSIONS}"
        raise ValueError(msg)
    return tuple(shape)


def _check_range(least: tuple[int, ...], greatest: tuple[int, ...]) -> None:
    if len(least) != len(greatest):
        msg = f"Input: min_shape {least} and max_shape {greatest} differ in length"
        raise ValueError(msg)
    for low, high in zip(least, greatest, strict=True):
        if low > high or (low == _UNBOUNDED) != (high == _UNBOUNDED):
            msg = (
                f"Input: got {low} in min_shape {least} and {high} in max_shape {greatest}, allowed"
                " are sizes of min_shape up to those of max_shape, or -1, without bounds, in both"
            )
            raise ValueError(msg)


def _dtype(given: object) -> dtype:
    if isinstance(given, torch.dtype):
        return of_torch_dtype(given)
    if not isinstance(given, dtype):
        msg = f"Input: got {given!r} as a dtype, allowed are torch.dtype and torch_aie.dtype"
        raise TypeError(msg)
    return given


def _format(given: object) -> TensorFormat:
    if isinstance(given, TensorFormat):
        return given
    if not isinstance(given, torch.memory_format) or given not in _FORMATS:
        allowed = ", ".join(map(str, _FORMATS))
        msg = f"Input: got {given!r} as a format, allowed are torch_aie.TensorFormat, {allowed}"
        raise TypeError(msg)
    return _FORMATS[given]
