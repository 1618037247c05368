"""Operators that read, write and make elements by places."""

from __future__ import annotations

import torch

from opwright.graph_engine.graph.model import Node
from opwright.graph_engine.kernels.indexing import embedding_bag as bags_of
from opwright.graph_engine.legacy.kernels.table import legacy_kernel

Two = tuple[torch.Tensor, torch.Tensor]


@legacy_kernel("ArgMaxGrad", source="torch_npu:_op_plugin_docs.py:npu_scatter")
def arg_max_grad(
    var: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor, *, dimension: int
) -> torch.Tensor:
    """Write one update for each slice at its index along an axis."""
    places = indices.long().unsqueeze(dimension)
    return var.scatter(dimension, places, updates.unsqueeze(dimension))


@legacy_kernel("GatherV2D", source="graphengine:third_party/fwkacllib/inc/ops/selection_ops.h")
def gather_v2d(x: torch.Tensor, indices: torch.Tensor, *, axis: int) -> torch.Tensor:
    """Take slices along an axis."""
    taken = x.index_select(axis, indices.flatten().long())
    return taken.reshape([*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]])


@legacy_kernel("IndexFillD", source="ops-nn:index/index_fill_d/op_graph/index_fill_d_proto.h")
def index_fill_d(
    x: torch.Tensor, assist1: torch.Tensor, assist2: torch.Tensor, *, dim: int
) -> torch.Tensor:
    """Keep elements where `assist1` is one, and put those of `assist2` elsewhere."""
    del dim
    return (x * assist1 + assist2).to(x.dtype)


@legacy_kernel("MaskedFillRange", source="torch_npu:_op_plugin_docs.py:npu_masked_fill_range")
def masked_fill_range(
    x: torch.Tensor,
    start: torch.Tensor,
    end: torch.Tensor,
    value: torch.Tensor,
    *,
    axis: int,
) -> torch.Tensor:
    """Write a value between bounds along an axis, several times."""
    result = x.clone()
    places = torch.arange(x.shape[axis])
    for row in range(start.shape[0]):
        inside = (places >= start[row].unsqueeze(-1)) & (places < end[row].unsqueeze(-1))
        shape = [1] * x.dim()
        shape[axis] = x.shape[axis]
        if inside.dim() > 1 and x.dim() > 1:
            shape[0] = inside.shape[0]
        result = torch.where(inside.reshape(shape), value.flatten()[row], result)
    return result


@legacy_kernel("ScatterNdAdd", source="ops-nn:index/scatter_nd_add/op_graph/scatter_nd_add_proto.h")
def scatter_nd_add(
    var: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor, *, use_locking: bool = False
) -> torch.Tensor:
    """Add to what stands at the places of `indices`."""
    del use_locking
    return var.index_put_(indices.long().unbind(-1), updates, accumulate=True)


@legacy_kernel("OneHotD", source="graphengine:third_party/fwkacllib/inc/ops/selection_ops.h")
def one_hot_d(
    x: torch.Tensor,
    on_value: torch.Tensor,
    off_value: torch.Tensor,
    *,
    depth: int,
    axis: int = -1,
) -> torch.Tensor:
    """Mark the place that each number names."""
    places = torch.arange(depth)
    hot = torch.where(x.unsqueeze(-1) == places, on_value.flatten()[0], off_value.flatten()[0])
    return hot.movedim(-1, axis)


@legacy_kernel("RangeD", source="graphengine:third_party/fwkacllib/inc/ops/selection_ops.h")
def range_d(x: torch.Tensor, *, start: float, limit: float, delta: float) -> torch.Tensor:
    """Numbers at equal distances."""
    del limit  # x has as many elements as there are
    return (start + torch.arange(x.numel(), dtype=torch.float64) * delta).to(x.dtype)


@legacy_kernel("LogSpaceD", source="ops-math:math/logspace/docs/aclnnLogSpace.md")
def log_space_d(
    assist: torch.Tensor,
    *,
    start: float,
    end: float,
    steps: int = 100,
    base: float = 10.0,
    dtype: int = 1,
) -> torch.Tensor:
    """Powers of a base at equal distances of the exponent."""
    del assist, dtype  # the output's
    return torch.logspace(start, end, steps, base)


