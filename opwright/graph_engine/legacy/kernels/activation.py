"""Activation functions and elementwise operators that graphs do not contain."""

from __future__ import annotations

import math
from typing import cast

import torch
from torch.nn import functional

from opwright.graph_engine.kernels.activation import p_relu_grad as unsummed_p_relu_grad
from opwright.graph_engine.kernels.precision import widen
from opwright.graph_engine.legacy.kernels.table import legacy_kernel

aten = torch.ops.aten


@legacy_kernel("HardShrink", source="ops-nn:activation/hard_shrink/op_graph/hard_shrink_proto.h")
def hard_shrink(input_x: torch.Tensor, *, lambd: float = 0.5) -> torch.Tensor:
    """Zero near zero."""
    return functional.hardshrink(input_x, lambd)


@legacy_kernel(
    "HardShrinkGrad", source="ops-nn:activation/hard_shrink_grad/op_graph/hard_shrink_grad_proto.h"
)
def hard_shrink_grad(
    gradients: torch.Tensor, features: torch.Tensor, *, lambd: float = 0.5
) -> torch.Tensor:
    """Gradient of HardShrink."""
    return cast("torch.Tensor", aten.hardshrink_backward(gradients, features, lambd))


@legacy_kernel("SoftShrink", source="op-plugin:op_plugin/ops/aclops/SoftShrinkKernelNpu.cpp")
def soft_shrink(input_x: torch.Tensor, *, lambd: float = 0.5) -> torch.Tensor:
    """Move towards zero."""
    return functional.softshrink(input_x, lambd)


@legacy_kernel(
    "SoftShrinkGrad", source="ops-nn:activation/soft_shrink_grad/op_graph/soft_shrink_grad_proto.h"
)
def soft_shrink_grad(
    input_grad: torch.Tensor, input_x: torch.Tensor, *, lambd: float = 0.5
) -> torch.Tensor:
    """Gradient of SoftShrink."""
    return cast("torch.Tensor", aten.softshrink_backward(input_grad, input_x, lambd))


@legacy_kernel("SeluGrad", source="ops-nn:activation/selu_grad/op_graph/selu_grad_proto.h")
def selu_grad(gradients: torch.Tensor, outputs: torch.Tensor) -> torch.Tensor:
    """Gradient of Selu, from its result."""
    scale, alpha = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
    wide = widen(outputs)
    slope = torch.where(wide > 0, scale, wide + scale * alpha)
    return (widen(gradients) * slope).to(gradients.dtype)


@legacy_kernel("SiluGrad", source="ops-nn:activation/silu_grad/op_graph/silu_grad_proto.h")
def silu_grad(grad_output: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Gradient of x * sigmoid(x)."""
    return cast("torch.Tensor", aten.silu_backward(grad_output, x))


@legacy_kernel(
    "ThresholdV2D", source="graphengine:third_party/fwkacllib/inc/ops/nonlinear_fuc_ops.h"
)
def threshold_v2d(x: torch.Tensor, *, threshold: float, value: float) -> torch.Tensor:
    """Replace what is not above the threshold."""
    whole = not x.is_floating_point()
    return functional.threshold(
        x, int(threshold) if whole else threshold, int(value) if whole else value
    )


@legacy_kernel("LogAddExp", source="ops-math:math/log_add_exp/docs/aclnnLogAddExp.md")
def log_add_exp(
    x: torch.Tensor,
    y: torch.Tensor,
    *,
    base: float = -1.0,
    scale: float = 1.0,
    shift: float = 0.0,
) -> torch.Tensor:
    """Logarithm of a sum of powers; a base of -1 is e."""
    factor = 1.0 if base == -1 else math.log(base)
    first, second = (widen(each) * scale + shift for each in (x, y))
    return (torch.logaddexp(first * factor, second * factor) / factor).to(x.dtype)


def make_causal_mask(x: torch.Tensor) -> torch.Tensor:
    """Return a mask of what lies above the diagonal."""
    return torch.ones(x.shape[-2:], dtype=torch.bool).triu(1)


@legacy_kernel(
    "ScaledMaskedSoftmax",
    source="ops-nn:vfusion/scaled_masked_softmax_v2/docs/aclnnScaledMaskedSoftmax.md",
)
def scaled_masked_softmax(
    x: torch.Tensor,
    mask: torch.Tensor | None = None,
    *,
    scale: float = 1.0,
    fixed_triu_mask: bool = False,
) -> torch.Tensor:
    """Softmax of scaled scores; those under the mask count as -10000."""
    hidden = make_causal_mask(x) if fixed_triu_mask or mask is None else mask.bool()
    scores = (widen(x) * scale).masked_fill(hidden, -10000.0)
    return scores.softmax(-1).to(x.dtype)


@legacy_kernel(
    "ScaledMaskedSoftmaxGrad",
    source="ops-nn:vfusion/scaled_masked_softmax_grad_v2/docs/aclnnScaledMaskedSoftmaxBackward.md",
)
def scaled_masked_softmax_grad(
    y_grad: torch.Tensor,
    y: torch.Tensor,
    mask: torch.Tensor | None = None,
    *,
    scale: float = 1.0,
    fixed_triu_mask: bool = False,
) -> torch.Tensor:
    """Gradient of ScaledMaskedSoftmax."""
    hidden = make_causal_mask(y) if fixed_triu_mask or mask is None else mask.bool()
    dy, wide = widen(y_grad), widen(y)
    dx = (dy - (dy * wide).sum(-1, keepdim=True)) * wide * scale
    return dx.masked_fill(hidden, 0.0).to(y_grad.dtype)


@legacy_kernel("Round", source="ops-math:math/round/op_graph/round_proto.h")
def round_to(x: torch.Tensor, *, decimals: int = 0) -> torch.Tensor:
    """Round to so many decimals."""
    if not x.is_floating_point():
        return x.clone()
    return x.round(decimals=decimals)


@legacy_kernel(
    "PReluGrad", source="ops-nn:activation/p_relu_grad_update/op_graph/prelu_grad_proto.h"
)
def p_relu_grad(
    grads: torch.Tensor, features: torch.Tensor, weights: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gradients of PRelu by x and by the weight: one number, or one for each channel."""
    by_x, by_element = unsummed_p_relu_grad(grads, features, weights)
    if weights.numel() == 1:
        return by_x, by_element.sum().reshape(weights.shape)
    axes = [axis for axis in range(features.dim()) if axis != 1]
    return by_x, by_element.sum(axes).reshape(weights.shape)
