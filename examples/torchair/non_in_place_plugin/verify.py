"""Checks npu_group_norm_swish_grad in each mode against plain PyTorch; PYTHONPATH has the form."""

import torch

import operators  # noqa: F401 - completes npu::npu_group_norm_swish_grad
from modes import Case, verify

GROUPS, CHANNELS = 2, 6


def model(grad, x, weight, bias):
    y, mean, rstd = torch.ops.npu.npu_group_norm_swish(x, GROUPS, weight, bias)
    grads = torch.ops.npu.npu_group_norm_swish_grad(
        grad, x, GROUPS, weight, bias, mean, rstd, [True, True, True]
    )
    return y, *grads


def reference(grad, x, weight, bias):
    leaves = [tensor.clone().requires_grad_() for tensor in (x, weight, bias)]
    y = torch.nn.functional.silu(torch.nn.functional.group_norm(leaves[0], GROUPS, *leaves[1:]))
    return y.detach(), *torch.autograd.grad(y, leaves, grad)


def inputs(size):
    shape = (size, CHANNELS, 5)
    return [torch.randn(shape), torch.randn(shape), torch.randn(CHANNELS), torch.randn(CHANNELS)]


verify(
    Case(
        name="group_norm_swish_grad",
        operator="GroupNormSwishGrad",
        model=model,
        reference=reference,
        inputs=inputs,
    ),
)
