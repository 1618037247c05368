"""How vector instructions walk over memory, by index arrays: what kernels are compared with."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["BLOCK", "REPEAT", "active", "lane_indices"]

BLOCK = 32  # bytes
REPEAT = 256

Indices = npt.NDArray[np.int64]


def lane_indices(
    itemsize: int, lanes: int, repeats: int, block_stride: int, repeat_stride: int
) -> Indices:
    """Return the element index of each lane, shaped [repeats, lanes]."""
    per_block = BLOCK // itemsize
    lane = np.arange(lanes)
    in_repeat = lane // per_block * block_stride * per_block + lane % per_block
    start = np.arange(repeats)[:, None] * repeat_stride * per_block
    return start + in_repeat


def active(lanes: int, repeats: int, mask: int | tuple[int, int]) -> npt.NDArray[np.bool_]:
    """Return which lanes a mask leaves, shaped [repeats, lanes]: a number of lanes or two words."""
    if isinstance(mask, int):
        row = np.arange(lanes) < mask
    else:
        word = mask[0] | mask[1] << 64
        row = np.array([bool(word >> lane & 1) for lane in range(lanes)])
    return np.broadcast_to(row, (repeats, lanes))
