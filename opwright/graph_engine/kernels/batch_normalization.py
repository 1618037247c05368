"""Normalization of channels over the batch. Channels are axis 1: NCHW or NCDHW."""

from __future__ import annotations

import math
from typing import cast

import torch
from torch.nn import functional

from opwright.graph_engine.kernels.precision import widen
from opwright.graph_engine.table import kernel

aten = torch.ops.aten

Two = tuple[torch.Tensor, torch.Tensor]
Three = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def channels(statistic: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return a value for each channel, broadcast over x."""
    return statistic.reshape([1, -1, *[1] * (x.dim() - 2)])


def other_axes(x: torch.Tensor) -> list[int]:
    """Return the axes that are not the channels."""
    return [axis for axis in range(x.dim()) if axis != 1]


@kernel("BNInfer", source="graphengine:third_party/fwkacllib/inc/ops/reduce_ops.h")
def bn_infer(
    x: torch.Tensor,
    scale: torch.Tensor,
    offset: torch.Tensor,
    mean: torch.Tensor,
    variance: torch.Tensor,
    *,
    epsilon: float,
) -> torch.Tensor:
    """Normalize by given statistics."""
    return functional.batch_norm(x, mean, variance, scale, offset, eps=epsilon)


@kernel("BatchNormV3", source="ops-nn:norm/batch_norm_v3/op_graph/batch_norm_v3_proto.h")
def batch_norm_v3(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    running_mean: torch.Tensor,
    running_var: torch.Tensor,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.1,
    is_training: bool = True,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Normalize; in training by the batch's statistics, which also move the running ones.

    The running ones are written where they lie: outputs of the same names.
    """
    if not is_training:
        y = functional.batch_norm(x, running_mean, running_var, weight, bias, eps=epsilon)
        rstd = (running_var + epsilon).rsqrt()
        return y, running_mean, running_var, running_mean.clone(), rstd
    y, mean, rstd, moved_mean, moved_var = aten._native_batch_norm_legit_functional(  # noqa: SLF001
        x, weight, bias, running_mean, running_var, is_training, momentum, epsilon
    )
    return y, running_mean.copy_(moved_mean), running_var.copy_(moved_var), mean, rstd


@kernel(
    "BatchNormGradV3", source="ops-nn:norm/batch_norm_grad_v3/op_graph/batch_norm_grad_v3_proto.h"
)
def batch_norm_grad_v3(
    dy: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor,
    running_mean: torch.Tensor,
    running_var: torch.Tensor,
    save_mean: torch.Tensor,
    save_rstd: torch.Tensor,
    *,
    is_training: bool = True,
    epsilon: float = 1e-5,
) -> Three:
    """Gradients of BatchNormV3."""
    statistics = (running_mean, running_var, save_mean, save_rstd)
    everything = [True, True, True]
    return cast(
        "Three",
        aten.native_batch_norm_backward(
            dy, x, weight, *statistics, is_training, epsilon, everything
        ),
    )


@kernel("BNInferGrad", source="ops-nn:norm/bn_infer_grad/op_graph/bn_infer_grad_proto.h")
def bn_infer_grad(
    grads: torch.Tensor,
    scale: torch.Tensor,
    batch_variance: torch.Tensor,
    *,
    epsilon: float = 0.0001,
) -> torch.Tensor:
    """Gradient of BNInfer by x."""
    factor = widen(scale) * (widen(batch_variance) + epsilon).rsqrt()
    return (widen(grads) * channels(factor, grads)).to(grads.dtype)


@kernel("BNTrainingUpdateGrad", source="graphengine:third_party/fwkacllib/inc/ops/reduce_ops.h")
@kernel("BN3DTrainingUpdateGrad", source="torchair:aten.native_batch_norm_backward.default")
def bn_training_update_grad(
    grads: torch.Tensor,
    x: torch.Tensor,
    batch_mean: torch.Tensor,
    batch_variance: torch.Tensor,
    *,
    epsilon: float = 0.0001,
) -> Two:
    """Gradients of a batch normalization by its scale and offset."""
    grad = widen(grads)
    rstd = (batch_variance + epsilon).rsqrt()
    normalized = (widen(x) - channels(batch_mean, x)) * channels(rstd, x)
    axes = other_axes(x)
    return (grad * normalized).sum(axes), grad.sum(axes)


@kernel("BNTrainingReduceGrad", source="graphengine:third_party/fwkacllib/inc/ops/reduce_ops.h")
def bn_training_reduce_grad(
    grads: torch.Tensor,
    x: torch.Tensor,
    diff_scale: torch.Tensor,
    diff_offset: torch.Tensor,
    scale: torch.Tensor,
    batch_mean: torch.Tensor,
    batch_variance: torch.Tensor,
    *,
    epsilon: float = 0.0001,
) -> torch.Tensor:
    """Gradient of a batch normalization by x, from those by scale and offset."""
    count = math.prod(x.shape[axis] for axis in other_axes(x))
    rstd = (batch_variance + epsilon).rsqrt()
    normalized = (widen(x) - channels(batch_mean, x)) * channels(rstd, x)
    by_mean = channels(diff_offset / count, x) + normalized * channels(diff_scale / count, x)
    return (channels(scale * rstd, x) * (widen(grads) - by_mean)).to(x.dtype)


@kernel(
    "SyncBatchNormBackwardReduce",
    source="ops-nn:norm/sync_batch_norm_backward_reduce/op_graph/sync_batch_norm_backward_reduce_proto.h",
)
def sync_batch_norm_backward_reduce(
    sum_dy: torch.Tensor,
    sum_dy_dx_pad: torch.Tensor,
    mean: torch.Tensor,
    invert_std: torch.Tensor,
) -> Two:
    """Sum of dy * (x - mean), and the gradient of the weight."""
    centred = sum_dy_dx_pad - sum_dy * mean
    return centred, centred * invert_std


@kernel(
    "SyncBatchNormBackwardElemt",
    source="ops-nn:norm/sync_batch_norm_backward_elemt/op_graph/sync_batch_norm_backward_elemt_proto.h",
)
def sync_batch_norm_backward_elemt(
    grad_output: torch.Tensor,
    save_input: torch.Tensor,
    mean: torch.Tensor,
    invstd: torch.Tensor,
    weight: torch.Tensor,
    mean_dy: torch.Tensor,
    mean_dy_xmu: torch.Tensor,
) -> torch.Tensor:
    """Gradient by x; every operand has the shape of x."""
    centred = grad_output - mean_dy - (save_input - mean) * invstd.square() * mean_dy_xmu
    return centred * invstd * weight


@kernel(
    "SyncBatchNormGatherStats",
    source="ops-nn:norm/sync_batch_norm_gather_stats/op_graph/sync_batch_norm_gather_stats_proto.h",
)
def sync_batch_norm_gather_stats(
    total_sum: torch.Tensor,
    total_square_sum: torch.Tensor,
    sample_count: torch.Tensor,
    mean: torch.Tensor,
    variance: torch.Tensor,
    *,
    momentum: float = 0.1,
    eps: float = 0.00001,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Join the sums of all ranks (rows) to one mean and deviation; move the running ones there."""
    count = sample_count.sum()
    batch_mean = total_sum.sum(0) / count
    batch_variance = total_square_sum.sum(0) / count - batch_mean.square()
    unbiased = batch_variance * (count / (count - 1))
    return (
        batch_mean,
        (batch_variance + eps).rsqrt(),
        mean.lerp_(batch_mean.to(mean.dtype), momentum),
        variance.lerp_(unbiased.to(variance.dtype), momentum),
    )
