"""Operators that read and write elements at places that a tensor names.

An output with the name of an input is that input's memory: such operators write where it lies,
if they do not say otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence  # noqa: TC003 - the table reads the annotations

import torch

from opwright.graph_engine.kernels.available import require_one_of
from opwright.graph_engine.table import kernel

BAG_MODES = {"sum": 0, "mean": 1, "max": 2}


def from_end(indices: torch.Tensor, size: int, *, negative: bool) -> torch.Tensor:
    """Return indices that count from the beginning."""
    return torch.where(indices < 0, indices + size, indices) if negative else indices


def rows(
    x: torch.Tensor, indices: torch.Tensor, axis: int, *, batch_dims: int, negative: bool
) -> torch.Tensor:
    """Take elements along an axis; the first `batch_dims` axes of both go together."""
    x = x.reshape(1) if x.dim() == 0 else x
    axis %= x.dim()
    indices = from_end(indices, x.shape[axis], negative=negative)
    if batch_dims == 0:
        taken = x.index_select(axis, indices.flatten())
        return taken.reshape([*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]])
    start = batch_dims + indices.dim() if batch_dims < 0 else batch_dims
    batches = x.shape[:start]
    moved = x.movedim(axis, start).flatten(0, start - 1)
    places = indices.reshape(batches.numel(), -1)
    batch = torch.arange(batches.numel(), device=x.device).unsqueeze(1)
    taken = moved[batch, places.long()]
    taken = taken.reshape([*batches, *indices.shape[start:], *moved.shape[2:]])
    count = indices.dim() - start
    order = list(range(taken.dim()))
    new, old = order[start : start + count], order[start + count :]
    return taken.permute([*order[:start], *old[: axis - start], *new, *old[axis - start :]])


@kernel("Gather", source="graphengine:third_party/fwkacllib/inc/ops/selection_ops.h")
def gather(
    x: torch.Tensor,
    indices: torch.Tensor,
    *,
    validate_indices: bool = True,
    batch_dims: int = 0,
    is_preprocessed: bool = False,
    negative_index_support: bool = False,
) -> torch.Tensor:
    """Take rows of the first axis behind the batches."""
    del validate_indices, is_preprocessed
    return rows(x, indices, batch_dims, batch_dims=batch_dims, negative=negative_index_support)


@kernel("GatherV2", source="ops-nn:index/gather_v2/op_graph/gather_v2_proto.h")
def gather_v2(
    x: torch.Tensor,
    indices: torch.Tensor,
    axis: int,
    *,
    batch_dims: int = 0,
    is_preprocessed: bool = False,
    negative_index_support: bool = False,
) -> torch.Tensor:
    """Take elements along an axis."""
    del is_preprocessed
    return rows(x, indices, axis, batch_dims=batch_dims, negative=negative_index_support)


@kernel("GatherElements", source="ops-nn:index/gather_elements/op_graph/gather_elements_proto.h")
def gather_elements(x: torch.Tensor, index: torch.Tensor, *, dim: int = 0) -> torch.Tensor:
    """Take one element for each of `index`."""
    return x.gather(dim, index.long())


def coordinates(indices: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return the coordinates of places, which the last axis of `indices` holds."""
    return indices.long().unbind(-1)


@kernel("GatherNd", source="ops-nn:index/gather_nd/op_graph/gather_nd_proto.h")
def gather_nd(
    x: torch.Tensor, indices: torch.Tensor, *, negative_index_support: bool = False
) -> torch.Tensor:
    """Take what stands at the places of `indices`."""
    del negative_index_support
    return x[coordinates(indices)]


def mask_index(
    indices: list[torch.Tensor], mask: Sequence[int]
) -> tuple[torch.Tensor | slice, ...]:
    """Return an index: where the mask is 0, the whole axis."""
    if sum(map(bool, mask)) != len(indices):
        message = f"{len(indices)} indices for the mask {list(mask)}"
        raise ValueError(message)
    waiting = iter(indices)
    return tuple(next(waiting).long() if wanted else slice(None) for wanted in mask)


@kernel("IndexByTensor", source="torchair:aten.index.Tensor")
def index_by_tensor(
    x: torch.Tensor, indices: list[torch.Tensor], *, indices_mask: Sequence[int] = ()
) -> torch.Tensor:
    """Index some axes with tensors."""
    return x[mask_index(indices, indices_mask or [1] * len(indices))]


