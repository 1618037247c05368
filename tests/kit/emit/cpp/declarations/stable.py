"""Operators that together use all that the stable ABI can express."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

import opwright as ow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

ops = ow.OperatorSet("demo", version="1.0")


@ops.operator(
    "scale_add(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor",
    aclnn="aclnnScaleAdd(x, y, float alpha, out)",
    dtypes={"x": "float16 float32", "y": "x"},
    shapes={"x": "*S", "y": "*S", "out": "*S"},
    backward={"x, y": "scale_add_backward(grad, alpha)"},
)
def scale_add(x: Tensor, y: Tensor, *, alpha: float = 1.0) -> Tensor:
    return x + alpha * y


@ops.operator(
    "scale_add_backward(Tensor grad, float alpha) -> (Tensor grad_x, Tensor grad_y)",
    aclnn="aclnnScaleAddGrad(grad, float alpha, grad_x, grad_y)",
)
def scale_add_backward(grad: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    return grad.clone(), grad * alpha


@ops.operator(
    "scale_add.out(Tensor x, Tensor y, *, float alpha=1.0, Tensor(a!) out) -> Tensor(a!)",
    aclnn="aclnnScaleAdd(x, y, float alpha, out)",
    shapes={"x": "*S", "y": "*S", "out": "*S"},
    dtypes={"y": "x", "out": "x"},
)
def scale_add_out(x: Tensor, y: Tensor, *, alpha: float = 1.0, out: Tensor) -> Tensor:
    return out.copy_(x + alpha * y)


@ops.operator(
    "cache_write_(Tensor(a!) cache, Tensor value, Tensor? slots=None, *, int axis=0) -> Tensor(a!)",
    aclnn="aclnnCacheWrite(cache, value, slots, int64_t axis)",
    dtypes={"value": "cache", "slots": "int64"},
    backward={"cache, value": "cache_write_backward(grad, slots, axis, value)"},
)
def cache_write_(
    cache: Tensor, value: Tensor, slots: Tensor | None = None, *, axis: int = 0
) -> Tensor:
    return cache.copy_(value) if slots is None else cache.index_copy_(axis, slots, value)


@ops.operator(
    "cache_write_backward(Tensor grad, Tensor? slots, int axis, Tensor value)"
    " -> (Tensor grad_cache, Tensor grad_value)",
    aclnn="aclnnCacheWriteGrad(grad, slots, axis, grad_cache, grad_value)",
    shapes={"grad_cache": ow.like("grad"), "grad_value": ow.like("value")},
)
def cache_write_backward(
    grad: Tensor, slots: Tensor | None, axis: int, value: Tensor
) -> tuple[Tensor, Tensor]:
    if slots is None:
        return grad.new_zeros(grad.shape), grad.clone().reshape(value.shape)
    return grad.index_fill(axis, slots, 0), grad.index_select(axis, slots)


@ops.operator(
    "cache_clear(Tensor(a!) cache, Tensor slots) -> ()",
    aclnn="aclnnCacheClear(cache, slots)",
    layouts={"slots": "contiguous"},
)
def cache_clear(cache: Tensor, slots: Tensor) -> None:
    cache.index_fill_(0, slots, 0)


@ops.operator(
    "merge(Tensor(a!)? total, Tensor(b!)[] parts, Tensor x) -> ()",
    aclnn="aclnnMerge(total, parts, x)",
    layouts={"total": "contiguous"},
)
def merge(total: Tensor | None, parts: list[Tensor], x: Tensor) -> None:
    for each in parts if total is None else (total, *parts):
        each.add_(x)


@ops.operator(
    "row_norm(Tensor x, Tensor? weight=None, *, float eps=1e-6) -> (Tensor y, Tensor rstd)",
    aclnn="aclnnRowNorm(x, weight, double eps, y, rstd)",
    shapes={"x": "*batch, D", "weight": "D", "y": ow.like("x"), "rstd": "*batch, 1"},
    dtypes={"rstd": "float32"},
)
def row_norm(
    x: Tensor, weight: Tensor | None = None, *, eps: float = 1e-6
) -> tuple[Tensor, Tensor]:
    rstd = (x.float().pow(2).mean(-1, keepdim=True) + eps).rsqrt()
    y = x.float() * rstd
    return (y if weight is None else y * weight).to(x.dtype), rstd


@row_norm.backward(saves=["x", "weight", "rstd"], inputs=["x", "weight"], outputs=["y"])
def row_norm_grad(
    grad: Tensor, x: Tensor, weight: Tensor | None, rstd: Tensor
) -> tuple[Tensor, Tensor | None]:
    return grad * rstd, None if weight is None else (grad * x * rstd).sum(0)


@ops.operator(
    "attend(Tensor query, *, Tensor key, Tensor? mask=None,"
    " SymInt[] window=[], float[]? slopes=None,"
    ' str layout="BSND", Tensor[] extras, ScalarType? dtype=None, float scale=1.0) -> Tensor',
    aclnn="aclnnAttend(query, key, mask, window, slopes, layout, extras, out.dtype,"
    " aclScalar scale, out)",
    shapes={"query": "*batch, S, D", "key": "*batch, T, D", "out": "*batch, S, T"},
    dtypes={"out": "dtype or query"},
)
def attend(
    query: Tensor,
    *,
    key: Tensor,
    mask: Tensor | None = None,
    window: Sequence[int] = (),
    slopes: Sequence[float] | None = None,
    layout: str = "BSND",
    extras: Sequence[Tensor],
    dtype: torch.dtype | None = None,
    scale: float = 1,
) -> Tensor:
    del mask, window, slopes, layout, extras, dtype
    return query @ key.transpose(-1, -2) * scale


@ops.operator(
    "tile_pad(Tensor x, SymInt multiple, int[2] pad, bool[] flags, Tensor?[] parts,"
    " float? low=None) -> Tensor",
    aclnn="aclnnTilePad(x, int32_t multiple, pad, flags, parts, float low or -1.5, true, 2, out)",
    shapes={
        "x": "N, D",
        "out": "ceildiv(N, multiple) * multiple, D + pad[0] + pad[-1], max(N, len(pad)) // 2",
    },
    requires=["multiple > 0", "N % multiple == 0"],
)
def tile_pad(
    x: Tensor,
    multiple: int,
    pad: Sequence[int],
    flags: Sequence[bool],
    parts: Sequence[Tensor | None],
    low: float | None = None,
) -> Tensor:
    del multiple, pad, flags, parts, low
    return x


@ops.operator(
    "sum_to(Tensor x, Tensor y, int[]? dim=None, bool keepdim=False)"
    " -> (Tensor total, Tensor both)",
    aclnn="aclnnSumTo(x, y, dim, keepdim, total, both)",
    shapes={"total": ow.reduced("x", dim="dim", keepdim="keepdim"), "both": ow.broadcast("x", "y")},
    dtypes={"both": "x"},
    deterministic=False,
)
def sum_to(
    x: Tensor,
    y: Tensor,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,  # noqa: FBT001, FBT002 - as the schema has it
) -> tuple[Tensor, Tensor]:
    return x.sum(None if dim is None else list(dim), keepdim), x + y


@ops.operator(
    "stack_parts(Tensor[] parts) -> (Tensor whole, Tensor first, Tensor last)",
    aclnn="aclnnStackParts(parts, whole, first, last)",
    shapes={
        "whole": "len(parts), *parts[0].shape",
        "first": ow.like("parts[0]"),
        "last": "parts[-1].shape[-1] * parts[0].ndim",
    },
    dtypes={"whole": "parts", "last": "parts"},
)
def stack_parts(parts: Sequence[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    last = parts[-1]
    return torch.stack(list(parts)), parts[0] * 1, last.new_ones(last.shape[-1] * parts[0].ndim)


@ops.operator(
    "scale_first(Tensor[] parts, Tensor x) -> Tensor y",
    aclnn="aclnnScaleFirst(parts, x, y)",
    shapes={"y": ow.like("parts[0]")},
    dtypes={"y": "parts"},
)
def scale_first(parts: Sequence[Tensor], x: Tensor) -> Tensor:
    return parts[0] * x


@ops.operator(
    "sum_as(Tensor x, int axis, ScalarType dtype) -> Tensor",
    aclnn="aclnnSumAs(x, axis, out)",
    shapes={"out": ow.reduced("x", dim="axis")},
    dtypes={"out": "dtype"},
    requires=["-x.ndim <= axis < x.ndim", "axis in (-1, 0)"],
)
def sum_as(x: Tensor, axis: int, dtype: torch.dtype) -> Tensor:
    return x.sum(axis, dtype=dtype)


@ops.operator(
    "dot(Tensor x, Tensor weight) -> Tensor",
    aclnn="aclnnDot(x, weight, out)",
    shapes={"x": "*S", "weight": "()", "out": ()},
)
def dot(x: Tensor, weight: Tensor) -> Tensor:
    return (x * weight).sum()


@ops.operator(
    "scale_parts(Tensor[] parts, float factor) -> Tensor[]",
    aclnn="aclnnScaleParts(parts, double factor, out)",
    shapes={"out": ow.like("parts")},
)
def scale_parts(parts: Sequence[Tensor], factor: float) -> list[Tensor]:
    return [each * factor for each in parts]


@scale_parts.backward(saves=["factor"], inputs=["parts"])
def scale_parts_grad(grads: Sequence[Tensor | None], factor: float) -> list[Tensor | None]:
    return [None if each is None else each * factor for each in grads]


@ops.operator(
    "cut(Tensor x, int[] sizes, SymInt copies) -> (Tensor total, Tensor[] pieces, Tensor[] same)",
    aclnn="aclnnCut(x, sizes, total, pieces, same)",
    shapes={
        "x": "N, D",
        "total": "",
        "pieces": ow.each("len(sizes)", "sizes[i], D"),
        "same": ow.each("copies", ow.like("x")),
    },
    dtypes={"total": "float32", "same": "x"},
    backward="reference",
)
def cut(x: Tensor, sizes: Sequence[int], copies: int) -> tuple[Tensor, list[Tensor], list[Tensor]]:
    pieces = [x[:size] * 1 for size in sizes]
    return x.float().sum(), pieces, [x * 1 for _ in range(copies)]
