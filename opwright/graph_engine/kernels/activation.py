"""Activation functions and their gradients."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import torch
from torch.nn import functional

from opwright.graph_engine.kernels.precision import widen
from opwright.graph_engine.table import kernel

if TYPE_CHECKING:
    from collections.abc import Callable

aten = torch.ops.aten

# Of one operand x, without attributes; with its source.
UNARY: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], str]] = {
    "Gelu": (functional.gelu, "ops-nn:activation/gelu/op_graph/gelu_proto.h"),
    "HardSwish": (functional.hardswish, "torchair:aten.hardswish.default"),
    "LogSigmoid": (
        functional.logsigmoid,
        "ops-nn:activation/log_sigmoid/op_graph/log_sigmoid_proto.h",
    ),
    "Mish": (functional.mish, "ops-nn:activation/mish/op_graph/mish_proto.h"),
    "Relu6": (functional.relu6, "ops-nn:activation/relu6/op_graph/relu6_proto.h"),
    "Selu": (functional.selu, "ops-nn:activation/selu/op_graph/selu_proto.h"),
    "Softplus": (functional.softplus, "ops-nn:activation/softplus/op_graph/softplus_proto.h"),
    "Softsign": (functional.softsign, "ops-nn:activation/softsign/op_graph/softsign_proto.h"),
}
SLOPE = 1.702  # of the sigmoid in FastGelu


def unary(function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Return the kernel of an operator of UNARY."""

    def run(x: torch.Tensor) -> torch.Tensor:
        return function(x)

    return run


for name, (function, source) in UNARY.items():
    kernel(name, source=source)(unary(function))


