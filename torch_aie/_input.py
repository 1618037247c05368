"""Input: the shape, or range of shapes, and type of one input of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from torch_aie._enums import TensorFormat, dtype, of_torch_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Input"]

_MOST_DIMENSIONS = 8
_FORMATS = {
    torch.contiguous_format: TensorFormat.NCHW,
    torch.channels_last: TensorFormat.NHWC,
}


class Input:
    """One input of a graph.

    Parameters
    ----------
    shape
        A static shape, positional or by keyword: at most 8 dimensions, none below 0.
    min_shape, max_shape
        A range of shapes instead, both ends included.
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
        if (shape is None) == (min_shape is None or max_shape is None):
            msg = "Input: give either shape, or both min_shape and max_shape"
            raise ValueError(msg)
        self.min_shape = _checked(shape if min_shape is None else min_shape)
        self.max_shape = _checked(shape if max_shape is None else max_shape)
        _check_range(self.min_shape, self.max_shape)
        self.shape = self.min_shape if shape is not None else None
        self.shape_mode = "static" if self.min_shape == self.max_shape else "range"
        self.dtype = of_torch_dtype(dtype) if isinstance(dtype, torch.dtype) else dtype
        self.format = _FORMATS[format] if isinstance(format, torch.memory_format) else format
        self.name = name

    @classmethod
    def like(cls, tensor: torch.Tensor) -> Input:
        """Return the static input that takes tensors such as this one."""
        return cls(tuple(tensor.shape), dtype=tensor.dtype)

    def row(self) -> tuple[list[int], list[int], int]:
        """Return what the C++ library takes."""
        return list(self.min_shape), list(self.max_shape), int(self.dtype)


def _checked(shape: Sequence[int] | None) -> tuple[int, ...]:
    if not isinstance(shape, (tuple, list)):  # torch.Size is a tuple
        msg = f"Input: got {shape!r} as a shape, allowed are a tuple, a list and torch.Size"
        raise TypeError(msg)
    wrong = [size for size in shape if not isinstance(size, int) or size < 0]
    if wrong:
        msg = f"Input: got dimension {wrong[0]!r} in {tuple(shape)}, allowed are integers from 0"
        raise ValueError(msg)
    if len(shape) > _MOST_DIMENSIONS:
        msg = f"Input: got {len(shape)} dimensions, allowed are at most {_MOST_DIMENSIONS}"
        raise ValueError(msg)
    return tuple(shape)


def _check_range(least: tuple[int, ...], greatest: tuple[int, ...]) -> None:
    if len(least) != len(greatest) or any(a > b for a, b in zip(least, greatest, strict=True)):
        msg = f"Input: min_shape {least} is not below max_shape {greatest}"
        raise ValueError(msg)
