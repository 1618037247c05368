"""Operators that answer shapes, or give their input another one."""

from __future__ import annotations

from collections.abc import Sequence  # noqa: TC003 - the table reads the annotations

import torch

from opwright.graph_engine.table import kernel
from opwright.graph_engine.tensors.dtypes import from_runtime

INT32 = 3


@kernel("Shape", source="ops-math:math/shape/op_graph/shape_proto.h", of_shapes=True)
def shape(x: torch.Tensor, *, dtype: int = INT32) -> torch.Tensor:
    """Answer the sizes."""
    return torch.tensor(list(x.shape), dtype=from_runtime(dtype, where="Shape"))


@kernel("ShapeN", source="ops-math:math/shape_n/op_graph/shape_n_proto.h", of_shapes=True)
def shape_n(x: list[torch.Tensor], *, dtype: int = INT32) -> tuple[torch.Tensor, ...]:
    """Answer the sizes of each input."""
    return tuple(shape(tensor, dtype=dtype) for tensor in x)


@kernel("Rank", source="ops-math:math/rank/op_graph/rank_proto.h", of_shapes=True)
def rank(x: torch.Tensor) -> torch.Tensor:
    """Answer the number of axes."""
    return torch.tensor(x.dim(), dtype=torch.int32)


@kernel("Size", source="graphengine:third_party/fwkacllib/inc/ops/array_ops.h", of_shapes=True)
def size(x: torch.Tensor, *, dtype: int = INT32) -> torch.Tensor:
    """Answer the number of elements."""
    return torch.tensor(x.numel(), dtype=from_runtime(dtype, where="Size"))


@kernel("Reshape", source="ops-math:conversion/reshape/op_graph/reshape_proto.h")
def reshape(
    x: torch.Tensor, shape: list[int], *, axis: int = 0, num_axes: int = -1
) -> torch.Tensor:
    """Give `x` another shape, from axis `axis` over `num_axes` axes; a size of 0 stays as it is."""
    start = axis if axis >= 0 else axis + x.dim() + 1
    stop = x.dim() if num_axes == -1 else start + num_axes
    old = x.shape[start:stop]
    sizes = [
        old[at] if wanted == 0 and at < len(old) and x.numel() else wanted
        for at, wanted in enumerate(shape)
    ]
    return x.reshape([*x.shape[:start], *sizes, *x.shape[stop:]])


@kernel("FlattenV2", source="graphengine:third_party/fwkacllib/inc/ops/transformation_ops.h")
def flatten_v2(x: torch.Tensor, *, axis: int = 1, end_axis: int = -1) -> torch.Tensor:
    """Make one axis of `axis` to `end_axis`."""
    return x.flatten(axis, end_axis)


@kernel("Flatten", source="graphengine:third_party/fwkacllib/inc/ops/transformation_ops.h")
def flatten(x: torch.Tensor, *, axis: int = 1) -> torch.Tensor:
    """Make a matrix: the axes before `axis`, and the others."""
    start = axis if axis >= 0 else axis + x.dim()
    return x.reshape(x.shape[:start].numel(), x.shape[start:].numel())


def insert_axes(x: torch.Tensor, axes: Sequence[int]) -> torch.Tensor:
    """Insert axes of size 1; `axes` counts in the result."""
    rank = x.dim() + len(axes)
    for axis in sorted(axis % rank for axis in axes):
        x = x.unsqueeze(axis)
    return x


def remove_axes(x: torch.Tensor, axes: Sequence[int]) -> torch.Tensor:
    """Remove axes of size 1: all of them if none is named."""
    if not axes:
        return x.squeeze()
    for axis in axes:
        if x.dim() and x.shape[axis] != 1:
            message = f"axis {axis} has size {x.shape[axis]}; only axes of size 1 can be removed"
            raise ValueError(message)
    return x.squeeze(tuple(axes))


@kernel("Unsqueeze", source="ops-math:conversion/unsqueeze/op_graph/unsqueeze_proto.h")
def unsqueeze(x: torch.Tensor, *, axes: Sequence[int] = ()) -> torch.Tensor:
    """Insert axes of size 1."""
    return insert_axes(x, axes)


@kernel("UnsqueezeV3", source="ops-math:conversion/unsqueezev3/op_graph/unsqueezev3_proto.h")
def unsqueeze_v3(x: torch.Tensor, axes: list[int]) -> torch.Tensor:
    """Insert axes of size 1."""
    return insert_axes(x, axes)


@kernel("ExpandDims", source="graphengine:third_party/fwkacllib/inc/ops/array_ops.h")
def expand_dims(x: torch.Tensor, axis: int) -> torch.Tensor:
    """Insert an axis of size 1."""
    return x.unsqueeze(axis)


