"""Kernels that are right but for sizes of 0 and 1, absent arguments and empty lists."""

from __future__ import annotations

import torch

import opwright as ow
from opwright.twin import kernel

BROKEN = {
    "sum_of_nothing": "edges/wrong-at-edge",
    "divides_by_blocks": "edges/raises-at-edge",
    "squeezes": "edges/wrong-at-edge",
    "without_axes": "edges/raises-at-edge",
    "needs_bias": "edges/raises-at-edge",
    "first_of_list": "edges/raises-at-edge",
}

ops = ow.OperatorSet("corpus_edges")
ROWS = {"x": "*batch, D", "out": "*batch"}


@ops.operator(
    "sum_of_nothing(Tensor x) -> Tensor",
    shapes=ROWS,
    samples=[ow.sample(x=ow.tensor(2, 3)), ow.sample(x=ow.tensor(2, 0))],
)
def sum_of_nothing(x):
    return x.sum(-1)


@kernel("aclnnSumOfNothing(const aclTensor *x, aclTensor *out)")
def sum_of_nothing_kernel(x, out):
    """Launch nothing for an empty input: the result keeps what was in its memory."""
    out.fill_(7)
    if x.numel():
        out.copy_(x.sum(-1))


@ops.operator(
    "divides_by_blocks(Tensor x) -> Tensor",
    samples=[ow.sample(x=ow.tensor(2, 3)), ow.sample(x=ow.tensor(0, 3))],
)
def divides_by_blocks(x):
    return x + 1


@kernel("aclnnDividesByBlocks(const aclTensor *x, aclTensor *out)")
def divides_by_blocks_kernel(x, out):
    blocks = min(x.numel(), 8)
    assert x.numel() // blocks >= 0
    out.copy_(x + 1)


@ops.operator(
    "squeezes(Tensor x, Tensor y) -> Tensor",
    shapes={"x": "M, D", "y": "N, D", "out": "M, N"},
    samples=[
        ow.sample(x=ow.tensor(3, 4), y=ow.tensor(2, 4)),
        ow.sample(x=ow.tensor(1, 4), y=ow.tensor(2, 4)),
    ],
)
def squeezes(x, y):
    return x @ y.T


@kernel("aclnnSqueezes(const aclTensor *x, const aclTensor *y, aclTensor *out)")
def squeezes_kernel(x, y, out):
    """Take one row for a vector, and the vector for a batch."""
    out.copy_(x @ y.T if x.shape[0] != 1 else (x * y[:1]).sum())


@ops.operator(
    "without_axes(Tensor x) -> Tensor",
    samples=[ow.sample(x=ow.tensor(2, 3)), ow.sample(x=ow.tensor())],
)
def without_axes(x):
    return x * 2


@kernel("aclnnWithoutAxes(const aclTensor *x, aclTensor *out)")
def without_axes_kernel(x, out):
    assert x.shape[-1] >= 0
    out.copy_(x * 2)


@ops.operator(
    "needs_bias(Tensor x, Tensor? bias=None) -> Tensor",
    shapes={"x": "*batch, D", "bias": "D"},
    samples=[ow.sample(x=ow.tensor(2, 3), bias=ow.tensor(3)), ow.sample(x=ow.tensor(2, 3))],
)
def needs_bias(x, bias=None):
    return x.clone() if bias is None else x + bias


@kernel("aclnnNeedsBias(const aclTensor *x, const aclTensor *bias, aclTensor *out)")
def needs_bias_kernel(x, bias, out):
    out.copy_(x + bias.float().to(x.dtype))


@ops.operator(
    "first_of_list(Tensor x, Tensor[] parts) -> Tensor",
    samples=[
        ow.sample(x=ow.tensor(2, 3), parts=[ow.tensor(2, 3)]),
        ow.sample(x=ow.tensor(2, 3), parts=[]),
    ],
)
def first_of_list(x, parts):
    return x + sum(part * 1 for part in parts)


@kernel("aclnnFirstOfList(const aclTensor *x, const aclTensorList *parts, aclTensor *out)")
def first_of_list_kernel(x, parts, out):
    total = parts[0].clone()
    for part in parts[1:]:
        total += part
    out.copy_(x + total)


# Sound.


@ops.operator(
    "mean_of_some(Tensor x) -> Tensor",
    shapes=ROWS,
    requires=("1 <= D",),
    samples=[ow.sample(x=ow.tensor(2, 3)), ow.sample(x=ow.tensor(0, 3))],
)
def mean_of_some(x):
    return x.mean(-1)


@ops.operator(
    "mean_of_nothing(Tensor x) -> Tensor",
    shapes=ROWS,
    samples=[ow.sample(x=ow.tensor(2, 3)), ow.sample(x=ow.tensor(2, 0))],
)
def mean_of_nothing(x):
    """Give NaN for no elements, as the reference does."""
    return x.mean(-1)


@ops.operator(
    "any_axes(Tensor x) -> Tensor",
    samples=[ow.sample(x=ow.tensor(2, 3)), ow.sample(x=ow.tensor()), ow.sample(x=ow.tensor(0))],
)
def any_axes(x):
    return x.cos()


@ops.operator(
    "with_bias(Tensor x, Tensor? bias=None, float? scale=None) -> Tensor",
    aclnn="aclnnWithBias(x, bias, scale or 1, out)",
    shapes={"x": "*batch, D", "bias": "D"},
    samples=[ow.sample(x=ow.tensor(2, 3), bias=ow.tensor(3), scale=2.0), ow.sample(x=ow.tensor(1))],
)
def with_bias(x, bias=None, scale=None):
    scaled = x * (1 if scale is None else scale)
    return scaled if bias is None else scaled + bias


@ops.operator(
    "total_of_list(Tensor x, Tensor[] parts) -> Tensor",
    samples=[
        ow.sample(x=ow.tensor(2, 3), parts=[ow.tensor(2, 3), ow.tensor(1)]),
        ow.sample(x=ow.tensor(2, 3), parts=[]),
    ],
)
def total_of_list(x, parts):
    return x + sum((part * 1).sum() for part in parts)


@ops.operator(
    "outer(Tensor x, Tensor y) -> Tensor",
    shapes={"x": "M", "y": "N", "out": "M, N"},
    samples=[ow.sample(x=ow.tensor(2), y=ow.tensor(0)), ow.sample(x=ow.tensor(1), y=ow.tensor(1))],
)
def outer(x, y):
    return torch.outer(x, y)
