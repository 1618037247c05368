"""Operators that cut out a part of a tensor by its bounds."""

from __future__ import annotations

import torch

from opwright.graph_engine.table import kernel


def cut_along(x: torch.Tensor, axis: int, bounds: slice) -> torch.Tensor:
    """Cut along one axis; a negative stride goes backwards."""
    places = range(*bounds.indices(x.shape[axis]))
    if not places:
        return x.narrow(axis, 0, 0)
    low, high = min(places[0], places[-1]), max(places[0], places[-1])
    part: torch.Tensor = torch.ops.aten.slice(x, axis, low, high + 1, abs(places.step))
    return part.flip(axis) if places.step < 0 else part


def cut(x: torch.Tensor, items: list[slice | int | None], *, ellipsis: int = -1) -> torch.Tensor:
    """Apply an item to each axis: a slice, an int (the axis goes), None (a new axis).

    Item number `ellipsis` stands for all axes that have no other one.
    """
    axis = 0
    for number, item in enumerate(items):
        if number == ellipsis:
            axis = x.dim() - sum(later is not None for later in items[number + 1 :])
        elif item is None:
            x = x.unsqueeze(axis)
            axis += 1
        elif isinstance(item, int):
            x = x.select(axis, item)
        else:
            x = cut_along(x, axis, item)
            axis += 1
    return x


def bit(mask: int, number: int) -> bool:
    """Whether the mask has a bit."""
    return bool(mask >> number & 1)


@kernel("StridedSlice", source="ops-math:conversion/strided_slice/op_graph/strided_slice_proto.h")
def strided_slice(
    x: torch.Tensor,
    begin: list[int],
    end: list[int],
    strides: list[int],
    *,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> torch.Tensor:
    """Cut; the masks say which bounds are open, which axes are new, and which go."""
    items: list[slice | int | None] = []
    for number, (first, last, step) in enumerate(zip(begin, end, strides, strict=True)):
        start = None if bit(begin_mask, number) else first
        stop = None if bit(end_mask, number) else last
        if bit(new_axis_mask, number):
            items.append(None)
        elif bit(shrink_axis_mask, number):
            items.append(first)
        else:
            items.append(slice(start, stop, step))
    return cut(x, items, ellipsis=ellipsis_mask.bit_length() - 1)


@kernel(
    "StridedSliceV2",
    source="ops-math:conversion/strided_slice_v2/op_graph/strided_slice_v2_proto.h",
)
def strided_slice_v2(
    x: torch.Tensor,
    begin: list[int],
    end: list[int],
    axes: list[int] | None = None,
    strides: list[int] | None = None,
    *,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> torch.Tensor:
    """Cut the axes that `axes` names; without it, the first ones."""
    strides = strides or [1] * len(begin)
    if axes is None:
        return strided_slice(
            x,
            begin,
            end,
            strides,
            begin_mask=begin_mask,
            end_mask=end_mask,
            ellipsis_mask=ellipsis_mask,
            new_axis_mask=new_axis_mask,
            shrink_axis_mask=shrink_axis_mask,
        )
    if ellipsis_mask or new_axis_mask or shrink_axis_mask:
        message = "masks of ellipses, new and removed axes together with axes are not available"
        raise NotImplementedError(message)
    for number, (axis, first, last) in enumerate(zip(axes, begin, end, strict=True)):
        start = None if bit(begin_mask, number) else first
        stop = None if bit(end_mask, number) else last
        x = cut_along(x, axis, slice(start, stop, strides[number]))
    return x


@kernel("Slice", source="ops-math:conversion/slice/op_graph/slice_proto.h")
def slice_sizes(x: torch.Tensor, offsets: list[int], size: list[int]) -> torch.Tensor:
    """Cut by offset and size of each axis; a size of -1 is all that is left."""
    for axis, (offset, count) in enumerate(zip(offsets, size, strict=True)):
        x = x.narrow(axis, offset, x.shape[axis] - offset if count == -1 else count)
    return x