@kernel("Index", source="ops-nn:index/index/op_graph/index_proto.h")
def index(
    x: torch.Tensor,
    indexed_sizes: list[int],
    indexed_strides: list[int],
    indices: list[torch.Tensor],
) -> torch.Tensor:
    """Index some axes with tensors; `indexed_sizes` is the mask."""
    del indexed_strides
    return x[mask_index(indices, indexed_sizes)]


@kernel("IndexPutV2", source="ops-nn:index/index_put_v2/op_graph/index_put_v2_proto.h")
def index_put_v2(
    x: torch.Tensor,
    value: torch.Tensor,
    indexed_sizes: list[int],
    indexed_strides: list[int],
    indices: list[torch.Tensor],
    *,
    accumulate: bool = False,
) -> torch.Tensor:
    """Write at an index of tensors; `indexed_sizes` is the mask."""
    del indexed_strides
    places = [
        None if isinstance(place, slice) else place for place in mask_index(indices, indexed_sizes)
    ]
    written: torch.Tensor = torch.ops.aten.index_put_(x, places, value, accumulate)
    return written


@kernel(
    "InplaceIndexAdd", source="ops-nn:index/inplace_index_add/op_graph/inplace_index_add_proto.h"
)
def inplace_index_add(
    var: torch.Tensor,
    indices: torch.Tensor,
    updates: torch.Tensor,
    alpha: torch.Tensor | None = None,
    *,
    axis: int,
) -> torch.Tensor:
    """Answer var with updates, times alpha, added at indices of an axis.

    It leaves var as it is: TorchAir has it stand for index_add.
    """
    return var.index_add(axis, indices, updates if alpha is None else updates * alpha)


@kernel("ScatterElements", source="ops-nn:index/scatter_elements/op_graph/scatter_elements_proto.h")
def scatter_elements(
    data: torch.Tensor,
    indices: torch.Tensor,
    updates: torch.Tensor,
    *,
    axis: int = 0,
    reduction: str = "none",
) -> torch.Tensor:
    """Answer data with one element for each of `indices` written; they may count from the end."""
    places = from_end(indices.long(), data.shape[axis] if data.dim() else 1, negative=True)
    if reduction in ("none", "", "update"):
        return data.scatter(axis, places, updates)
    names = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}
    if reduction not in names:
        message = (
            f"reduction '{reduction}' is not available; available are none, {', '.join(names)}"
        )
        raise NotImplementedError(message)
    return data.scatter_reduce(axis, places, updates, names[reduction])


@kernel("Scatter", source="ops-nn:index/scatter/op_graph/scatter_proto.h")
def scatter(
    var: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor, *, reduce: str, axis: int = 0
) -> torch.Tensor:
    """Write the updates of each batch from its index on along an axis.

    Rows of two indices name the batch and the place.
    """
    require_one_of("reduce", reduce, "update")
    dim = axis % var.dim()
    if dim == 0:
        message = "the axis is that of the batches"
        raise ValueError(message)
    if indices.dim() == 1:
        batch = torch.arange(indices.shape[0], device=var.device)
        start = indices.long()
    else:
        batch, start = indices.long().unbind(-1)
    places = start.unsqueeze(1) + torch.arange(updates.shape[dim], device=var.device)
    target, values = var.movedim(dim, 1), updates.movedim(dim, 1)
    if target.shape[2:] != values.shape[2:]:
        message = f"updates of shape {list(updates.shape)} do not fill the axes beside {dim}"
        raise ValueError(message)
    target.index_put_((batch.unsqueeze(1), places), values)
    return var


@kernel("ScatterList", source="ops-nn:index/scatter_list/op_graph/scatter_list_proto.h")
def scatter_list(
    var: list[torch.Tensor],
    indice: torch.Tensor,
    updates: torch.Tensor,
    mask: torch.Tensor | None = None,
    *,
    reduce: str = "update",
    axis: int = -2,
) -> list[torch.Tensor]:
    """Write the updates of each tensor from its index on along an axis, where the mask is set."""
    if reduce != "update" or indice.dim() != 1 or axis >= 0:
        message = (
            f"reduce '{reduce}' with indices of {indice.dim()} axes along axis {axis} is not "
            "available; available are update, one axis, and an axis that counts from the end"
        )
        raise NotImplementedError(message)
    for number, tensor in enumerate(var):
        update = updates[number]
        places = indice[number].long() + torch.arange(update.shape[axis], device=tensor.device)
        if mask is not None:
            update = torch.where(mask[number] != 0, update, tensor.index_select(axis, places))
        tensor.index_copy_(axis, places, update)
    return var


