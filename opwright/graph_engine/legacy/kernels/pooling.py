"""Pooling with CANN's masks, and of volumes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch.nn import functional

from opwright.graph_engine.kernels.available import require_one_of
from opwright.graph_engine.kernels.pooling import pair_padding
from opwright.graph_engine.legacy.kernels.gradient import gradients
from opwright.graph_engine.legacy.kernels.table import legacy_kernel

aten = torch.ops.aten

Two = tuple[torch.Tensor, torch.Tensor]
Pair = tuple[int, int]

WORD = 16  # bits of an element of a mask
INT32 = 3
ONES_4 = (1, 1, 1, 1)
ONES_5 = (1, 1, 1, 1, 1)


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows of a pooling of images.

    CANN writes which element of a window is its largest as a mask: for each element of the window,
    one bit for each output, sixteen in a number.
    """

    size: Pair
    stride: Pair
    pad: Pair
    dilation: Pair
    ceil_mode: bool

    def starts(self, outputs: torch.Tensor, width: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return row and column of the first element of each window, before any padding."""
        row, column = outputs // width, outputs % width
        return row * self.stride[0] - self.pad[0], column * self.stride[1] - self.pad[1]

    def mask(self, positions: torch.Tensor, image_width: int) -> torch.Tensor:
        """Return the mask for positions in the image."""
        width = positions.shape[-1]
        flat = positions.flatten(-2)
        count = flat.shape[-1]
        top, left = self.starts(torch.arange(count), width)
        row = (flat // image_width - top) // self.dilation[0]
        column = (flat % image_width - left) // self.dilation[1]
        element = row * self.size[1] + column
        bits = functional.one_hot(element, self.size[0] * self.size[1]).transpose(-1, -2)
        words = -(-count // WORD) + 1
        bits = functional.pad(bits, (0, words * WORD - count))
        bits = bits.reshape(*bits.shape[:-1], words, WORD)
        return (bits << torch.arange(WORD)).sum(-1).to(torch.uint16)

    def positions(
        self, mask: torch.Tensor, image_width: int, height: int, width: int
    ) -> torch.Tensor:
        """Return the positions in the image that a mask stands for."""
        bits = (mask.long().unsqueeze(-1) >> torch.arange(WORD)) & 1
        element = bits.flatten(-2)[..., : height * width].argmax(-2)
        top, left = self.starts(torch.arange(height * width), width)
        row = top + element // self.size[1] * self.dilation[0]
        column = left + element % self.size[1] * self.dilation[1]
        found = row * image_width + column
        return found.reshape(*found.shape[:-1], height, width)

    @property
    def arguments(self) -> tuple[Pair, Pair, Pair, Pair, bool]:
        """The arguments of ATen's functions."""
        return self.size, self.stride, self.pad, self.dilation, self.ceil_mode


def inner(values: list[int]) -> Pair:
    """Return the values of height and width of [1, height, width, 1]."""
    return values[1], values[2]


@legacy_kernel(
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
    """Largest of each window, and a mask of where it is."""
    del dtype
    at = Windows(inner(ksize), inner(strides), inner(pads), inner(dilation), ceil_mode)
    y, positions = aten.max_pool2d_with_indices(x, *at.arguments)
    return y, at.mask(positions, x.shape[-1])


@legacy_kernel(
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
    dilations: list[int] | None = None,
    ceil_mode: bool = False,
) -> torch.Tensor:
    """Gradient of MaxPoolWithArgmaxV1; torch_npu says `dilations`."""
    del dtype
    between = inner(dilations or dilation)
    at = Windows(inner(ksize), inner(strides), inner(pads), between, ceil_mode)
    height, width = grad.shape[-2:]
    mask = argmax.reshape(*x.shape[:-2], *argmax.shape[-2:])
    positions = at.positions(mask, x.shape[-1], height, width)
    found = aten.max_pool2d_with_indices_backward(
        grad.reshape(positions.shape), x, *at.arguments, positions
    )
    return cast("torch.Tensor", found)


def spatial(values: list[int]) -> list[int]:
    """Return the values of depth, height and width; one value stands for all."""
    return list(values[-3:]) if len(values) > 1 else [values[0]] * 3


def average(
    x: torch.Tensor,
    ksize: list[int],
    strides: list[int],
    pads: list[int],
    rules: tuple[bool, bool, int],
) -> torch.Tensor:
    """Return the means of windows; `rules` are ceil_mode, count_include_pad and the divisor."""
    ceil_mode, include_pad, divisor = rules
    return functional.avg_pool3d(
        x,
        spatial(ksize),
        spatial(strides),
        pair_padding(pads),
        ceil_mode=ceil_mode,
        count_include_pad=include_pad,
        divisor_override=divisor or None,
    )


@legacy_kernel("AvgPool3D", source="ops-nn:pooling/avg_pool3_d/op_graph/avg_pool3_d_proto.h")
def avg_pool_3d(
    x: torch.Tensor,
    *,
    ksize: list[int],
    strides: list[int],
    pads: list[int],
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int = 0,
    data_format: str = "NDHWC",
) -> torch.Tensor:
    """Mean of each window of a volume."""
    require_one_of("data_format", data_format, "NCDHW")
    rules = (ceil_mode, count_include_pad, divisor_override)
    return average(x, ksize, strides, pads, rules)


@legacy_kernel(
    "AvgPool3DGrad", source="ops-nn:pooling/avg_pool3_d_grad/op_graph/avg_pool3_d_grad_proto.h"
)
def avg_pool_3d_grad(
    orig_input_shape: list[int],
    grads: torch.Tensor,
    *,
    ksize: list[int],
    strides: list[int],
    pads: list[int],
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int = 0,
    data_format: str = "NDHWC",
) -> torch.Tensor:
    """Gradient of AvgPool3D."""
    require_one_of("data_format", data_format, "NCDHW")
    rules = (ceil_mode, count_include_pad, divisor_override)

    def forward(x: torch.Tensor) -> torch.Tensor:
        return average(x, ksize, strides, pads, rules)

    return gradients(forward, [grads.new_zeros(orig_input_shape)], grads)[0]


def find_largest(
    x: torch.Tensor, ksize: list[int], strides: list[int], pads: list[int], dilation: list[int]
) -> torch.Tensor:
    """Return the largest of windows; `pads` are before and after each axis."""
    ends = [pad for axis in (2, 1, 0) for pad in pads[2 * axis : 2 * axis + 2]]
    padded = functional.pad(x, ends, value=-torch.inf)
    return functional.max_pool3d(padded, ksize, strides, 0, dilation)


@legacy_kernel("MaxPool3D", source="ops-nn:pooling/max_pool3_d/op_graph/max_pool3_d_proto.h")
def max_pool_3d(
    x: torch.Tensor,
    *,
    ksize: list[int],
    strides: list[int],
    padding: str,
    pads: list[int] = (0, 0, 0, 0, 0, 0),  # type: ignore[assignment]
    dilation: list[int] = ONES_5,  # type: ignore[assignment]
    ceil_mode: int = 0,
    data_format: str = "NDHWC",
) -> torch.Tensor:
    """Largest of each window of a volume."""
    del padding, ceil_mode  # the padding behind has been enlarged
    require_one_of("data_format", data_format, "NCDHW")
    return find_largest(x, spatial(ksize), spatial(strides), pads, spatial(dilation))


@legacy_kernel(
    "MaxPool3DGrad", source="ops-nn:pooling/max_pool3d_grad/op_graph/max_pool3d_grad_proto.h"
)
def max_pool_3d_grad(
    orig_x: torch.Tensor,
    orig_y: torch.Tensor,
    grads: torch.Tensor,
    *,
    ksize: list[int],
    strides: list[int],
    padding: str = "SAME",
    pads: list[int],
    data_format: str = "NDHWC",
) -> torch.Tensor:
    """Gradient of MaxPool3D."""
    del orig_y, padding
    require_one_of("data_format", data_format, "NCDHW")

    def forward(x: torch.Tensor) -> torch.Tensor:
        return find_largest(x, spatial(ksize), spatial(strides), pads, [1, 1, 1])

    return gradients(forward, [orig_x], grads)[0]
