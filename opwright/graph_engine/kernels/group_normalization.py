"""Normalization of groups of channels. Channels are axis 1, as TorchAir's converters lay them."""

from __future__ import annotations

from typing import cast

import torch
from torch.nn import functional

from opwright.graph_engine.kernels.precision import widen
from opwright.graph_engine.table import kernel

aten = torch.ops.aten

Three = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
EVERYTHING = [True, True, True]


def group_norm(
    x: torch.Tensor,
    gamma: torch.Tensor | None,
    beta: torch.Tensor | None,
    groups: int,
    eps: float,
) -> Three:
    """Return the normalized tensor, and mean and inverse deviation of each group."""
    count, width = x.shape[:2]
    size = x[0, 0].numel() if x.numel() else 0
    return cast(
        "Three",
        aten.native_group_norm(x.contiguous(), gamma, beta, count, width, size, groups, eps),
    )


def refuse_inference(*, is_training: bool) -> None:
    """Raise NotImplementedError for the form without statistics."""
    if not is_training:
        message = "is_training = False is not available"
        raise NotImplementedError(message)


def drop_unrequired(gradients: Three, required: tuple[bool, bool, bool]) -> Three:
    """Return the gradients, with NaN in those that a node does not ask for.

    Their memory holds anything on an NPU: whoever reads one has to notice.
    """
    pairs = zip(gradients, required, strict=True)
    dx, dgamma, dbeta = (
        each if is_asked else torch.full_like(each, torch.nan) for each, is_asked in pairs
    )
    return dx, dgamma, dbeta


@kernel("GroupNormV2", source="ops-nn:norm/group_norm_v2/op_graph/group_norm_v2_proto.h")
def group_norm_v2(
    x: torch.Tensor,
    gamma: torch.Tensor,
    beta: torch.Tensor,
    *,
    num_groups: int,
    data_format: str = "NHWC",
    eps: float = 0.00001,
    is_training: bool = True,
) -> Three:
    """Normalize; answers mean and inverse deviation. TorchAir leaves the attribute alone."""
    del data_format
    refuse_inference(is_training=is_training)
    return group_norm(x, gamma, beta, num_groups, eps)


@kernel("GroupNorm", source="graphengine:third_party/fwkacllib/inc/ops/nn_norm_ops.h")
def group_norm_with_variance(
    x: torch.Tensor,
    gamma: torch.Tensor,
    beta: torch.Tensor,
    *,
    num_groups: int,
    data_format: str = "NHWC",
    eps: float = 0.0001,
    is_training: bool = True,
) -> Three:
    """Normalize; answers mean and variance. TorchAir leaves the attribute alone."""
    del data_format
    refuse_inference(is_training=is_training)
    y, mean, _ = group_norm(x, gamma, beta, num_groups, eps)
    variance = widen(x).reshape(x.shape[0], num_groups, -1).var(-1, correction=0)
    return y, mean, variance.to(mean.dtype)


@kernel("GroupNormSilu", source="ops-nn:norm/group_norm_silu/op_graph/group_norm_silu_proto.h")
def group_norm_silu(
    x: torch.Tensor,
    gamma: torch.Tensor | None = None,
    beta: torch.Tensor | None = None,
    *,
    num_groups: int,
    eps: float = 0.0001,
) -> Three:
    """Silu of the normalized tensor; the third output is the inverse deviation."""
    y, mean, rstd = group_norm(x, gamma, beta, num_groups, eps)
    return functional.silu(y), mean, rstd


@kernel("GroupNormSwish", source="ops-nn:norm/group_norm_swish/op_graph/group_norm_swish_proto.h")
def group_norm_swish(
    x: torch.Tensor,
    gamma: torch.Tensor,
    beta: torch.Tensor,
    *,
    num_groups: int,
    data_format: str = "NCHW",
    eps: float = 0.00001,
    activate_swish: bool = True,
    swish_scale: float = 1.0,
) -> Three:
    """Normalize, then multiply by the sigmoid of the scaled value."""
    del data_format
    y, mean, rstd = group_norm(x, gamma, beta, num_groups, eps)
    return y * torch.sigmoid(swish_scale * y) if activate_swish else y, mean, rstd


@kernel(
    "GroupNormSwishGrad",
    source="ops-nn:norm/group_norm_swish_grad/op_graph/group_norm_swish_grad_proto.h",
)
def group_norm_swish_grad(  # noqa: PLR0913 - as the prototype has them
    dy: torch.Tensor,
    mean: torch.Tensor,
    rstd: torch.Tensor,
    x: torch.Tensor,
    gamma: torch.Tensor,
    beta: torch.Tensor,
    *,
    num_groups: int,
    data_format: str = "NCHW",
    swish_scale: float = 1.0,
    dgamma_is_require: bool = True,
    dbeta_is_require: bool = True,
) -> Three:
    """Gradients of GroupNormSwish: z s(kz) has the slope s + kz s (1 - s)."""
    del data_format
    count, width = x.shape[:2]
    by_group = widen(x).reshape(count, num_groups, -1)
    plain = (by_group - mean.unsqueeze(-1)) * rstd.unsqueeze(-1)
    channels = (1, width, *[1] * (x.dim() - 2))
    z = plain.reshape(x.shape) * gamma.reshape(channels) + beta.reshape(channels)
    gate = torch.sigmoid(swish_scale * z)
    slope = gate * (1 + swish_scale * z * (1 - gate))
    size = x[0, 0].numel() if x.numel() else 0
    given = (dy * slope).to(x.dtype).contiguous()
    gradients = aten.native_group_norm_backward(
        given, x.contiguous(), mean, rstd, gamma, count, width, size, num_groups, EVERYTHING
    )
    return drop_unrequired(gradients, (True, dgamma_is_require, dbeta_is_require))


@kernel("GroupNormGrad", source="ops-nn:norm/group_norm_grad/op_graph/group_norm_grad_proto.h")
def group_norm_grad(
    dy: torch.Tensor,
    mean: torch.Tensor,
    rstd: torch.Tensor,
    x: torch.Tensor,
    gamma: torch.Tensor,
    *,
    num_groups: int,
    data_format: str = "NCHW",
    dx_is_require: bool = True,
    dgamma_is_require: bool = True,
    dbeta_is_require: bool = True,
) -> Three:
    """Gradients of GroupNorm."""
    del data_format
    count, width = x.shape[:2]
    size = x[0, 0].numel() if x.numel() else 0
    gradients = aten.native_group_norm_backward(
        dy, x, mean, rstd, gamma, count, width, size, num_groups, EVERYTHING
    )
    return drop_unrequired(gradients, (dx_is_require, dgamma_is_require, dbeta_is_require))
