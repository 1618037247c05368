"""Images that change their size, patches, and grids."""

from __future__ import annotations

from typing import cast

import torch
from torch.nn import functional

from opwright.graph_engine.kernels.available import require_one_of
from opwright.graph_engine.legacy.kernels.gradient import gradients
from opwright.graph_engine.legacy.kernels.table import legacy_kernel

aten = torch.ops.aten

Two = tuple[torch.Tensor, torch.Tensor]

THREE = 3  # axes of a batch of rows
RESIZES = {
    ("linear", 1): aten.upsample_linear1d,
    ("linear", 2): aten.upsample_bilinear2d,
    ("cubic", 2): aten.upsample_bicubic2d,
}
ALIGNED = "align_corners"


def resize_image(
    x: torch.Tensor, sizes: list[int], scales: list[float], mode: str, transformation: str
) -> torch.Tensor:
    """Return an image of another size; `mode` is ONNX's name of the interpolation.

    Scales, if they are given, say where the new elements lie; torch_npu writes 0 for none.
    """
    if mode == "nearest":
        return functional.interpolate(x, tuple(sizes), mode="nearest")
    require_one_of("mode and number of axes", (mode, len(sizes)), *RESIZES)
    transformations = (ALIGNED, "half_pixel", "pytorch_half_pixel")
    require_one_of("coordinate_transformation_mode", transformation, *transformations)
    given = [scale or None for scale in scales] or [None] * len(sizes)
    resize = RESIZES[mode, len(sizes)]
    return cast("torch.Tensor", resize(x, sizes, transformation == ALIGNED, *given))


def plain(
    mode: str,
    nearest_mode: str,
    *,
    cubic_coeff_a: float,
    exclude_outside: int,
    extrapolation_value: float,
) -> None:
    """Refuse the choices of an interpolation that torch_npu never makes."""
    if mode == "nearest":
        require_one_of("nearest_mode", nearest_mode, "floor")
    require_one_of("cubic_coeff_a", cubic_coeff_a, -0.75)
    require_one_of("exclude_outside", exclude_outside, 0)
    require_one_of("extrapolation_value", extrapolation_value, 0.0)


def image_like(x: torch.Tensor, count: int) -> torch.Tensor:
    """Return rows that stand as images of height one as rows again."""
    return x.squeeze(2) if x.dim() == THREE + 1 and count == 1 else x