@kernel(
    "ScatterNdUpdate", source="ops-nn:index/scatter_nd_update/op_graph/scatter_nd_update_proto.h"
)
def scatter_nd_update(
    var: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor, *, use_locking: bool = False
) -> torch.Tensor:
    """Write into var what then stands at the places of `indices`."""
    del use_locking
    return var.index_put_(coordinates(indices), updates)


@kernel(
    "TensorScatterUpdate",
    source="ops-nn:index/tensor_scatter_update/op_graph/tensor_scatter_update_proto.h",
)
def tensor_scatter_update(
    x: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor
) -> torch.Tensor:
    """Answer x with updates at the places of `indices`."""
    return x.index_put(coordinates(indices), updates)


@kernel("ScatterNd", source="ops-nn:index/scatter_nd/op_graph/scatter_nd_proto.h")
def scatter_nd(indices: torch.Tensor, x: torch.Tensor, shape: list[int]) -> torch.Tensor:
    """Add up values at the places of `indices`; zeros elsewhere."""
    return x.new_zeros(shape).index_put(coordinates(indices), x, accumulate=True)


@kernel("ScatterUpdate", source="ops-nn:index/scatter_update/op_graph/scatter_update_proto.h")
def scatter_update(
    var: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor, *, use_locking: bool = False
) -> torch.Tensor:
    """Write rows."""
    del use_locking
    return var.index_put_((indices.long(),), updates)


@kernel("ScatterAdd", source="ops-nn:index/scatter_add/op_graph/scatter_add_proto.h")
def scatter_add(
    var: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor, *, use_locking: bool = False
) -> torch.Tensor:
    """Add to rows."""
    del use_locking
    return var.index_put_((indices.long(),), updates, accumulate=True)


@kernel(
    "EmbeddingDenseGrad",
    source="ops-nn:index/embedding_dense_grad/op_graph/embedding_dense_grad_proto.h",
)
def embedding_dense_grad(
    grad: torch.Tensor,
    indices: torch.Tensor,
    *,
    num_weights: int,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
) -> torch.Tensor:
    """Add up the gradients of each row of a table."""
    table: torch.Tensor = torch.ops.aten.embedding_dense_backward(
        grad, indices, num_weights, padding_idx, scale_grad_by_freq
    )
    return table


@kernel("EmbeddingBag", source="ops-nn:index/embedding_bag/op_graph/embedding_bag_proto.h")
def embedding_bag(
    weight: torch.Tensor,
    indices: torch.Tensor,
    offsets: torch.Tensor | None = None,
    per_sample_weights: torch.Tensor | None = None,
    *,
    mode: str = "mean",
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[torch.Tensor, ...]:
    """Reduce rows of a table by bags; without offsets, each row of `indices` is a bag."""
    if offsets is None:
        offsets = torch.arange(0, indices.numel(), indices.shape[-1], device=indices.device)
        indices = indices.flatten()
        include_last_offset = False
    bags: tuple[torch.Tensor, ...] = torch.ops.aten._embedding_bag(  # noqa: SLF001 - the operator's name in ATen
        weight,
        indices,
        offsets.to(indices.dtype),
        scale_grad_by_freq,
        BAG_MODES[mode],
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )
    return bags


@kernel("OneHot", source="ops-math:math/one_hot/op_graph/one_hot_proto.h")
def one_hot(
    x: torch.Tensor, depth: int, on_value: torch.Tensor, off_value: torch.Tensor, *, axis: int = -1
) -> torch.Tensor:
    """Answer on_value where the new axis counts what `x` says, and off_value elsewhere."""
    axis %= x.dim() + 1
    counter = torch.arange(depth, device=x.device).reshape([depth, *([1] * (x.dim() - axis))])
    return torch.where(x.unsqueeze(axis) == counter, on_value.reshape(()), off_value.reshape(()))


@kernel("MaskedScatter", source="ops-nn:index/masked_scatter/op_graph/masked_scatter_proto.h")
def masked_scatter(x: torch.Tensor, mask: torch.Tensor, updates: torch.Tensor) -> torch.Tensor:
    """Write updates, one after the other, where the mask is set."""
    return x.masked_scatter(mask.bool(), updates)


@kernel("NonZero", source="ops-nn:index/non_zero/op_graph/non_zero_proto.h")
def non_zero(x: torch.Tensor, *, transpose: bool = False, dtype: int = 9) -> torch.Tensor:
    """Refuse: the shape of the result depends on values."""
    del transpose, dtype
    message = (
        f"how many of the {x.numel()} elements are not zero is known only when the graph runs; "
        "run this operator outside of the graph"
    )
    raise NotImplementedError(message)
