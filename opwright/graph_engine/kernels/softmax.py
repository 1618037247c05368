"""Softmax and its logarithm over one or more axes."""

from __future__ import annotations

import torch

from opwright.graph_engine.calls.aclnn import New, call_aclnn
from opwright.graph_engine.table import kernel

LAST = (-1,)


def log_softmax(x: torch.Tensor, axes: list[int]) -> torch.Tensor:
    """Return the logarithm of the softmax."""
    if len(axes) == 1:
        return torch.log_softmax(x, axes[0])
    return x - torch.logsumexp(x, axes, keepdim=True)


@kernel("SoftmaxV2", source="ops-nn:activation/softmax_v2/op_graph/softmax_v2_proto.h")
def softmax_v2(
    x: torch.Tensor,
    *,
    axes: list[int] = LAST,  # type: ignore[assignment]
    half_to_float: bool = False,
) -> torch.Tensor:
    """exp(x), scaled to the sum 1."""
    wide = x.float() if half_to_float else x
    return torch.softmax(wide, axes[0]) if len(axes) == 1 else log_softmax(wide, axes).exp()


@kernel("SoftmaxGrad", source="ops-nn:activation/softmax_grad/op_graph/softmax_grad_proto.h")
def softmax_grad(
    softmax: torch.Tensor,
    grad_softmax: torch.Tensor,
    *,
    axes: list[int] = LAST,  # type: ignore[assignment]
) -> torch.Tensor:
    """Gradient of SoftmaxV2 from its result."""
    along = (grad_softmax * softmax).sum(axes, keepdim=True)
    return (grad_softmax - along) * softmax


@kernel("LogSoftmaxV2", source="graphengine:third_party/fwkacllib/inc/ops/nn_norm_ops.h")
def log_softmax_v2(
    logits: torch.Tensor,
    *,
    axes: list[int] = LAST,  # type: ignore[assignment]
) -> torch.Tensor:
    """Logarithm of the softmax."""
    return log_softmax(logits, axes)


@kernel(
    "LogSoftmaxGrad", source="ops-nn:activation/log_softmax_grad/op_graph/log_softmax_grad_proto.h"
)
def log_softmax_grad(
    grad: torch.Tensor,
    x: torch.Tensor,
    *,
    axis: list[int] = LAST,  # type: ignore[assignment]
) -> torch.Tensor:
    """Gradient of LogSoftmaxV2 from its result."""
    return grad - x.exp() * grad.sum(axis, keepdim=True)


@kernel(
    "MaskedSoftmaxWithRelPosBias",
    source="ops-nn:norm/masked_softmax_with_rel_pos_bias/op_graph/masked_softmax_with_rel_pos_bias_proto.h",
)
def masked_softmax_with_rel_pos_bias(
    x: torch.Tensor,
    atten_mask: torch.Tensor | None = None,
    relative_pos_bias: torch.Tensor | None = None,
    *,
    scale_value: float = 1.0,
    inner_precision_mode: int = 0,
) -> tuple[torch.Tensor, ...]:
    """Softmax of scaled scores in windows of an image, with a mask and a bias."""
    return call_aclnn(
        "MaskedSoftmaxWithRelPosBias",
        *(x, atten_mask, relative_pos_bias, scale_value, inner_precision_mode),
        New(x.shape, x.dtype),
    )
