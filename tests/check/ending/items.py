"""Operators of which one is sound, one wrong, and one ends its process."""

from __future__ import annotations

import os

import opwright as ow
from opwright.twin import kernel

ops = ow.OperatorSet("items")
SAMPLES = [ow.sample(x=ow.tensor(2, 3))]


@ops.operator("sound(Tensor x) -> Tensor", dtypes="float32", samples=SAMPLES)
def sound(x):
    return x * 2


@ops.operator("wrong(Tensor x) -> Tensor", dtypes="float32", samples=SAMPLES)
def wrong(x):
    return x + 1


@kernel("aclnnWrong(const aclTensor *x, aclTensor *out)")
def wrong_kernel(x, out):
    out.copy_(x + 2)


@ops.operator("ends(Tensor x) -> Tensor", dtypes="float32", samples=SAMPLES)
def ends(x):
    return x - 1


@kernel("aclnnEnds(const aclTensor *x, aclTensor *out)")
def ends_kernel(x, out):
    os.abort()