@legacy_kernel("Cummax", source="ops-math:math/cummax/docs/aclnnCummax.md")
def cummax(x: torch.Tensor, *, dim: int) -> Two:
    """Largest so far along an axis, and where it is."""
    values, places = torch.cummax(x, dim)
    return values, places


@legacy_kernel("Cummin", source="ops-math:math/cummin/docs/aclnnCummin.md")
def cummin(x: torch.Tensor, *, axis: int) -> Two:
    """Smallest so far along an axis, and where it is."""
    values, places = torch.cummin(x, axis)
    return values, places


@legacy_kernel("SortV2", source="ops-math:math/sort/docs/aclnnSort.md")
def sort_v2(x: torch.Tensor, *, axis: int = -1, descending: bool = False) -> torch.Tensor:
    """Sort along an axis, without places."""
    return x.sort(axis, descending).values


@legacy_kernel("TensorEqual", source="ops-math:math/tensor_equal/op_graph/tensor_equal_proto.h")
def tensor_equal(input_x: torch.Tensor, input_y: torch.Tensor) -> torch.Tensor:
    """Return whether all elements are equal."""
    return torch.tensor([torch.equal(input_x, input_y)])


@legacy_kernel(
    "ReduceStdV2Update", source="op-plugin:op_plugin/utils/custom_functions/aclops/VarKernelNpu.cpp"
)
def reduce_std_v2_update(
    x: torch.Tensor,
    mean: torch.Tensor,
    *,
    dim: list[int],
    if_std: bool = False,
    unbiased: bool = True,
    keepdim: bool = False,
    correction: int = 1,
) -> torch.Tensor:
    """Variance or deviation from a mean that is given."""
    axes = list(dim) or list(range(x.dim()))
    count = torch.Size([x.shape[axis] for axis in axes]).numel()
    squares = (x - mean).square().sum(axes, keepdim=keepdim)
    variance = squares / (count - (correction if unbiased else 0))
    return variance.sqrt() if if_std else variance


@legacy_kernel("StrideAdd", source="ops-math:math/stride_add/op_graph/stride_add_proto.h")
def stride_add(
    x1: torch.Tensor,
    x2: torch.Tensor,
    *,
    x1_c1_offset: int,
    x2_c1_offset: int,
    c1_len: int,
    node: Node,
) -> torch.Tensor:
    """Add ranges of channels; offsets and length count blocks of sixteen."""
    block = 16
    channels = (node.outputs[0].shape or (0, c1_len * block))[1]
    first = x1[:, x1_c1_offset * block :][:, :channels]
    second = x2[:, x2_c1_offset * block :][:, :channels]
    return first + second


@legacy_kernel("EmbeddingBag", source="ops-nn:index/embedding_bag/op_graph/embedding_bag_proto.h")
def embedding_bag(
    weight: torch.Tensor,
    indices: torch.Tensor,
    offsets: torch.Tensor,
    per_sample_weights: torch.Tensor | None = None,
    *,
    mode: str = "mean",
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
    include_last_offset: bool = False,
    padding_idx: int = -1,
    node: Node,
) -> tuple[torch.Tensor, ...]:
    """Reduce rows of a table by bags; also the bag of each row, which ATen leaves out for sums."""
    found = bags_of(
        weight,
        indices,
        offsets,
        per_sample_weights,
        mode=mode,
        scale_grad_by_freq=scale_grad_by_freq,
        sparse=sparse,
        include_last_offset=include_last_offset,
        padding_idx=padding_idx,
    )
    y, bags, *others = found
    if bags.numel() != indices.numel():
        places = torch.arange(indices.numel(), dtype=offsets.dtype)
        bags = torch.searchsorted(offsets, places, right=True) - 1
    shapes = [spec.shape or () for spec in node.outputs[2:]]
    filled = [
        each if each.numel() else each.new_zeros(shape)
        for each, shape in zip(others, shapes, strict=True)
    ]
    return (y, bags, *filled)
