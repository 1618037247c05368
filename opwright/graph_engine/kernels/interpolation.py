"""Sampling between the elements of an image, channels first."""

from __future__ import annotations

from typing import cast

import torch
from torch.nn import functional

from opwright.graph_engine.kernels.available import require_one_of
from opwright.graph_engine.table import kernel

aten = torch.ops.aten

MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
PADDINGS = {"zeros": 0, "border": 1, "reflection": 2}


@kernel("GridSampler2D", source="torchair:aten.grid_sampler_2d.default")
def grid_sampler_2d(
    x: torch.Tensor,
    grid: torch.Tensor,
    *,
    interpolation_mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> torch.Tensor:
    """Sample an image where the grid says."""
    return cast(
        "torch.Tensor",
        aten.grid_sampler_2d(
            x, grid, MODES[interpolation_mode], PADDINGS[padding_mode], align_corners
        ),
    )


@kernel(
    "GridSampler2DGrad",
    source="ops-cv:image/grid_sampler2_d_grad/op_graph/grid_sampler2_d_grad_proto.h",
)
def grid_sampler_2d_grad(
    grad: torch.Tensor,
    x: torch.Tensor,
    grid: torch.Tensor,
    *,
    interpolation_mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gradients of GridSampler2D by image and grid."""
    modes = (MODES[interpolation_mode], PADDINGS[padding_mode])
    return cast(
        "tuple[torch.Tensor, torch.Tensor]",
        aten.grid_sampler_2d_backward(grad, x, grid, *modes, align_corners, [True, True]),
    )


@kernel("GridSampler3D", source="torchair:aten.grid_sampler_3d.default")
def grid_sampler_3d(
    x: torch.Tensor,
    grid: torch.Tensor,
    *,
    interpolation_mode: str = "bilinear",
    padding_mode: str = "zeros",
    data_format: str = "NCDHW",
    align_corners: bool = False,
) -> torch.Tensor:
    """Sample a volume where the grid says."""
    require_one_of("data_format", data_format, "NCDHW")
    return cast(
        "torch.Tensor",
        aten.grid_sampler_3d(
            x, grid, MODES[interpolation_mode], PADDINGS[padding_mode], align_corners
        ),
    )


def refuse_corners(*, align_corners: bool) -> None:
    """Raise NotImplementedError for grids that begin and end at the corners."""
    if align_corners:
        message = "align_corners is not available for the nearest element"
        raise NotImplementedError(message)


@kernel(
    "ResizeNearestNeighborV2",
    source="ops-cv:image/resize_nearest_neighbor_v2/op_graph/resize_nearest_neighbor_v2_proto.h",
)
def resize_nearest_neighbor_v2(
    x: torch.Tensor,
    size: list[int],
    *,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
) -> torch.Tensor:
    """Give an image another height and width, with the nearest elements."""
    refuse_corners(align_corners=align_corners)
    mode = "nearest-exact" if half_pixel_centers else "nearest"
    return functional.interpolate(x, size, mode=mode)


@kernel(
    "ResizeNearestNeighborV2Grad",
    source="ops-cv:image/resize_nearest_neighbor_v2_grad/op_graph/resize_nearest_neighbor_v2_grad_proto.h",
)
def resize_nearest_neighbor_v2_grad(
    grads: torch.Tensor,
    size: list[int],
    *,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
) -> torch.Tensor:
    """Gradient of ResizeNearestNeighborV2; `size` is that of the image."""
    refuse_corners(align_corners=align_corners)
    function = (
        aten._upsample_nearest_exact2d_backward  # noqa: SLF001 -- has no other name
        if half_pixel_centers
        else aten.upsample_nearest2d_backward
    )
    return cast("torch.Tensor", function(grads, list(grads.shape[2:]), [*grads.shape[:2], *size]))


@kernel(
    "ResizeBilinearV2", source="ops-cv:image/resize_bilinear_v2/op_graph/resize_bilinear_v2_proto.h"
)
def resize_bilinear_v2(
    x: torch.Tensor,
    size: list[int],
    *,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
    dtype: int = 0,
) -> torch.Tensor:
    """Give an image another height and width, in float32 unless it is half precision."""
    del dtype
    if not (align_corners or half_pixel_centers):
        message = "neither align_corners nor half_pixel_centers is not available"
        raise NotImplementedError(message)
    return functional.interpolate(x, size, mode="bilinear", align_corners=align_corners)
