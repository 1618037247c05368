"""Operators that read and write memory through strides."""

from __future__ import annotations

import torch

from opwright.graph_engine.legacy.kernels.table import legacy_kernel


@legacy_kernel("AsStrided", source="ops-math:conversion/as_strided/op_graph/as_strided_proto.h")
def as_strided(
    x: torch.Tensor, size: list[int], stride: list[int], storage_offset: int = 0
) -> torch.Tensor:
    """Answer a view of memory."""
    return torch.as_strided(x, size, stride, storage_offset)


@legacy_kernel("ViewCopy", source="ops-math:conversion/view_copy/op_graph/view_copy_proto.h")
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
    """Write a view of one memory into a view of another; only these elements are touched."""
    values = torch.as_strided(src, src_size, src_stride, src_storage_offset)
    torch.as_strided(dst, dst_size, dst_stride, dst_storage_offset).copy_(values)
    return dst


@legacy_kernel("TransData", source="ops-math:conversion/trans_data/op_graph/trans_data_proto.h")
def trans_data(
    src: torch.Tensor,
    *,
    src_format: str = "",
    dst_format: str = "",
    src_subformat: int = 0,
    dst_subformat: int = 0,
    groups: int = 1,
) -> torch.Tensor:
    """Answer the tensor; the descriptors of both sides say how it lies in memory."""
    del src_format, dst_format, src_subformat, dst_subformat, groups
    return src


@legacy_kernel(
    "ConfusionTransposeD",
    source="ops-math:conversion/confusion_transpose_d/op_graph/confusion_transpose_d_proto.h",
)
def confusion_transpose_d(
    x: torch.Tensor, *, perm: list[int], shape: list[int], transpose_first: bool
) -> torch.Tensor:
    """Permute the axes and change the shape, in either order."""
    if transpose_first:
        return x.permute(perm).reshape(shape)
    return x.reshape(shape).permute(perm)


@legacy_kernel("ShuffleChannel", source="graphengine:third_party/fwkacllib/inc/ops/random_ops.h")
def shuffle_channel(x: torch.Tensor, *, group: int = 1) -> torch.Tensor:
    """Interleave the channels of groups."""
    n, c, *rest = x.shape
    return x.reshape(n, group, c // group, *rest).transpose(1, 2).reshape(x.shape)
