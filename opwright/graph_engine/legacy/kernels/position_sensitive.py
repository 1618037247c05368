"""Position-sensitive pooling of regions (R-FCN): each part of a region has channels of its own.

The formula is that of the paper's (arXiv 1605.06409) code, with sizes in the order of torch_npu's
documentation; what CANN rounds is inferred from it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from opwright.graph_engine.kernels.precision import widen
from opwright.graph_engine.legacy.kernels.table import legacy_kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

Bin = tuple[int, int, int, int, slice, slice]  # region, image, row, column, rows, columns

SMALLEST = 0.1  # width and height of a region


def bins_of(rois: torch.Tensor, shape: torch.Size, scale: float, groups: int) -> Iterator[Bin]:
    """Yield the parts of regions [batch, 5, count] in images of a shape, if they have a pixel."""
    images, _, height, width = shape
    for region, roi in enumerate(widen(rois).mT.flatten(0, 1).tolist()):
        image = int(roi[0])
        left, top = round(roi[1]) * scale, round(roi[2]) * scale
        right, bottom = round(roi[3] + 1) * scale, round(roi[4] + 1) * scale
        across = max(right - left, SMALLEST) / groups
        along = max(bottom - top, SMALLEST) / groups
        for row in range(groups if 0 <= image < images else 0):
            for column in range(groups):
                rows = span(top, along, row, height)
                columns = span(left, across, column, width)
                if rows.start < rows.stop and columns.start < columns.stop:
                    yield region, image, row, column, rows, columns


def span(begin: float, step: float, index: int, size: int) -> slice:
    """Return the pixels of a part along an axis."""
    first, last = math.floor(begin + index * step), math.ceil(begin + (index + 1) * step)
    return slice(min(max(first, 0), size), min(max(last, 0), size))


@legacy_kernel("PSROIPoolingV2", source="graphengine:third_party/fwkacllib/inc/ops/nn_detect_ops.h")
def ps_roi_pooling(
    x: torch.Tensor, rois: torch.Tensor, *, spatial_scale: float, output_dim: int, group_size: int
) -> torch.Tensor:
    """Answer the mean of each part [regions, output_dim, group_size, group_size]."""
    maps = widen(x).reshape(len(x), output_dim, group_size, group_size, *x.shape[2:])
    regions = rois.shape[0] * rois.shape[2]
    y = torch.zeros(regions, output_dim, group_size, group_size)
    for region, image, row, column, rows, columns in bins_of(
        rois, x.shape, spatial_scale, group_size
    ):
        y[region, :, row, column] = maps[image, :, row, column, rows, columns].mean((-2, -1))
    return y.to(x.dtype)


@legacy_kernel(
    "PSROIPoolingGradV2D", source="graphengine:third_party/fwkacllib/inc/ops/nn_detect_ops.h"
)
def ps_roi_pooling_gradient(
    x: torch.Tensor,
    rois: torch.Tensor,
    *,
    spatial_scale: float,
    output_dim: int,
    group_size: int,
    input_size: list[int],
) -> torch.Tensor:
    """Spread the gradient of each mean over its pixels, of images [height, width]."""
    images, channels = rois.shape[0], output_dim * group_size * group_size
    gradient = torch.zeros(images, channels, *input_size[:2])
    maps = gradient.view(images, output_dim, group_size, group_size, *input_size[:2])
    given = widen(x)
    for region, image, row, column, rows, columns in bins_of(
        rois, gradient.shape, spatial_scale, group_size
    ):
        area = (rows.stop - rows.start) * (columns.stop - columns.start)
        share = given[region, :, row, column, None, None] / area
        maps[image, :, row, column, rows, columns] += share
    return gradient.to(x.dtype)
