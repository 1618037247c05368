"""Pooling and its gradients, channels first."""

from __future__ import annotations

from typing import cast

import torch
from torch.nn import functional

from opwright.graph_engine.kernels.available import require_one_of
from opwright.graph_engine.table import kernel
from opwright.graph_engine.tensors.dtypes import from_runtime

aten = torch.ops.aten

INT32 = 3
ONES_2 = (1, 1)
ONES_3 = (1, 1, 1)
ONES_4 = (1, 1, 1, 1)
ZEROS_4 = (0, 0, 0, 0)

Two = tuple[torch.Tensor, torch.Tensor]


def inner(values: list[int]) -> list[int]:
    """Return the values of height and width of [1, height, width, 1]."""
    return list(values[1:3])


@kernel(
    "MaxPoolWithArgmaxV1",
    source="ops-nn:pooling/max_pool3d_with_argmax_v2/op_graph/max_pool_with_argmax_v1_proto.h",
)
def max_pool_with_argmax_v1(
    x: torch.Tensor,
    *,
    ksize: list[int],
    strides: list[int],
    pads: list[int],
    dtype: int = INT32,
    dilation: list[int] = ONES_4,  # type: ignore[assignment]
    ceil_mode: bool = False,
) -> Two:
    """Largest of each window, and where it is; only MaxPoolGradWithArgmaxV1 reads the latter.

    CANN writes the positions as masks of bits; here they are positions in the image.
    """
    y, position = aten.max_pool2d_with_indices(
        x, inner(ksize), inner(strides), inner(pads), inner(dilation), ceil_mode
    )
    return y, position.to(from_runtime(dtype, where="MaxPoolWithArgmaxV1"))


@kernel(
    "MaxPoolGradWithArgmaxV1",
    source="ops-nn:pooling/max_pool3d_grad_with_argmax/op_graph/max_pool_grad_with_argmax_v1_proto.h",
)
def max_pool_grad_with_argmax_v1(
    x: torch.Tensor,
    grad: torch.Tensor,
    argmax: torch.Tensor,
    *,
    ksize: list[int],
    strides: list[int],
    pads: list[int],
    dtype: int = INT32,
    dilation: list[int] = ONES_4,  # type: ignore[assignment]
    ceil_mode: bool = False,
) -> torch.Tensor:
    """Gradient of MaxPoolWithArgmaxV1."""
    del dtype
    windows = (inner(ksize), inner(strides), inner(pads), inner(dilation))
    return cast(
        "torch.Tensor",
        aten.max_pool2d_with_indices_backward(grad, x, *windows, ceil_mode, argmax.long()),
    )


@kernel(
    "MaxPoolWithArgmaxV3",
    source="ops-nn:pooling/max_pool_with_argmax_v3/op_graph/max_pool_with_argmax_v3_proto.h",
)
def max_pool_with_argmax_v3(
    x: torch.Tensor,
    *,
    ksize: list[int],
    strides: list[int],
    pads: list[int],
    dtype: int = INT32,
    dilation: list[int] = ONES_2,  # type: ignore[assignment]
    ceil_mode: bool = False,
    data_format: str = "NCHW",
) -> Two:
    """Largest of each window, and its position in the image."""
    require_one_of("data_format", data_format, "NCHW")
    y, position = aten.max_pool2d_with_indices(x, ksize, strides, pads, dilation, ceil_mode)
    return y, position.to(from_runtime(dtype, where="MaxPoolWithArgmaxV3"))


@kernel(
    "MaxPoolGradWithArgmaxV3",
    source="ops-nn:pooling/max_pool_grad_with_argmax_v3/op_graph/max_pool_grad_with_argmax_v3_proto.h",
)
def max_pool_grad_with_argmax_v3(
    x: torch.Tensor,
    grad: torch.Tensor,
    argmax: torch.Tensor,
    *,
    ksize: list[int],
    strides: list[int],
    pads: list[int],
    dtype: int = INT32,
    dilation: list[int] = ONES_2,  # type: ignore[assignment]
    ceil_mode: bool = False,
    data_format: str = "NCHW",
) -> torch.Tensor:
    """Gradient of MaxPoolWithArgmaxV3."""
    del dtype
    require_one_of("data_format", data_format, "NCHW")
    windows = (ksize, strides, pads, dilation)
    return cast(
        "torch.Tensor",
        aten.max_pool2d_with_indices_backward(grad, x, *windows, ceil_mode, argmax.long()),
    )


