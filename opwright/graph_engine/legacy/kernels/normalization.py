"""Normalization over the batch and over features, and its gradients."""

from __future__ import annotations

import math
from typing import cast

import torch

from opwright.graph_engine.kernels.batch_normalization import (
    bn_training_reduce_grad,
    channels,
    other_axes,
)
from opwright.graph_engine.kernels.precision import widen
from opwright.graph_engine.legacy.kernels.table import legacy_kernel

aten = torch.ops.aten

Two = tuple[torch.Tensor, torch.Tensor]
Three = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
Four = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


@legacy_kernel("BNTrainingReduce", source="graphengine:third_party/fwkacllib/inc/ops/reduce_ops.h")
@legacy_kernel("BN3DTrainingReduce", source="op-plugin:op_plugin/ops/aclops/BatchNormKernelNpu.cpp")
def bn_training_reduce(x: torch.Tensor, *, epsilon: float = 0.0) -> Two:
    """Sum of each channel, and of its squares."""
    del epsilon
    wide = widen(x)
    return wide.sum(other_axes(x)), wide.square().sum(other_axes(x))


@legacy_kernel("BNTrainingUpdate", source="graphengine:third_party/fwkacllib/inc/ops/reduce_ops.h")
@legacy_kernel("BN3DTrainingUpdate", source="op-plugin:op_plugin/ops/aclops/BatchNormKernelNpu.cpp")
def bn_training_update(
    x: torch.Tensor,
    sum: torch.Tensor,  # noqa: A002 - the prototype's name
    square_sum: torch.Tensor,
    scale: torch.Tensor,
    offset: torch.Tensor,
    mean: torch.Tensor,
    variance: torch.Tensor,
    *,
    factor: float,
    epsilon: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Normalize by the batch's sums, and move the running mean and variance there.

    The variance of the batch that is answered is the biased one.
    """
    del sum, square_sum  # the difference of sums would cost digits
    count = math.prod(x.shape[axis] for axis in other_axes(x))
    wide = widen(x)
    batch_variance, batch_mean = torch.var_mean(wide, other_axes(x), correction=0)
    normalized = (wide - channels(batch_mean, x)) * channels((batch_variance + epsilon).rsqrt(), x)
    y = normalized * channels(widen(scale), x) + channels(widen(offset), x)
    unbiased = batch_variance * (count / max(count - 1, 1))
    moved_mean = mean + (batch_mean - mean) * factor
    moved_variance = variance + (unbiased - variance) * factor
    return y.to(x.dtype), moved_mean, moved_variance, batch_mean, batch_variance


legacy_kernel(
    "BN3DTrainingReduceGrad", source="op-plugin:op_plugin/ops/aclops/BatchNormBackwardKernelNpu.cpp"
)(bn_training_reduce_grad)


def layer_norm_gradients(
    dy: torch.Tensor, x: torch.Tensor, mean: torch.Tensor, rstd: torch.Tensor, gamma: torch.Tensor
) -> Three:
    """Return the gradients of a layer normalization by x, gamma and beta."""
    shape = list(gamma.shape)
    rows = [*x.shape[: x.dim() - gamma.dim()], *[1] * gamma.dim()]
    results = aten.native_layer_norm_backward(
        widen(dy),
        widen(x),
        shape,
        widen(mean).reshape(rows),
        widen(rstd).reshape(rows),
        widen(gamma),
        torch.zeros_like(widen(gamma)),
        [True, True, True],
    )
    return cast("Three", tuple(results))


@legacy_kernel(
    "LayerNormGrad", source="ops-nn:norm/layer_norm_grad/op_graph/layer_norm_grad_proto.h"
)
def layer_norm_grad(
    dy: torch.Tensor,
    x: torch.Tensor,
    variance: torch.Tensor,
    mean: torch.Tensor,
    gamma: torch.Tensor,
    *,
    epsilon: float = 1e-5,
) -> Three:
    """Gradients of LayerNorm, which answers mean and variance; its epsilon is not passed on."""
    dx, dgamma, dbeta = layer_norm_gradients(dy, x, mean, (variance + epsilon).rsqrt(), gamma)
    return dx.to(x.dtype), dgamma, dbeta


@legacy_kernel("AddLayerNorm", source="ops-nn:norm/add_layer_norm/op_graph/add_layer_norm_proto.h")
def add_layer_norm(
    x1: torch.Tensor,
    x2: torch.Tensor,
    gamma: torch.Tensor,
    beta: torch.Tensor,
    *,
    epsilon: float = 1e-5,
    additional_output: bool = False,
) -> Four:
    """Normalize a sum; also mean, reciprocal deviation and the sum."""
    del additional_output
    x = widen(x1) + widen(x2)
    y, mean, rstd = aten.native_layer_norm(x, gamma.shape, widen(gamma), widen(beta), epsilon)
    return y.to(x1.dtype), mean, rstd, x.to(x1.dtype)


@legacy_kernel(
    "AddLayerNormGrad",
    source="ops-nn:norm/add_layer_norm_grad/op_graph/add_layer_norm_grad_proto.h",
)
def add_layer_norm_grad(
    dy: torch.Tensor,
    x1: torch.Tensor,
    x2: torch.Tensor,
    rstd: torch.Tensor,
    mean: torch.Tensor,
    gamma: torch.Tensor,
    dsum: torch.Tensor | None = None,
) -> Three:
    """Gradients of AddLayerNorm by each summand, gamma and beta."""
    x = widen(x1) + widen(x2)
    dx, dgamma, dbeta = layer_norm_gradients(dy, x, mean, rstd, gamma)
    total = dx if dsum is None else dx + dsum
    return total.to(x1.dtype), dgamma, dbeta


def deep_norm_of(
    x: torch.Tensor, gx: torch.Tensor, beta: torch.Tensor, gamma: torch.Tensor, alpha: float
) -> torch.Tensor:
    """Return alpha * x + gx, to be normalized."""
    del beta, gamma
    return widen(x) * alpha + widen(gx)


@legacy_kernel("DeepNorm", source="ops-nn:norm/deep_norm/op_graph/deep_norm_proto.h")
def deep_norm(
    x: torch.Tensor,
    gx: torch.Tensor,
    beta: torch.Tensor,
    gamma: torch.Tensor,
    *,
    alpha: float = 0.3,
    epsilon: float = 1e-6,
) -> Three:
    """Normalize alpha * x + gx; mean and reciprocal deviation come first."""
    total = deep_norm_of(x, gx, beta, gamma, alpha)
    y, mean, rstd = aten.native_layer_norm(total, gamma.shape, widen(gamma), widen(beta), epsilon)
    return mean, rstd, y.to(x.dtype)


@legacy_kernel("DeepNormGrad", source="ops-nn:norm/deep_norm_grad/op_graph/deep_norm_grad_proto.h")
def deep_norm_grad(
    dy: torch.Tensor,
    x: torch.Tensor,
    gx: torch.Tensor,
    gamma: torch.Tensor,
    mean: torch.Tensor,
    rstd: torch.Tensor,
    *,
    alpha: float = 0.3,
) -> Four:
    """Gradients of DeepNorm by x, gx, beta and gamma."""
    total = deep_norm_of(x, gx, gamma, gamma, alpha)
    dgx, dgamma, dbeta = layer_norm_gradients(dy, total, mean, rstd, gamma)
    return (dgx * alpha).to(x.dtype), dgx.to(gx.dtype), dbeta, dgamma


@legacy_kernel(
    "ReduceMeanWithCount",
    source="op-plugin:op_plugin/ops/aclops/BatchNormGatherStatsWithCountsKernelNpu.cpp",
)
def reduce_mean_with_count(
    x: torch.Tensor,
    count: torch.Tensor,
    count_sum: torch.Tensor,
    *,
    axes: list[int],
    keep_dims: bool = False,
) -> torch.Tensor:
    """Mean of means, each of so many elements."""
    return (x * count / count_sum).sum(axes, keepdim=keep_dims)


@legacy_kernel(
    "SyncBNTrainingUpdate",
    source="ops-nn:norm/sync_bn_training_update/op_graph/sync_bn_training_update_proto.h",
)
def sync_bn_training_update(
    mean: torch.Tensor, running_mean: torch.Tensor, *, momentum: float = 0.1
) -> torch.Tensor:
    """Move the running mean towards that of the batch."""
    return running_mean * (1 - momentum) + mean.reshape(running_mean.shape) * momentum


@legacy_kernel(
    "SyncBatchNormGatherStatsWithCounts",
    source="op-plugin:op_plugin/ops/aclops/BatchNormGatherStatsWithCountsKernelNpu.cpp",
)
def sync_batch_norm_gather_stats_with_counts(
    mean_all: torch.Tensor,
    invert_std_all: torch.Tensor,
    count_all: torch.Tensor,
    mean_broadcast: torch.Tensor,
    count_sum: torch.Tensor,
    running_var: torch.Tensor,
    *,
    momentum: float = 0.1,
    epsilon: float = 0.001,
) -> Two:
    """Join the deviations of all ranks (rows) to one; move the running variance there."""
    variance = invert_std_all.square().reciprocal() - epsilon
    squares = (variance + (mean_all - mean_broadcast).square()) * count_all
    total = count_sum.flatten()[0]
    joined = squares.sum(0) / total
    unbiased = (squares.sum(0) / (total - 1)).reshape(running_var.shape)
    moved = running_var * (1 - momentum) + unbiased.to(running_var.dtype) * momentum
    return (joined + epsilon).rsqrt(), moved


@legacy_kernel("NormalizeV2", source="inferred")
def normalize_v2(
    x: torch.Tensor, mean: torch.Tensor, variance: torch.Tensor, *, dtype: int = 0
) -> torch.Tensor:
    """Normalize the channels of images by given statistics."""
    del dtype  # the output's
    return (x.float() - mean) / variance
