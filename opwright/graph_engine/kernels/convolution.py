"""Convolutions, in two and three dimensions, and their gradients.

Strides, dilations and paddings stand in the order of the data format; pads are pairs (before,
after) for each spatial axis. With channels last, filters are (spatial…, in, out), as in CANN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import torch
from torch.nn import functional

from opwright.graph_engine.kernels.matmul import refuse_offsets
from opwright.graph_engine.table import kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

aten = torch.ops.aten

SOURCE = "graphengine:third_party/fwkacllib/inc/ops/nn_calculation_ops.h"
NONE: list[int] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """Settings that all convolutions have in common.

    Parameters
    ----------
    pads
        Before and after, for each spatial axis.
    """

    format: str
    strides: list[int]
    pads: list[int]
    dilations: list[int]
    groups: int

    def spatial(self, values: Sequence[int]) -> list[int]:
        """Return the values of the spatial axes."""
        return [v for v, axis in zip(values, self.format, strict=True) if axis not in "NC"]

    @property
    def is_even(self) -> bool:
        """Whether each axis is padded alike before and after."""
        return self.pads[::2] == self.pads[1::2]

    def first(self, x: torch.Tensor) -> torch.Tensor:
        """Return x with channels first."""
        return x if self.format[1] == "C" else x.movedim(-1, 1)

    def back(self, y: torch.Tensor) -> torch.Tensor:
        """Return channels to where the format has them."""
        return y if self.format[1] == "C" else y.movedim(1, -1)

    def filters(self, weight: torch.Tensor) -> torch.Tensor:
        """Return the filters as (out, in, spatial…)."""
        return weight if self.format[1] == "C" else weight.movedim((-1, -2), (0, 1))

    def filters_back(self, weight: torch.Tensor) -> torch.Tensor:
        """Undo `filters`."""
        return weight if self.format[1] == "C" else weight.movedim((0, 1), (-1, -2))


def form_of(
    strides: list[int], pads: list[int], dilations: list[int], groups: int, data_format: str
) -> Form:
    """Return the form; the prototypes' defaults are no dilation and channels last."""
    return Form(
        format=data_format or {4: "NHWC", 5: "NDHWC"}[len(strides)],
        strides=strides,
        pads=pads,
        dilations=dilations or [1] * len(strides),
        groups=groups,
    )


def forward(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, form: Form
) -> torch.Tensor:
    """Return the convolution."""
    x = form.first(x)
    padding = form.pads[::2]
    if not form.is_even:
        pairs = zip(form.pads[::2], form.pads[1::2], strict=True)
        x = functional.pad(x, [side for pair in reversed(list(pairs)) for side in pair])
        padding = [0] * len(padding)
    result = aten.convolution(
        x,
        form.filters(weight),
        bias,
        form.spatial(form.strides),
        padding,
        form.spatial(form.dilations),
        False,  # noqa: FBT003 -- not transposed; the operator has no keywords
        [0] * len(padding),
        form.groups,
    )
    return form.back(result)


def even_padding(form: Form) -> list[int]:
    """Return the padding of each axis.

    Raises
    ------
    NotImplementedError
        Gradients and transposed convolutions have it alike before and after.
    """
    if not form.is_even:
        message = f"pads {form.pads}, which differ before and after, are not available"
        raise NotImplementedError(message)
    return form.pads[::2]


def convolve_transposed(
    size: list[int],
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    form: Form,
) -> torch.Tensor:
    """Return the transposed convolution whose result has the given size."""
    padding, x, weight = even_padding(form), form.first(x), form.filters(weight)
    strides, dilations = form.spatial(form.strides), form.spatial(form.dilations)
    axes = zip(
        form.spatial(size), x.shape[2:], weight.shape[2:], padding, strides, dilations, strict=True
    )
    extra = [
        wanted - ((width - 1) * stride - 2 * pad + dilation * (taps - 1) + 1)
        for wanted, width, taps, pad, stride, dilation in axes
    ]
    turned = True
    result = aten.convolution(
        x, weight, bias, strides, padding, dilations, turned, extra, form.groups
    )
    return form.back(result)