@kernel("HardSwishGrad", source="torchair:aten.hardswish_backward.default")
def hard_swish_grad(grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Gradient of HardSwish."""
    return cast("torch.Tensor", aten.hardswish_backward(grad, x))


@kernel("ReluGrad", source="ops-nn:activation/relu_grad/op_graph/relu_grad_proto.h")
def relu_grad(gradients: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
    """Gradient of Relu."""
    return cast("torch.Tensor", aten.threshold_backward(gradients, features, 0))


@kernel("LeakyRelu", source="ops-nn:activation/leaky_relu/op_graph/leaky_relu_proto.h")
def leaky_relu(x: torch.Tensor, *, negative_slope: float = 0.0) -> torch.Tensor:
    """Answer x, or negative_slope * x where x is negative."""
    return functional.leaky_relu(x, negative_slope)


@kernel(
    "LeakyReluGrad", source="ops-nn:activation/leaky_relu_grad/op_graph/leaky_relu_grad_proto.h"
)
def leaky_relu_grad(
    gradients: torch.Tensor, features: torch.Tensor, *, negative_slope: float = 0.0
) -> torch.Tensor:
    """Gradient of LeakyRelu."""
    return cast(
        "torch.Tensor",
        aten.leaky_relu_backward(gradients, features, negative_slope, self_is_result=False),
    )


def per_channel(weight: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return the weight of PRelu, broadcast over the axes after the channels."""
    if weight.dim() == 1 and weight.numel() > 1 and x.dim() > 1:
        return weight.reshape([-1, *[1] * (x.dim() - 2)])
    return weight


@kernel("PRelu", source="ops-nn:activation/p_relu/op_graph/p_relu_proto.h")
def p_relu(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Answer x, or weight * x where x is negative."""
    return torch.where(x > 0, x, per_channel(weight, x) * x)


@kernel("PReluGrad", source="ops-nn:activation/p_relu_grad_update/op_graph/prelu_grad_proto.h")
def p_relu_grad(
    grads: torch.Tensor, features: torch.Tensor, weights: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gradients of PRelu; that of the weight is not summed yet, as torch's."""
    positive = features > 0
    scaled = torch.where(positive, grads, per_channel(weights, features) * grads)
    return scaled, torch.where(positive, torch.zeros_like(grads), features * grads)


@kernel("Elu", source="ops-nn:activation/elu/op_graph/elu_proto.h")
def elu(
    x: torch.Tensor, *, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0
) -> torch.Tensor:
    """Answer scale * x, or scale * alpha * (exp(input_scale * x) - 1) where x is negative."""
    return cast("torch.Tensor", aten.elu(x, alpha, scale, input_scale))


@kernel("EluGradV2", source="ops-nn:activation/elu_grad_v2/op_graph/elu_grad_v2_proto.h")
def elu_grad_v2(
    grads: torch.Tensor,
    activations: torch.Tensor,
    *,
    alpha: float = 1.0,
    scale: float = 1.0,
    input_scale: float = 1.0,
    is_result: bool = False,
) -> torch.Tensor:
    """Gradient of Elu from its result or its operand."""
    return cast(
        "torch.Tensor", aten.elu_backward(grads, alpha, scale, input_scale, is_result, activations)
    )


@kernel("CeluV2", source="ops-nn:activation/celu_v2/op_graph/celu_v2_proto.h")
def celu_v2(x: torch.Tensor, *, alpha: float = 1.0) -> torch.Tensor:
    """Answer x, or alpha * (exp(x / alpha) - 1) where x is negative."""
    return functional.celu(x, alpha)


@kernel("GeluGrad", source="ops-nn:activation/gelu_grad/op_graph/gelu_grad_proto.h")
def gelu_grad(dy: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Gradient of Gelu."""
    del y
    return cast("torch.Tensor", aten.gelu_backward(dy, x))


@kernel("GeluV2", source="ops-nn:activation/gelu_v2/op_graph/gelu_v2_proto.h")
def gelu_v2(x: torch.Tensor, *, approximate: str = "none") -> torch.Tensor:
    """Answer x times the normal distribution's function, or the approximation with tanh."""
    return functional.gelu(x, approximate=approximate)


@kernel("GeluGradV2", source="ops-nn:activation/gelu_grad_v2/op_graph/gelu_grad_v2_proto.h")
def gelu_grad_v2(dy: torch.Tensor, x: torch.Tensor, *, approximate: str = "none") -> torch.Tensor:
    """Gradient of GeluV2."""
    return cast("torch.Tensor", aten.gelu_backward(dy, x, approximate=approximate))


@kernel("FastGelu", source="ops-nn:activation/fast_gelu/op_graph/fast_gelu_proto.h")
def fast_gelu(x: torch.Tensor) -> torch.Tensor:
    """Answer x * sigmoid(1.702 x)."""
    wide = widen(x)
    return (wide * torch.sigmoid(SLOPE * wide)).to(x.dtype)


@kernel("FastGeluGrad", source="ops-nn:activation/fast_gelu_grad/op_graph/fast_gelu_grad_proto.h")
def fast_gelu_grad(dy: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Gradient of FastGelu."""
    wide = widen(x)
    gate = torch.sigmoid(SLOPE * wide)
    return (widen(dy) * gate * (1 + SLOPE * wide * (1 - gate))).to(x.dtype)


@kernel("MishGrad", source="ops-nn:activation/mish_grad/op_graph/mish_grad_proto.h")
def mish_grad(
    grad: torch.Tensor, x: torch.Tensor, tanhx: torch.Tensor | None = None
) -> torch.Tensor:
    """Gradient of Mish."""
    del tanhx
    return cast("torch.Tensor", aten.mish_backward(grad, x))


@kernel("Swish", source="ops-nn:activation/swish/op_graph/swish_proto.h")
def swish(x: torch.Tensor, *, scale: float = 1.0) -> torch.Tensor:
    """Answer x * sigmoid(scale * x)."""
    return functional.silu(x) if scale == 1 else x * torch.sigmoid(scale * x)


@kernel("SwishGrad", source="ops-nn:activation/swish_grad/op_graph/swish_grad_proto.h")
def swish_grad(
    grad: torch.Tensor, x: torch.Tensor, y: torch.Tensor, *, scale: float = 1.0
) -> torch.Tensor:
    """Gradient of Swish."""
    del y
    gate = torch.sigmoid(scale * x)
    return grad * gate * (1 + scale * x * (1 - gate))


@kernel("HardSigmoid", source="ops-nn:activation/hard_sigmoid/op_graph/hard_sigmoid_proto.h")
def hard_sigmoid(
    input_x: torch.Tensor, *, alpha: float = 0.16666666, beta: float = 0.5
) -> torch.Tensor:
    """Answer alpha * x + beta within 0 and 1."""
    if is_sixth(alpha) and beta == 0.5:  # noqa: PLR2004 -- torch's function
        return functional.hardsigmoid(input_x)
    return (alpha * input_x + beta).clamp(0, 1)


@kernel(
    "HardSigmoidGrad",
    source="ops-nn:activation/hard_sigmoid_grad/op_graph/hard_sigmoid_grad_proto.h",
)
def hard_sigmoid_grad(
    grads: torch.Tensor, input_x: torch.Tensor, *, alpha: float = 0.16666666, beta: float = 0.5
) -> torch.Tensor:
    """Gradient of HardSigmoid."""
    if is_sixth(alpha) and beta == 0.5:  # noqa: PLR2004 -- torch's function
        return cast("torch.Tensor", aten.hardsigmoid_backward(grads, input_x))
    line = alpha * input_x + beta
    return torch.where((line > 0) & (line < 1), grads * alpha, torch.zeros_like(grads))


def is_sixth(alpha: float) -> bool:
    """Whether the slope is that of torch's hardsigmoid, as far as the attribute says it."""
    return math.isclose(alpha, 1 / 6, rel_tol=1e-6)


@kernel(
    "LogSigmoidGrad", source="ops-nn:activation/logsigmoid_grad/op_graph/logsigmoid_grad_proto.h"
)
def log_sigmoid_grad(grads: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
    """Gradient of LogSigmoid."""
    return grads * torch.sigmoid(-features)


@kernel("ThresholdV2", source="ops-nn:activation/threshold_v2/op_graph/threshold_v2_proto.h")
def threshold_v2(
    x: torch.Tensor, threshold: torch.Tensor, value: torch.Tensor | None = None
) -> torch.Tensor:
    """Answer x where it is above the threshold, else `value`, or 0."""
    other = torch.zeros_like(threshold) if value is None else value
    return torch.where(x > threshold, x, other.to(x.dtype))


@kernel("ThresholdGradV2D", source="graphengine:third_party/fwkacllib/inc/ops/nonlinear_fuc_ops.h")
def threshold_grad_v2_d(
    gradients: torch.Tensor, features: torch.Tensor, *, threshold: float
) -> torch.Tensor:
    """Gradient of ThresholdV2."""
    return cast("torch.Tensor", aten.threshold_backward(gradients, features, threshold))


@kernel("SoftplusV2", source="ops-nn:activation/softplus_v2/op_graph/softplus_v2_proto.h")
def softplus_v2(x: torch.Tensor, *, beta: float = 1.0, threshold: float = 20.0) -> torch.Tensor:
    """Answer log(1 + exp(beta * x)) / beta, or x where beta * x is above the threshold."""
    return functional.softplus(x, beta, threshold)


@kernel(
    "SoftplusV2Grad", source="ops-nn:activation/softplus_v2_grad/op_graph/softplus_v2_grad_proto.h"
)
def softplus_v2_grad(
    input_gradients: torch.Tensor,
    input_features: torch.Tensor,
    *,
    beta: float = 1.0,
    threshold: float = 20.0,
) -> torch.Tensor:
    """Gradient of SoftplusV2."""
    return cast(
        "torch.Tensor", aten.softplus_backward(input_gradients, input_features, beta, threshold)
    )


@kernel(
    "ClipByValueV2", source="ops-math:conversion/clip_by_value_v2/op_graph/clip_by_value_v2_proto.h"
)
def clip_by_value_v2(
    x: torch.Tensor, clip_value_min: torch.Tensor, clip_value_max: torch.Tensor
) -> torch.Tensor:
    """Answer x, at least the minimum and at most the maximum."""
    return torch.clamp(x, clip_value_min, clip_value_max)


@kernel("HardtanhGrad", source="ops-nn:activation/hardtanh_grad/op_graph/hardtanh_grad_proto.h")
def hardtanh_grad(
    result: torch.Tensor, grad: torch.Tensor, *, min_val: float = -1.0, max_val: float = 1.0
) -> torch.Tensor:
    """Gradient of a clip."""
    return cast("torch.Tensor", aten.hardtanh_backward(grad, result, min_val, max_val))


@kernel("SigmoidGrad", source="ops-nn:activation/sigmoid_grad/op_graph/sigmoid_grad_proto.h")
def sigmoid_grad(y: torch.Tensor, dy: torch.Tensor, *, complex_conj: bool = False) -> torch.Tensor:
    """Gradient of Sigmoid from its result."""
    return cast("torch.Tensor", aten.sigmoid_backward(dy, y.conj() if complex_conj else y))


@kernel("TanhGrad", source="ops-math:math/tanh_grad/op_graph/tanh_grad_proto.h")
def tanh_grad(y: torch.Tensor, dy: torch.Tensor, *, complex_conj: bool = False) -> torch.Tensor:
    """Gradient of Tanh from its result."""
    return cast("torch.Tensor", aten.tanh_backward(dy, y.conj() if complex_conj else y))