@legacy_kernel("ResizeD", source="op-plugin:op_plugin/ops/aclops/UpsampleBicubic2dKernelNpu.cpp")
def resize_d(
    x: torch.Tensor,
    *,
    sizes: list[int],
    scales: list[float] = (),  # type: ignore[assignment]
    roi: list[int] = (),  # type: ignore[assignment]
    coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> torch.Tensor:
    """Resize an image."""
    require_one_of("roi", list(roi), [])
    plain(
        mode,
        nearest_mode,
        cubic_coeff_a=cubic_coeff_a,
        exclude_outside=exclude_outside,
        extrapolation_value=extrapolation_value,
    )
    image = image_like(x, len(sizes))
    return resize_image(image, sizes, scales, mode, coordinate_transformation_mode)


@legacy_kernel(
    "ResizeGradD", source="op-plugin:op_plugin/ops/aclops/UpSampleBicubic2dBackwardKernelNpu.cpp"
)
def resize_grad_d(
    grads: torch.Tensor,
    *,
    original_size: list[int],
    roi: list[int] = (),  # type: ignore[assignment]
    scales: list[float] = (),  # type: ignore[assignment]
    coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
    data_format: str = "NCHW",
) -> torch.Tensor:
    """Gradient of ResizeD."""
    require_one_of("roi", list(roi), [])
    require_one_of("data_format", data_format, "NCHW", "HWNC")
    plain(
        mode,
        nearest_mode,
        cubic_coeff_a=cubic_coeff_a,
        exclude_outside=exclude_outside,
        extrapolation_value=extrapolation_value,
    )
    if data_format == "HWNC":
        grads = grads.permute(2, 3, 0, 1)
    count = len(original_size) - 2
    outer = image_like(grads, count).contiguous()
    sizes = list(outer.shape[2:])
    (found,) = gradients(
        lambda x: resize_image(x, sizes, scales, mode, coordinate_transformation_mode),
        [grads.new_zeros(original_size)],
        outer,
    )
    # The result has the axes of the operand in memory, but the shape that the attribute gives.
    return found.permute(2, 3, 0, 1).reshape(found.shape) if data_format == "HWNC" else found


@legacy_kernel("Resize", source="op-plugin:op_plugin/ops/aclops/UpsampleNearest1dKernelNpu.cpp")
def resize(
    x: torch.Tensor,
    roi: torch.Tensor | None = None,
    scales: torch.Tensor | None = None,
    sizes: list[int] | None = None,
    *,
    coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> torch.Tensor:
    """Resize an image to sizes; torch_npu gives numbers for the other two inputs as well."""
    del roi, scales
    plain(
        mode,
        nearest_mode,
        cubic_coeff_a=cubic_coeff_a,
        exclude_outside=exclude_outside,
        extrapolation_value=extrapolation_value,
    )
    if sizes is None:
        message = "scales without sizes are not available"
        raise NotImplementedError(message)
    return resize_image(x, sizes[2:], [], mode, coordinate_transformation_mode)


@legacy_kernel(
    "ResizeBilinearV2Grad",
    source="ops-cv:image/resize_bilinear_v2_grad/op_graph/resize_bilinear_v2_grad_proto.h",
)
def resize_bilinear_v2_grad(
    grads: torch.Tensor,
    original_image: torch.Tensor,
    *,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
) -> torch.Tensor:
    """Gradient of ResizeBilinearV2."""
    if not align_corners and not half_pixel_centers:
        message = "neither align_corners nor half_pixel_centers is not available"
        raise NotImplementedError(message)
    found = aten.upsample_bilinear2d_backward(
        grads, grads.shape[2:], original_image.shape, align_corners
    )
    return cast("torch.Tensor", found)


@legacy_kernel(
    "UpsampleNearest3d",
    source="ops-cv:image/upsample_nearest3d/op_graph/upsample_nearest3d_proto.h",
)
def upsample_nearest_3d(
    x: torch.Tensor,
    *,
    output_size: list[int] = (),  # type: ignore[assignment]
    scales: list[float] = (),  # type: ignore[assignment]
) -> torch.Tensor:
    """Enlarge a volume by repeating."""
    require_one_of("scales", list(scales), [])
    return cast("torch.Tensor", aten.upsample_nearest3d(x, output_size))


@legacy_kernel(
    "UpsampleNearest3dGrad",
    source="ops-cv:image/upsample_nearest3d_grad/op_graph/upsample_nearest3d_grad_proto.h",
)
def upsample_nearest_3d_grad(
    grad_output: torch.Tensor,
    *,
    input_size: list[int],
    output_size: list[int] = (),  # type: ignore[assignment]
    scales: list[float] = (),  # type: ignore[assignment]
) -> torch.Tensor:
    """Gradient of UpsampleNearest3d."""
    require_one_of("scales", list(scales), [])
    found = aten.upsample_nearest3d_backward(grad_output, output_size, input_size)
    return cast("torch.Tensor", found)


@legacy_kernel(
    "UpsampleTrilinear3d",
    source="ops-cv:image/resize_upsample_trilinear/docs/aclnnUpsampleTrilinear3d.md",
)
def upsample_trilinear_3d(
    x: torch.Tensor,
    *,
    output_size: list[int] = (),  # type: ignore[assignment]
    scales: list[float] = (),  # type: ignore[assignment]
    align_corners: bool = False,
) -> torch.Tensor:
    """Resize a volume."""
    require_one_of("scales", list(scales), [])
    return cast("torch.Tensor", aten.upsample_trilinear3d(x, output_size, align_corners))


@legacy_kernel(
    "UpsampleTrilinear3dGrad",
    source="op-plugin:op_plugin/ops/aclops/UpsampleTrilinear3dBackwardKernelNpu.cpp",
)
def upsample_trilinear_3d_grad(
    grad_output: torch.Tensor,
    *,
    input_size: list[int],
    output_size: list[int] = (),  # type: ignore[assignment]
    scales: list[float] = (),  # type: ignore[assignment]
    align_corners: bool = False,
) -> torch.Tensor:
    """Gradient of UpsampleTrilinear3d."""
    require_one_of("scales", list(scales), [])
    found = aten.upsample_trilinear3d_backward(grad_output, output_size, input_size, align_corners)
    return cast("torch.Tensor", found)


@legacy_kernel(
    "GridSampler3DGrad",
    source="ops-cv:image/grid_sampler3_d_grad/op_graph/grid_sampler3_d_grad_proto.h",
)
def grid_sampler_3d_grad(
    grad: torch.Tensor,
    x: torch.Tensor,
    grid: torch.Tensor,
    *,
    interpolation_mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> Two:
    """Gradients of GridSampler3D."""
    dx, dgrid = gradients(
        lambda volume, places: functional.grid_sample(
            volume,
            places,
            mode=interpolation_mode,
            padding_mode=padding_mode,
            align_corners=align_corners,
        ),
        [x, grid],
        grad,
    )
    return dx, dgrid


@legacy_kernel("AffineGrid", source="ops-math:math/affine_grid/docs/aclnnAffineGrid.md")
def affine_grid(
    theta: torch.Tensor, output_size: list[int], *, align_corners: bool = False
) -> torch.Tensor:
    """Places of the elements of images after an affine map."""
    return functional.affine_grid(theta, output_size, align_corners=align_corners)


def spread(values: list[int]) -> list[int]:
    """Return a value for height and one for width."""
    return list(values) if len(values) > 1 else [values[0]] * 2


@legacy_kernel("Im2col", source="ops-math:conversion/im2col/op_graph/im2col_proto.h")
def im2col(
    x: torch.Tensor,
    *,
    ksizes: list[int],
    strides: list[int] = (1,),  # type: ignore[assignment]
    dilations: list[int] = (1,),  # type: ignore[assignment]
    padding_mode: str = "CALCULATED",
    pads: list[int] = (0,),  # type: ignore[assignment]
) -> torch.Tensor:
    """Patches of images in columns; `pads` are one, two (height, width) or four numbers."""
    require_one_of("padding_mode", padding_mode, "CALCULATED")
    ends = {1: list(pads) * 4, 2: [pads[0], pads[0], pads[-1], pads[-1]]}.get(len(pads), pads)
    padded = functional.pad(x, [ends[2], ends[3], ends[0], ends[1]])
    found = aten.im2col(padded, ksizes, spread(dilations), [0, 0], spread(strides))
    return cast("torch.Tensor", found)


@legacy_kernel("Col2im", source="op-plugin:op_plugin/ops/aclops/Col2imKernelNpu.cpp")
def col2im(
    x: torch.Tensor,
    output_size: list[int],
    *,
    kernel_size: list[int],
    dilation: list[int],
    padding: list[int],
    stride: list[int],
) -> torch.Tensor:
    """Add up patches to images."""
    # Channels and elements of a patch may be axes of their own.
    rows = torch.Size(x.shape[1:-1]).numel()
    flat = x.reshape(x.shape[0], rows, x.shape[-1])
    found = aten.col2im(flat, output_size, kernel_size, dilation, padding, stride)
    return cast("torch.Tensor", found)
