"""Normalization over the last axes, by mean and variance or by the root of the mean square."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from opwright.graph_engine.kernels.precision import widen
from opwright.graph_engine.table import kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

aten = torch.ops.aten

Three = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def layer_norm(
    x: torch.Tensor,
    sizes: Sequence[int],
    gamma: torch.Tensor | None,
    beta: torch.Tensor | None,
    epsilon: float,
) -> Three:
    """Return the normalized tensor, its mean and the inverse of its deviation.

    The statistics of half precision are float32.
    """
    scale, offset = (None if p is None else widen(p) for p in (gamma, beta))
    y, mean, rstd = aten.native_layer_norm(widen(x), sizes, scale, offset, epsilon)
    return y.to(x.dtype), mean, rstd


@kernel("LayerNormV4", source="ops-nn:norm/layer_norm_v4/op_graph/layer_norm_v4_proto.h")
def layer_norm_v4(
    x: torch.Tensor,
    normalized_shape: list[int],
    gamma: torch.Tensor | None = None,
    beta: torch.Tensor | None = None,
    *,
    epsilon: float = 0.00001,
) -> Three:
    """Normalize over the axes of `normalized_shape`."""
    return layer_norm(x, normalized_shape, gamma, beta, epsilon)


@kernel("LayerNormV3", source="ops-nn:norm/layer_norm_v3/op_graph/layer_norm_v3_proto.h")
def layer_norm_v3(
    x: torch.Tensor,
    gamma: torch.Tensor,
    beta: torch.Tensor,
    *,
    begin_norm_axis: int = 0,
    begin_params_axis: int = 0,
    epsilon: float = 0.00001,
) -> Three:
    """Normalize from an axis on."""
    del begin_params_axis
    return layer_norm(x, x.shape[begin_norm_axis:], gamma, beta, epsilon)


@kernel("LayerNorm", source="ops-nn:norm/layer_norm/op_graph/layer_norm_proto.h")
def layer_norm_with_variance(
    x: torch.Tensor,
    gamma: torch.Tensor,
    beta: torch.Tensor,
    *,
    begin_norm_axis: int = 0,
    begin_params_axis: int = 0,
    epsilon: float = 0.0000001,
) -> Three:
    """Normalize from an axis on; answers the variance."""
    del begin_params_axis
    y, mean, _ = layer_norm(x, x.shape[begin_norm_axis:], gamma, beta, epsilon)
    axes = list(range(begin_norm_axis % x.dim(), x.dim()))
    variance = widen(x).var(axes, correction=0, keepdim=True)
    return y, mean, variance.to(mean.dtype)


@kernel(
    "LayerNormGradV3", source="ops-nn:norm/layer_norm_grad_v3/op_graph/layer_norm_grad_v3_proto.h"
)
def layer_norm_grad_v3(
    dy: torch.Tensor, x: torch.Tensor, rstd: torch.Tensor, mean: torch.Tensor, gamma: torch.Tensor
) -> Three:
    """Gradients of LayerNormV3 and LayerNormV4."""
    scale = widen(gamma)
    by_x, by_gamma, by_beta = aten.native_layer_norm_backward(
        widen(dy),
        widen(x),
        gamma.shape,
        widen(mean),
        widen(rstd),
        scale,
        torch.zeros_like(scale),
        [True, True, True],
    )
    return by_x.to(x.dtype), by_gamma.to(gamma.dtype), by_beta.to(gamma.dtype)


def rms_norm(
    x: torch.Tensor, gamma: torch.Tensor, epsilon: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the normalized tensor in the precision it is computed in, and the inverse root."""
    wide = x.float()
    axes = list(range(-gamma.dim(), 0))
    rstd = (wide.square().mean(axes, keepdim=True) + epsilon).rsqrt()
    return wide * rstd * gamma, rstd


@kernel("RmsNorm", source="ops-nn:norm/rms_norm/op_graph/rms_norm_proto.h")
def rms_norm_of(
    x: torch.Tensor, gamma: torch.Tensor, *, epsilon: float = 1e-6
) -> tuple[torch.Tensor, torch.Tensor]:
    """Divide by the root of the mean square over the axes of `gamma`."""
    y, rstd = rms_norm(x, gamma, epsilon)
    return y.to(x.dtype), rstd


@kernel("RmsNormGrad", source="ops-nn:norm/rms_norm_grad/op_graph/rms_norm_grad_proto.h")
def rms_norm_grad(
    dy: torch.Tensor, x: torch.Tensor, rstd: torch.Tensor, gamma: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gradients of RmsNorm."""
    leading = x.dim() - gamma.dim()
    inverse = rstd.reshape([*x.shape[:leading], *[1] * gamma.dim()])
    normalized = x.float() * inverse
    by_normalized = dy.float() * gamma
    axes = list(range(-gamma.dim(), 0))
    along = (by_normalized * normalized).mean(axes, keepdim=True)
    by_gamma = dy.float() * normalized
    if leading:
        by_gamma = by_gamma.sum(list(range(leading)))
    return ((by_normalized - normalized * along) * inverse).to(x.dtype), by_gamma


@kernel("AddRmsNorm", source="ops-nn:norm/add_rms_norm/op_graph/add_rms_norm_proto.h")
def add_rms_norm(
    x1: torch.Tensor, x2: torch.Tensor, gamma: torch.Tensor, *, epsilon: float = 1e-6
) -> Three:
    """RmsNorm of a sum; also the sum, which is rounded first."""
    total = x1 + x2
    y, rstd = rms_norm(total, gamma, epsilon)
    return y.to(x1.dtype), rstd, total


@kernel("AddRmsNormCast", source="ops-nn:norm/add_rms_norm_cast/op_graph/add_rms_norm_cast_proto.h")
def add_rms_norm_cast(
    x1: torch.Tensor, x2: torch.Tensor, gamma: torch.Tensor, *, epsilon: float = 1e-6
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """AddRmsNorm that also answers its result in float32."""
    total = x1 + x2
    y, rstd = rms_norm(total, gamma, epsilon)
    return y, y.to(x1.dtype), rstd, total
