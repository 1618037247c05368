"""Private formats: where the elements of a tensor lie in blocks, padded with zeros.

The orders of axes are those of CANN's documentation of formats; block sizes follow from the shape
in memory, which the caller's descriptor says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import torch

__all__ = ["FORMATS", "LAYOUTS", "ND", "PLAIN", "Layout", "find_layout", "usual_c0"]

ND = 2
# aclFormat. Tensors of these formats lie in memory in the order of their axes.
PLAIN = {-1: "UNDEFINED", 0: "NCHW", 2: "ND", 30: "NCDHW", 47: "NCL"}
FORMATS = {
    1: "NHWC",
    3: "NC1HWC0",
    4: "FRACTAL_Z",
    12: "NC1HWC0_C04",
    16: "HWCN",
    27: "NDHWC",
    29: "FRACTAL_NZ",
    32: "NDC1HWC0",
    33: "FRACTAL_Z_3D",
    50: "FRACTAL_NZ_C0_16",
    51: "FRACTAL_NZ_C0_32",
    52: "FRACTAL_NZ_C0_2",
    53: "FRACTAL_NZ_C0_4",
    54: "FRACTAL_NZ_C0_8",
}
BLOCK = 16
BYTES = 32  # of a row of a block, for the dtypes of one and two bytes
AXES_2D = 4  # NCHW


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How a tensor lies in memory.

    Parameters
    ----------
    shape
        Of the tensor.
    base
        The same with the axes that the format has.
    padded
        The same, filled up to whole blocks.
    split
        Each axis that is cut into blocks as two.
    order
        The order of those in memory.
    stored
        The shape in memory.
    """

    shape: tuple[int, ...]
    base: tuple[int, ...]
    padded: tuple[int, ...]
    split: tuple[int, ...]
    order: tuple[int, ...]
    stored: tuple[int, ...]

    def pack(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return the tensor as it lies in memory."""
        ends = [(0, full - size) for size, full in zip(self.base, self.padded, strict=True)]
        widths = [width for pair in reversed(ends) for width in pair]
        filled = functional.pad(tensor.reshape(self.base), widths)
        return filled.reshape(self.split).permute(self.order).reshape(self.stored)

    def unpack(self, stored: torch.Tensor) -> torch.Tensor:
        """Return the tensor that lies in memory."""
        blocks = stored.reshape([self.split[axis] for axis in self.order])
        inverse = sorted(range(len(self.order)), key=self.order.__getitem__)
        filled = blocks.permute(inverse).reshape(self.padded)
        return filled[tuple(slice(size) for size in self.base)].reshape(self.shape)


def usual_c0(dtype: torch.dtype) -> int:
    """Return how many channels torch_npu puts into a block."""
    return max(BLOCK, BYTES // dtype.itemsize)


def divide_up(size: int, block: int) -> int:
    """Return how many blocks hold so many elements."""
    return -(-size // block)


def four(shape: Sequence[int]) -> tuple[int, ...]:
    """Return a shape as NCHW: up to three axes are channels, height and width.

    >>> four([5]), four([])
    ((1, 5, 1, 1), (1, 1, 1, 1))
    """
    if len(shape) >= AXES_2D:
        return tuple(shape)
    return (1, *shape, *[1] * (AXES_2D - 1 - len(shape)))


def nz(shape: tuple[int, ...], c0: int) -> Layout:
    """Lay out matrices in columns of blocks."""
    rest, (rows, columns) = ((), (*shape, 1, 1)[:2]) if len(shape) < 2 else (shape[:-2], shape[-2:])  # noqa: PLR2004
    m, n, count = divide_up(rows, BLOCK), divide_up(columns, c0), len(rest)
    order = (*range(count), count + 2, count, count + 1, count + 3)
    return Layout(
        shape=shape,
        base=(*rest, rows, columns),
        padded=(*rest, m * BLOCK, n * c0),
        split=(*rest, m, BLOCK, n, c0),
        order=order,
        stored=(*rest, n, m, BLOCK, c0),
    )


def nc1hwc0(shape: tuple[int, ...], c0: int) -> Layout:
    """Lay out images with the channels in blocks."""
    n, c, h, w = base = four(shape)
    c1 = divide_up(c, c0)
    return Layout(
        shape=shape,
        base=base,
        padded=(n, c1 * c0, h, w),
        split=(n, c1, c0, h, w),
        order=(0, 1, 3, 4, 2),
        stored=(n, c1, h, w, c0),
    )


def fractal_z(shape: tuple[int, ...], c0: int) -> Layout:
    """Lay out filters with both kinds of channels in blocks."""
    n, c, h, w = base = four(shape)
    n1, c1 = divide_up(n, BLOCK), divide_up(c, c0)
    return Layout(
        shape=shape,
        base=base,
        padded=(n1 * BLOCK, c1 * c0, h, w),
        split=(n1, BLOCK, c1, c0, h, w),
        order=(2, 4, 5, 0, 1, 3),
        stored=(c1 * h * w, n1, BLOCK, c0),
    )


def ndc1hwc0(shape: tuple[int, ...], c0: int) -> Layout:
    """Lay out volumes with the channels in blocks."""
    n, c, d, h, w = shape
    c1 = divide_up(c, c0)
    return Layout(
        shape=shape,
        base=shape,
        padded=(n, c1 * c0, d, h, w),
        split=(n, c1, c0, d, h, w),
        order=(0, 3, 1, 4, 5, 2),
        stored=(n, d, c1, h, w, c0),
    )


def fractal_z_3d(shape: tuple[int, ...], c0: int) -> Layout:
    """Lay out filters of volumes with both kinds of channels in blocks."""
    n, c, d, h, w = shape
    n1, c1 = divide_up(n, BLOCK), divide_up(c, c0)
    return Layout(
        shape=shape,
        base=shape,
        padded=(n1 * BLOCK, c1 * c0, d, h, w),
        split=(n1, BLOCK, c1, c0, d, h, w),
        order=(4, 2, 5, 6, 0, 1, 3),
        stored=(d * c1 * h * w, n1, BLOCK, c0),
    )


LAYOUTS: Mapping[int, Callable[[tuple[int, ...], int], Layout]] = {
    3: nc1hwc0,
    4: fractal_z,
    29: nz,
    32: ndc1hwc0,
    33: fractal_z_3d,
    50: nz,
    51: nz,
    52: nz,
    53: nz,
    54: nz,
}


def find_layout(number: int, shape: tuple[int, ...], stored: tuple[int, ...]) -> Layout:
    """Return how a tensor in a private format lies in memory.

    Raises
    ------
    ValueError
        The format has no tensors of this shape, or they lie in another shape.
    """
    name = FORMATS[number]
    try:
        layout = LAYOUTS[number](shape, stored[-1] if stored else BLOCK)
    except ValueError as error:
        message = f"a tensor of {len(shape)} axes in the format {name}"
        raise ValueError(message) from error
    if math.prod(layout.stored) != math.prod(stored):
        message = (
            f"shape {list(shape)} that lies as {list(stored)} in the format {name}, "
            f"and not as {list(layout.stored)}"
        )
        raise ValueError(message)
    return layout