@kernel("Squeeze", source="ops-math:conversion/squeeze/op_graph/squeeze_proto.h")
def squeeze(x: torch.Tensor, *, axis: Sequence[int] = ()) -> torch.Tensor:
    """Remove axes of size 1."""
    return remove_axes(x, axis)


@kernel("SqueezeV3", source="ops-math:conversion/squeezev3/op_graph/squeezev3_proto.h")
def squeeze_v3(x: torch.Tensor, axes: list[int] | None = None) -> torch.Tensor:
    """Remove axes of size 1."""
    return remove_axes(x, axes or ())


@kernel("Transpose", source="ops-math:conversion/transpose/op_graph/transpose_proto.h")
def transpose(x: torch.Tensor, perm: list[int]) -> torch.Tensor:
    """Permute the axes."""
    return x.permute(perm)


@kernel("TransposeD", source="ops-transformer:mc2/matmul_allto_all/op_graph/transpose_d_proto.h")
def transpose_d(x: torch.Tensor, *, perm: Sequence[int]) -> torch.Tensor:
    """Permute the axes."""
    return x.permute(tuple(perm))


@kernel("Permute", source="ops-math:conversion/transpose/op_graph/permute_proto.h")
def permute(x: torch.Tensor, *, order: Sequence[int] = (0,)) -> torch.Tensor:
    """Permute the axes."""
    return x.permute(tuple(order))


@kernel("BroadcastTo", source="ops-math:conversion/broadcast_to/op_graph/broadcast_to_proto.h")
def broadcast_to(x: torch.Tensor, shape: list[int]) -> torch.Tensor:
    """Repeat along axes of size 1; a size of -1 stays as it is."""
    return x.expand(shape)


@kernel("Expand", source="ops-math:math/expand/op_graph/expand_proto.h")
def expand(x: torch.Tensor, shape: list[int]) -> torch.Tensor:
    """Repeat along axes of size 1; a size of -1 or 1 stays as it is."""
    missing = len(shape) - x.dim()
    old = [*([1] * missing), *x.shape[max(-missing, 0) :]]
    sizes = [have if want in (-1, 1) else want for have, want in zip(old, shape, strict=True)]
    return x.expand([*x.shape[: max(-missing, 0)], *sizes])


@kernel("Tile", source="ops-math:math/tile/op_graph/tile_proto.h")
def tile(x: torch.Tensor, multiples: list[int]) -> torch.Tensor:
    """Repeat the whole tensor along each axis."""
    return x.repeat(multiples)


@kernel("TileD", source="graphengine:third_party/fwkacllib/inc/ops/selection_ops.h")
def tile_d(x: torch.Tensor, *, multiples: Sequence[int]) -> torch.Tensor:
    """Repeat the whole tensor along each axis."""
    return x.repeat(tuple(multiples))


@kernel("Pack", source="ops-math:conversion/pack/op_graph/pack_proto.h")
def pack(x: list[torch.Tensor], *, axis: int = 0, N: int = 1) -> torch.Tensor:
    """Stack along a new axis."""
    del N
    return torch.stack(x, axis)


@kernel("Unpack", source="ops-math:conversion/unpack/op_graph/unpack_proto.h")
def unpack(x: torch.Tensor, *, num: int, axis: int = 0) -> tuple[torch.Tensor, ...]:
    """Take an axis apart."""
    if x.shape[axis] != num:
        message = f"axis {axis} has size {x.shape[axis]}, and num is {num}"
        raise ValueError(message)
    return x.unbind(axis)


def join(parts: Sequence[torch.Tensor], axis: int) -> torch.Tensor:
    """Join along an axis; a scalar has one."""
    return torch.cat([part.reshape(1) if part.dim() == 0 else part for part in parts], axis)


@kernel("ConcatV2", source="ops-math:conversion/concat_v2/op_graph/concat_v2_proto.h")
def concat_v2(x: list[torch.Tensor], concat_dim: int, *, N: int = 1) -> torch.Tensor:
    """Join along an axis."""
    del N
    return join(x, concat_dim)


@kernel("Concat", source="ops-math:conversion/concat/op_graph/concat_proto.h")
def concat(concat_dim: int, x: list[torch.Tensor], *, N: int = 1) -> torch.Tensor:
    """Join along an axis."""
    del N
    return join(x, concat_dim)


@kernel("ConcatD", source="ops-math:conversion/concat_d/op_graph/concat_d_proto.h")
@kernel("ConcatV2D", source="graphengine:third_party/fwkacllib/inc/ops/split_combination_ops.h")
def concat_d(x: list[torch.Tensor], *, concat_dim: int, N: int = 1) -> torch.Tensor:
    """Join along an axis."""
    del N
    return join(x, concat_dim)


