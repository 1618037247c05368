"""Operators whose kernels compute something else than their references."""

from __future__ import annotations

import torch

import opwright as ow
from opwright.twin import kernel

BROKEN = {
    "off_by_little": "numerics/wrong-values",
    "wrong_in_bfloat16": "numerics/wrong-values",
    "refuses_half": "numerics/raises",
}

ops = ow.OperatorSet("corpus_numerics")
SAMPLES = [ow.sample(x=ow.tensor(2, 3))]


@ops.operator("twice(Tensor x) -> Tensor", dtypes="float32 float16 bfloat16", samples=SAMPLES)
def twice(x):
    return x * 2


@ops.operator("off_by_little(Tensor x) -> Tensor", samples=SAMPLES)
def off_by_little(x):
    return x.exp()


@kernel("aclnnOffByLittle(const aclTensor *x, aclTensor *out)")
def off_by_little_kernel(x, out):
    out.copy_(x.exp() * 1.001)


@ops.operator("wrong_in_bfloat16(Tensor x) -> Tensor", dtypes="float32 bfloat16", samples=SAMPLES)
def wrong_in_bfloat16(x):
    return x + 1


@kernel("aclnnWrongInBfloat16(const aclTensor *x, aclTensor *out)")
def wrong_in_bfloat16_kernel(x, out):
    out.copy_(x + (2 if x.dtype is torch.bfloat16 else 1))


@ops.operator("refuses_half(Tensor x) -> Tensor", dtypes="float32 float16", samples=SAMPLES)
def refuses_half(x):
    return x - 1


@kernel("aclnnRefusesHalf(const aclTensor *x, aclTensor *out)")
def refuses_half_kernel(x, out):
    if x.dtype is torch.float16:
        raise TypeError("half is not implemented")
    out.copy_(x - 1)
