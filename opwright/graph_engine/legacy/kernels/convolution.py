"""Convolutions of single channels, and with weights of eight bits."""

from __future__ import annotations

from typing import cast

import torch
from torch.nn import functional

from opwright.graph_engine.kernels.available import require_one_of
from opwright.graph_engine.kernels.pooling import pair_padding
from opwright.graph_engine.legacy.kernels.table import legacy_kernel

aten = torch.ops.aten

ONES_4 = (1, 1, 1, 1)


def pair(values: list[int]) -> list[int]:
    """Return the values of height and width of NCHW."""
    return list(values[2:])


def own_channels(weight: torch.Tensor, groups: int) -> torch.Tensor:
    """Return the filter with one channel for each group: CANN has [multiplier, channels, …]."""
    if weight.shape[1] == 1 and weight.shape[0] % groups == 0:
        return weight
    return weight.transpose(0, 1).reshape(-1, 1, *weight.shape[2:])


@legacy_kernel(
    "DepthwiseConv2D", source="graphengine:third_party/fwkacllib/inc/ops/nn_calculation_ops.h"
)
def depthwise_conv_2d(
    x: torch.Tensor,
    filter: torch.Tensor,  # noqa: A002 - the prototype's name
    bias: torch.Tensor | None = None,
    offset_w: torch.Tensor | None = None,
    *,
    strides: list[int],
    dilations: list[int] = ONES_4,  # type: ignore[assignment]
    pads: list[int],
    data_format: str = "NHWC",
    offset_x: int = 0,
) -> torch.Tensor:
    """Convolve each channel with its own filter."""
    require_one_of("data_format", data_format, "NCHW")
    if offset_w is not None or offset_x:
        message = "offset_w and offset_x are not available"
        raise NotImplementedError(message)
    groups = x.shape[1]
    weight = own_channels(filter, groups)
    where = (pair(strides), pair_padding(pads), pair(dilations), groups)
    return functional.conv2d(x, weight, bias, *where)


def backward(
    grad: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor,
    where: tuple[list[int], list[int], list[int]],
    mask: list[bool],
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the gradients by image and filter."""
    groups = x.shape[1]
    found = aten.convolution_backward(
        grad, x, weight, None, *where, 0, [0, 0], groups, [*mask, False]
    )
    return cast("tuple[torch.Tensor, torch.Tensor]", tuple(found[:2]))


@legacy_kernel(
    "DepthwiseConv2DBackpropInput",
    source="graphengine:third_party/fwkacllib/inc/ops/nn_calculation_ops.h",
)
def depthwise_conv_2d_backprop_input(
    input_size: list[int],
    filter: torch.Tensor,  # noqa: A002 - the prototype's name
    out_backprop: torch.Tensor,
    *,
    strides: list[int],
    dilations: list[int] = ONES_4,  # type: ignore[assignment]
    pads: list[int],
    data_format: str = "NHWC",
) -> torch.Tensor:
    """Gradient of DepthwiseConv2D by the image."""
    require_one_of("data_format", data_format, "NCHW")
    x = out_backprop.new_zeros(input_size)
    weight = own_channels(filter, input_size[1])
    where = (pair(strides), pair_padding(pads), pair(dilations))
    return backward(out_backprop, x, weight, where, [True, False])[0]


@legacy_kernel(
    "DepthwiseConv2DBackpropFilter",
    source="graphengine:third_party/fwkacllib/inc/ops/nn_calculation_ops.h",
)
def depthwise_conv_2d_backprop_filter(
    input: torch.Tensor,  # noqa: A002 - the prototype's name
    filter_size: list[int],
    out_backprop: torch.Tensor,
    *,
    strides: list[int],
    dilations: list[int] = ONES_4,  # type: ignore[assignment]
    pads: list[int],
    data_format: str = "NHWC",
) -> torch.Tensor:
    """Gradient of DepthwiseConv2D by the filter."""
    require_one_of("data_format", data_format, "NCHW")
    shape = own_channels(torch.empty(filter_size, device="meta"), input.shape[1]).shape
    where = (pair(strides), pair_padding(pads), pair(dilations))
    weight = out_backprop.new_zeros(shape)
    found = backward(out_backprop, input, weight, where, [False, True])[1]
    if list(shape) == filter_size:
        return found
    return found.reshape(filter_size[1], filter_size[0], *filter_size[2:]).transpose(0, 1)


@legacy_kernel("BiasAddGrad", source="ops-math:math/bias_add_grad/op_graph/bias_add_grad_proto.h")
def bias_add_grad(x: torch.Tensor, *, data_format: str = "NHWC") -> torch.Tensor:
    """Sum of each channel."""
    axis = 1 if data_format.startswith("NC") else x.dim() - 1
    return x.sum([each for each in range(x.dim()) if each != axis])