def pieces(x: torch.Tensor, sizes: Sequence[int], axis: int, count: int) -> list[torch.Tensor]:
    """Cut into pieces; one size may be -1, what remains."""
    if len(sizes) != count:
        message = f"{len(sizes)} sizes for {count} pieces"
        raise ValueError(message)
    left = x.shape[axis] - sum(size for size in sizes if size != -1)
    return list(x.split_with_sizes([left if size == -1 else size for size in sizes], axis))


def equal_pieces(x: torch.Tensor, axis: int, count: int) -> list[torch.Tensor]:
    """Cut into pieces of equal size."""
    if x.shape[axis] % count:
        message = f"axis {axis} of size {x.shape[axis]} cannot be cut into {count} equal pieces"
        raise ValueError(message)
    return pieces(x, [x.shape[axis] // count] * count, axis, count)


@kernel("SplitV", source="ops-math:conversion/split_v/op_graph/split_v_proto.h")
def split_v(
    x: torch.Tensor, size_splits: list[int], split_dim: int, *, num_split: int
) -> list[torch.Tensor]:
    """Cut into pieces of given sizes."""
    return pieces(x, size_splits, split_dim, num_split)


@kernel("SplitVD", source="graphengine:third_party/fwkacllib/inc/ops/split_combination_ops.h")
def split_v_d(
    x: torch.Tensor, *, size_splits: Sequence[int], split_dim: int, num_split: int
) -> list[torch.Tensor]:
    """Cut into pieces of given sizes."""
    return pieces(x, size_splits, split_dim, num_split)


@kernel("Split", source="ops-math:conversion/split/op_graph/split_proto.h")
def split(split_dim: int, x: torch.Tensor, *, num_split: int) -> list[torch.Tensor]:
    """Cut into pieces of equal size."""
    return equal_pieces(x, split_dim, num_split)


@kernel("SplitD", source="ops-math:conversion/split_d/op_graph/split_d_proto.h")
def split_d(x: torch.Tensor, *, split_dim: int, num_split: int) -> list[torch.Tensor]:
    """Cut into pieces of equal size."""
    return equal_pieces(x, split_dim, num_split)


def make_dense(x: torch.Tensor) -> torch.Tensor:
    """Return the tensor with strides of its shape, at the beginning of its memory."""
    if x.is_contiguous() and x.storage_offset() == 0:
        return x
    return x.clone(memory_format=torch.contiguous_format)


@kernel("AsStrided", source="ops-math:conversion/as_strided/op_graph/as_strided_proto.h")
def as_strided(
    x: torch.Tensor, size: list[int], stride: list[int], storage_offset: int
) -> torch.Tensor:
    """Read elements of the memory of `x` at strides of one's own."""
    return make_dense(x).as_strided(size, stride, storage_offset)


@kernel("ViewCopy", source="ops-math:conversion/view_copy/op_graph/view_copy_proto.h")
def view_copy(
    dst: torch.Tensor,
    dst_size: list[int],
    dst_stride: list[int],
    dst_storage_offset: int,
    src: torch.Tensor,
    src_size: list[int],
    src_stride: list[int],
    src_storage_offset: int,
) -> torch.Tensor:
    """Answer dst with a view of `src` in a view of it.

    Unlike other operators whose output has the name of an input, this one leaves it as it is:
    TorchAir has it stand for as_strided_scatter.
    """
    values = make_dense(src).as_strided(src_size, src_stride, src_storage_offset)
    return torch.as_strided_scatter(
        make_dense(dst), values, dst_size, dst_stride, dst_storage_offset
    )


@kernel("ReverseV2", source="ops-nn:index/reverse_v2/op_graph/reverse_v2_proto.h")
def reverse_v2(x: torch.Tensor, axis: list[int]) -> torch.Tensor:
    """Reverse the order along axes."""
    return x.flip(axis)


@kernel("Roll", source="ops-math:conversion/roll/op_graph/roll_proto.h")
def roll(x: torch.Tensor, *, shifts: Sequence[int], dims: Sequence[int] = ()) -> torch.Tensor:
    """Shift along axes; what falls off comes in at the other end."""
    return x.roll(tuple(shifts), tuple(dims))


@kernel("RollV2", source="ops-math:conversion/roll/docs/aclnnRoll.md")
def roll_v2(input: torch.Tensor, shift: list[int], axes: list[int]) -> torch.Tensor:  # noqa: A002 - the prototype's name
    """Shift along axes; what falls off comes in at the other end."""
    return input.roll(shift, axes)


@kernel("Tril", source="ops-math:conversion/tril/op_graph/tril_proto.h")
def tril(x: torch.Tensor, *, diagonal: int = 0) -> torch.Tensor:
    """Keep what is on and below a diagonal."""
    return x.tril(diagonal)


@kernel("Triu", source="ops-math:conversion/triu/op_graph/triu_proto.h")
def triu(x: torch.Tensor, *, diagonal: int = 0) -> torch.Tensor:
    """Keep what is on and above a diagonal."""
    return x.triu(diagonal)
