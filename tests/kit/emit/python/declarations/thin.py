# ruff: noqa: ANN001, ANN201, ARG001, FBT002
# mypy: ignore-errors
"""Operators for a package on the stable ABI, where derivatives and Meta kernels are in Python."""

from __future__ import annotations

import torch

import opwright as ow

ops = ow.OperatorSet("thin", version="0.1")

SMALL = ow.tensor(2, 3)


@ops.operator(
    "scale(Tensor x, float factor=1.0) -> Tensor",
    aclnn="aclnnThinScale(x, float factor, out)",
    dtypes="float32 float16",
    backward="scale(grad, factor)",
    samples=[ow.sample(x=SMALL, factor=2.5)],
    errors=[ow.error("dtype", x=ow.tensor(2, dtype="int32"))],
)
def scale(x, factor=1.0):
    return x * factor


@ops.operator(
    "scale.out(Tensor x, float factor, *, Tensor(a!) out) -> Tensor(a!)",
    aclnn="aclnnThinScale(x, float factor, out)",
    prototype=False,
    shapes={"x": "*S", "out": "*S"},
    dtypes={"x": "float32", "out": "x"},
    samples=[ow.sample(x=SMALL, factor=2.0, out=SMALL)],
)
def scale_out(x, factor, *, out):
    return out.copy_(x * factor)


@ops.operator(
    "ema_(Tensor(a!) average, Tensor value, *, float decay=0.99) -> Tensor(a!)",
    aclnn="aclnnThinEma(average, value, float decay)",
    shapes={"average": "*S", "value": "*S"},
    dtypes="float32 float16",
    requires=["decay > 0"],
    backward={"average": "grad * decay", "value": "grad * (1 - decay)"},
    samples=[ow.sample(average=SMALL, value=SMALL)],
    errors=[
        ow.error("value", average=SMALL, value=ow.tensor(2, 4)),
        ow.error("decay", average=SMALL, value=SMALL, decay=-1.0),
    ],
)
def ema_(average, value, *, decay=0.99):
    return average.mul_(decay).add_(value, alpha=1 - decay)


@ops.operator(
    "center(Tensor x, Tensor? weight=None, *, Tensor shift, int[2] pad=0, ScalarType? dtype=None)"
    " -> (Tensor y, Tensor mean)",
    aclnn="aclnnThinCenter(x, weight, shift, pad, y, mean)",
    shapes={
        "x": "*batch, D",
        "weight": "D",
        "shift": "D",
        "y": "*batch, D + pad[0] + pad[1]",
        "mean": "*batch, 1",
    },
    dtypes={
        "x": "float32 float16",
        "weight": "x",
        "shift": "x",
        "y": "dtype or x",
        "mean": "float32",
    },
    backward="reference",
    samples=[
        ow.sample(x=ow.tensor(2, 4), shift=ow.tensor(4)),
        ow.sample(x=ow.tensor(3, 2, 4), weight=ow.tensor(4), shift=ow.tensor(4), pad=[1, 2]),
        ow.sample(x=ow.tensor(2, 4), shift=ow.tensor(4), dtype="float32"),
    ],
    errors=[ow.error("weight", x=ow.tensor(2, 4), weight=ow.tensor(3), shift=ow.tensor(4))],
    tolerances={"float16": (1e-2, 1e-2)},
)
def center(x, weight=None, *, shift, pad=(0, 0), dtype=None):
    mean = x.float().mean(-1, keepdim=True)
    y = x.float() - mean
    y = (y if weight is None else y * weight) + shift
    y = torch.nn.functional.pad(y, tuple(pad))
    return y.to(dtype or x.dtype), mean


@ops.operator(
    "pair(Tensor x, Tensor y, int[]? dim=None, bool keepdim=False) -> (Tensor both, Tensor total)",
    aclnn="aclnnThinPair(x, y, dim, keepdim, both, total)",
    prototype=False,
    shapes={"both": ow.broadcast("x", "y"), "total": ow.reduced("x", dim="dim", keepdim="keepdim")},
    dtypes={"x": "float32", "y": "x"},
    unspecified={"both": "keepdim"},
    samples=[
        ow.sample(x=ow.tensor(2, 3), y=ow.tensor(3), dim=[0], keepdim=True),
        ow.sample(x=ow.tensor(2, 3), y=ow.tensor(1, 1)),
    ],
)
def pair(x, y, dim=None, keepdim=False):
    return x + y, x.sum(dim, keepdim)


@ops.operator(
    "clear_(Tensor(a!) cache, Tensor slots, *, str mode='zero') -> ()",
    aclnn="aclnnThinClear(cache, slots)",
    dtypes={"cache": "float32", "slots": "int64"},
    requires=["mode in ('zero', 'null')"],
    samples=[ow.sample(cache=ow.tensor(4, 2), slots=ow.tensor(2, dtype="int64", high=4))],
)
def clear_(cache, slots, *, mode="zero"):
    cache.index_fill_(0, slots, 0)


@ops.operator(
    "bend(Tensor x, Tensor limit) -> Tensor",
    aclnn="aclnnThinBend(x, limit, out)",
    shapes={"x": "*S", "limit": "()"},
    dtypes="float32",
    backward={
        "x": "where(x < limit, grad * x.cos(), 0)",
        "limit": "torch.sum(zeros_like(grad))",
    },
    samples=[ow.sample(x=ow.tensor(3, low=-2, high=2), limit=ow.tensor(low=1, high=2))],
)
def bend(x, limit):
    return torch.where(x < limit, x.sin(), 0)


@ops.operator(
    "pieces(Tensor[] xs, int[] sizes, ScalarType dtype, int axis=-1)"
    " -> (Tensor[] alike, Tensor[] cut)",
    aclnn="aclnnThinPieces(xs, sizes, dtype, axis, alike, cut)",
    shapes={"alike": ow.like("xs"), "cut": ow.each("len(sizes)", "sizes[i], *xs[0].shape")},
    dtypes={"xs": "float32", "cut": "dtype"},
    requires=["len(xs) > 0", "-xs[0].ndim <= axis < xs[0].ndim"],
    samples=[ow.sample(xs=[SMALL, ow.tensor(4)], sizes=[2, 0], dtype="float16")],
    errors=[ow.error("axis", xs=[SMALL], sizes=[1], dtype="float16", axis=-3)],
)
def pieces(xs, sizes, dtype, axis=-1):
    first = xs[0] + xs[0].sum(axis, keepdim=True)
    return [x * 2 for x in xs], [first.to(dtype).expand(n, *first.shape).clone() for n in sizes]