@kernel(
    "MaxPool3DWithArgmaxV2",
    source="ops-nn:pooling/max_pool3d_with_argmax_v2/op_graph/max_pool3d_with_argmax_v2_proto.h",
)
def max_pool_3d_with_argmax_v2(
    x: torch.Tensor,
    *,
    ksize: list[int],
    strides: list[int],
    pads: list[int],
    dilation: list[int] = ONES_3,  # type: ignore[assignment]
    ceil_mode: bool = False,
    data_format: str = "NCDHW",
    dtype: int = INT32,
) -> Two:
    """Largest of each window of a volume, and its position."""
    require_one_of("data_format", data_format, "NCDHW")
    y, position = aten.max_pool3d_with_indices(x, ksize, strides, pads, dilation, ceil_mode)
    return y, position.to(from_runtime(dtype, where="MaxPool3DWithArgmaxV2"))


def pair_padding(pads: list[int]) -> list[int]:
    """Return the padding of each axis from those before and after it."""
    if pads[::2] != pads[1::2]:
        message = f"pads {pads}, which differ before and after, are not available"
        raise NotImplementedError(message)
    return list(pads[::2])


@kernel("AvgPoolV2", source="ops-nn:pooling/avg_pool_v2/op_graph/avg_pool_v2_proto.h")
def avg_pool_v2(
    x: torch.Tensor,
    *,
    ksize: list[int],
    strides: list[int],
    padding_mode: str = "CALCULATED",
    pads: list[int] = ZEROS_4,  # type: ignore[assignment]
    data_format: str = "NCHW",
    global_pooling: bool = False,
    ceil_mode: bool = False,
    exclusive: bool = True,
    divisor_override: int = 0,
) -> torch.Tensor:
    """Mean of each window; `exclusive`: padding does not count."""
    require_one_of("data_format", data_format, "NCHW")
    if global_pooling:
        return x.mean([-2, -1], keepdim=True)
    require_one_of("padding_mode", padding_mode, "CALCULATED")
    return functional.avg_pool2d(
        x,
        ksize[2:],
        strides[2:],
        pair_padding(pads),
        ceil_mode=ceil_mode,
        count_include_pad=not exclusive,
        divisor_override=divisor_override or None,
    )


@kernel("AvgPoolV2Grad", source="ops-nn:pooling/avg_pool_v2_grad/op_graph/avg_pool_v2_grad_proto.h")
def avg_pool_v2_grad(  # noqa: PLR0913 -- the prototype's
    orig_input_shape: list[int],
    input_grad: torch.Tensor,
    *,
    ksize: list[int],
    strides: list[int],
    padding_mode: str = "CALCULATED",
    pads: list[int] = ZEROS_4,  # type: ignore[assignment]
    data_format: str = "NCHW",
    global_pooling: bool = False,
    ceil_mode: bool = False,
    exclusive: bool = True,
    divisor_override: int = 0,
) -> torch.Tensor:
    """Gradient of AvgPoolV2."""
    require_one_of("data_format", data_format, "NCHW")
    if global_pooling:
        height, width = orig_input_shape[-2:]
        return (input_grad / (height * width)).expand(orig_input_shape).clone()
    require_one_of("padding_mode", padding_mode, "CALCULATED")
    x = input_grad.new_zeros(orig_input_shape)
    windows = (ksize[2:], strides[2:], pair_padding(pads))
    return cast(
        "torch.Tensor",
        aten.avg_pool2d_backward(
            input_grad, x, *windows, ceil_mode, not exclusive, divisor_override or None
        ),
    )


@kernel(
    "AdaptiveAvgPool2d",
    source="ops-nn:pooling/adaptive_avg_pool2d/op_graph/adaptive_avg_pool2d_proto.h",
)
def adaptive_avg_pool_2d(x: torch.Tensor, *, output_size: list[int]) -> torch.Tensor:
    """Mean of each of so many windows."""
    return functional.adaptive_avg_pool2d(x, (output_size[0], output_size[1]))


@kernel(
    "AdaptiveAvgPool2dGrad",
    source="ops-nn:pooling/adaptive_avg_pool2d_grad/op_graph/adaptive_avg_pool2d_grad_proto.h",
)
def adaptive_avg_pool_2d_grad(
    input_grad: torch.Tensor, *, orig_input_shape: list[int]
) -> torch.Tensor:
    """Gradient of AdaptiveAvgPool2d."""
    x = input_grad.new_zeros(orig_input_shape)
    return cast("torch.Tensor", aten._adaptive_avg_pool2d_backward(input_grad, x))  # noqa: SLF001 -- has no other name
