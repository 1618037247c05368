"""Operators that answer shapes, or give their input another one."""

from __future__ import annotations

import torch

from opwright.engine.dtypes import from_runtime
from opwright.engine.table import kernel

INT32 = 3


@kernel("Shape", of_shapes=True)
def shape(x: torch.Tensor, *, dtype: int = INT32) -> torch.Tensor:
    """Answer the sizes."""
    return torch.tensor(list(x.shape), dtype=from_runtime(dtype, where="Shape"))


@kernel("Reshape")
def reshape(
    x: torch.Tensor, shape: list[int], *, axis: int = 0, num_axes: int = -1
) -> torch.Tensor:
    """Give `x` another shape, from axis `axis` over `num_axes` axes."""
    stop = x.dim() if num_axes == -1 else axis + num_axes
    return x.reshape([*x.shape[:axis], *shape, *x.shape[stop:]])


@kernel("Unsqueeze")
def unsqueeze(x: torch.Tensor, *, axes: list[int]) -> torch.Tensor:
    """Insert axes of size 1; `axes` counts in the result."""
    rank = x.dim() + len(axes)
    for axis in sorted(axis % rank for axis in axes):
        x = x.unsqueeze(axis)
    return x


@kernel("Squeeze")
def squeeze(x: torch.Tensor, *, axis: list[int]) -> torch.Tensor:
    """Remove axes of size 1: all of them if none is named."""
    return x.squeeze(axis) if axis else x.squeeze()


@kernel("Transpose")
def transpose(x: torch.Tensor, perm: list[int]) -> torch.Tensor:
    """Permute the axes."""
    return x.permute(perm)


@kernel("BroadcastTo")
def broadcast_to(x: torch.Tensor, shape: list[int]) -> torch.Tensor:
    """Repeat along axes of size 1."""
    return x.expand(shape)


@kernel("Pack")
def pack(x: list[torch.Tensor], *, axis: int = 0, N: int = 1) -> torch.Tensor:
    """Stack along a new axis."""
    del N
    return torch.stack(x, axis)


@kernel("ConcatV2")
def concat_v2(x: list[torch.Tensor], concat_dim: int, *, N: int = 1) -> torch.Tensor:
    """Join along an axis."""
    del N
    return torch.cat(x, concat_dim)


@kernel("Gather")
def gather(
    x: torch.Tensor,
    indices: torch.Tensor,
    *,
    validate_indices: bool = True,
    batch_dims: int = 0,
    is_preprocessed: bool = False,
    negative_index_support: bool = False,
) -> torch.Tensor:
    """Take rows of the first axis."""
    del validate_indices, is_preprocessed, negative_index_support
    if batch_dims:
        message = f"batch_dims {batch_dims} is not available"
        raise NotImplementedError(message)
    taken = x.index_select(0, indices.flatten())
    return taken.reshape([*indices.shape, *x.shape[1:]])