def gradient(
    grad: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, form: Form, *, by_filter: bool
) -> torch.Tensor:
    """Return the gradient by x or by the filters; the other one's values do not matter."""
    padding = even_padding(form)
    results = aten.convolution_backward(
        grad,
        x,
        weight,
        None,
        form.spatial(form.strides),
        padding,
        form.spatial(form.dilations),
        False,  # noqa: FBT003 -- not transposed; the operator has no keywords
        [0] * len(padding),
        form.groups,
        [not by_filter, by_filter, False],
    )
    return cast("torch.Tensor", results[by_filter])


def of_size(size: Sequence[int], like: torch.Tensor) -> torch.Tensor:
    """Return a tensor for its shape, without memory."""
    return like.new_zeros(1).expand(list(size))


def by_input(size: list[int], weight: torch.Tensor, grad: torch.Tensor, form: Form) -> torch.Tensor:
    """Return the gradient by x, which has the given size."""
    x = form.first(of_size(size, grad))
    return form.back(gradient(form.first(grad), x, form.filters(weight), form, by_filter=False))


def by_filter(x: torch.Tensor, size: list[int], grad: torch.Tensor, form: Form) -> torch.Tensor:
    """Return the gradient by the filters, which have the given size."""
    weight = form.filters(of_size(size, grad))
    result = gradient(form.first(grad), form.first(x), weight, form, by_filter=True)
    return form.filters_back(result)


@kernel("Conv2D", "Conv3D", source=SOURCE)
def convolution(
    x: torch.Tensor,
    filter: torch.Tensor,  # noqa: A002 -- the IR's name
    bias: torch.Tensor | None = None,
    offset_w: torch.Tensor | None = None,
    *,
    strides: list[int],
    pads: list[int],
    dilations: list[int] = NONE,
    groups: int = 1,
    data_format: str = "",
    offset_x: int = 0,
) -> torch.Tensor:
    """Convolution of images or volumes."""
    refuse_offsets(offset_w, offset_x)
    return forward(x, filter, bias, form_of(strides, pads, dilations, groups, data_format))


@kernel("Conv2DTranspose", "Conv3DTranspose", source=SOURCE)
def transposed_convolution(  # noqa: PLR0913 -- the prototype's
    input_size: list[int],
    x: torch.Tensor,
    filter: torch.Tensor,  # noqa: A002 -- the IR's name
    bias: torch.Tensor | None = None,
    offset_w: torch.Tensor | None = None,
    *,
    strides: list[int],
    pads: list[int],
    dilations: list[int] = NONE,
    groups: int = 1,
    data_format: str = "",
    output_padding: list[int] = NONE,
    offset_x: int = 0,
) -> torch.Tensor:
    """Transposed convolution; the size of the result says the output padding too."""
    del output_padding
    refuse_offsets(offset_w, offset_x)
    form = form_of(strides, pads, dilations, groups, data_format)
    return convolve_transposed(input_size, x, filter, bias, form)


@kernel("Conv2DBackpropInput", "Conv3DBackpropInput", source=SOURCE)
def gradient_by_input(
    input_size: list[int],
    filter: torch.Tensor,  # noqa: A002 -- the IR's name
    out_backprop: torch.Tensor,
    *,
    strides: list[int],
    pads: list[int],
    dilations: list[int] = NONE,
    groups: int = 1,
    data_format: str = "",
) -> torch.Tensor:
    """Gradient of a convolution by x."""
    form = form_of(strides, pads, dilations, groups, data_format)
    return by_input(input_size, filter, out_backprop, form)


@kernel("Conv2DBackpropFilter", "Conv3DBackpropFilter", source=SOURCE)
def gradient_by_filter(
    x: torch.Tensor,
    filter_size: list[int],
    out_backprop: torch.Tensor,
    *,
    strides: list[int],
    pads: list[int],
    dilations: list[int] = NONE,
    groups: int = 1,
    data_format: str = "",
) -> torch.Tensor:
    """Gradient of a convolution by the filters, in float32."""
    form = form_of(strides, pads, dilations, groups, data_format)
    return by_filter(x, filter_size, out_backprop, form).float()
