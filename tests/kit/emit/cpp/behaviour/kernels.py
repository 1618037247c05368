"""Computations of the aclnn functions of the declarations beside this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from opwright import twin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


@twin.kernel("aclnnScaleAdd(const aclTensor *x, const aclTensor *y, float alpha, aclTensor *out)")
def scale_add(x: Tensor, y: Tensor, alpha: float, out: Tensor) -> None:
    torch.add(x, y, alpha=alpha, out=out)


@twin.kernel(
    "aclnnScaleAddGrad(const aclTensor *grad, float alpha, aclTensor *gradX, aclTensor *gradY)"
)
def scale_add_grad(grad: Tensor, alpha: float, grad_x: Tensor, grad_y: Tensor) -> None:
    grad_x.copy_(grad)
    torch.mul(grad, alpha, out=grad_y)


@twin.kernel(
    "aclnnCacheWrite(aclTensor *cacheRef, const aclTensor *value, const aclTensor *slotsOptional,"
    " int64_t axis)"
)
def cache_write(cache: Tensor, value: Tensor, slots: Tensor | None, axis: int) -> None:
    if slots is None:
        cache.copy_(value)
    else:
        cache.index_copy_(axis, slots, value)


@twin.kernel(
    "aclnnCacheWriteGrad(const aclTensor *grad, const aclTensor *slotsOptional, int64_t axis,"
    " aclTensor *gradCache, aclTensor *gradValue)"
)
def cache_write_grad(
    grad: Tensor, slots: Tensor | None, axis: int, grad_cache: Tensor, grad_value: Tensor
) -> None:
    grad_cache.copy_(grad)
    if slots is None:
        grad_cache.zero_()
        grad_value.copy_(grad)
    else:
        grad_cache.index_fill_(axis, slots, 0)
        grad_value.copy_(grad.index_select(axis, slots))


@twin.kernel("aclnnCacheClear(aclTensor *cacheRef, const aclTensor *slots)")
def cache_clear(cache: Tensor, slots: Tensor) -> None:
    cache.index_fill_(0, slots, 0)


@twin.kernel("aclnnMerge(aclTensor *totalRefOptional, aclTensorList *partsRef, const aclTensor *x)")
def merge(total: Tensor | None, parts: Sequence[Tensor], x: Tensor) -> None:
    for each in parts if total is None else (total, *parts):
        each.add_(x)


@twin.kernel(
    "aclnnRowNorm(const aclTensor *x, const aclTensor *weightOptional, double eps, aclTensor *y,"
    " aclTensor *rstd)"
)
def row_norm(x: Tensor, weight: Tensor | None, eps: float, y: Tensor, rstd: Tensor) -> None:
    rstd.copy_(torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + eps))
    scaled = x.float() * rstd
    y.copy_(scaled if weight is None else scaled * weight.float())


@twin.kernel(
    "aclnnAttend(const aclTensor *query, const aclTensor *key, const aclTensor *maskOptional,"
    " const aclIntArray *window, const aclFloatArray *slopesOptional, const char *layout,"
    " const aclTensorList *extrasOptional, aclDataType dtype, const aclScalar *scale,"
    " aclTensor *out)"
)
def attend(
    query: Tensor,
    key: Tensor,
    mask: Tensor | None,
    window: Sequence[int],
    slopes: Sequence[float] | None,
    layout: str,
    extras: Sequence[Tensor] | None,
    dtype: object,
    scale: float,
    out: Tensor,
) -> None:
    del dtype
    scores = query.float() @ key.float().transpose(-1, -2) * scale
    for each in (mask, *(extras or ())):
        scores = scores if each is None else scores + each.float()
    # Each attribute leaves its own trace in the result.
    out.copy_(scores + sum(window) + sum(slopes or ()) + (100 if layout == "BNSD" else 0))


@twin.kernel(
    "aclnnTilePad(const aclTensor *x, int32_t multiple, const aclIntArray *pad,"
    " const aclBoolArray *flags, const aclTensorList *parts, float low, bool on, int64_t two,"
    " aclTensor *out)"
)
def tile_pad(
    x: Tensor,
    multiple: int,
    pad: Sequence[int],
    flags: Sequence[bool],
    parts: Sequence[Tensor | None],
    low: float,
    on: bool,  # noqa: FBT001 - the order of the C function
    two: int,
    out: Tensor,
) -> None:
    del x
    given = sum(part is not None for part in parts)
    out.fill_(multiple + 10 * sum(pad) + 100 * sum(flags) + 1000 * given + low + 5 * on + two)


@twin.kernel(
    "aclnnSumTo(const aclTensor *x, const aclTensor *y, const aclIntArray *dimOptional,"
    " bool keepdim, aclTensor *total, aclTensor *both)"
)
def sum_to(
    x: Tensor,
    y: Tensor,
    dim: Sequence[int] | None,
    keepdim: bool,  # noqa: FBT001 - the order of the C function
    total: Tensor,
    both: Tensor,
) -> None:
    total.copy_(x.sum(list(dim), keepdim) if dim else x.sum())
    torch.add(x, y, out=both)


@twin.kernel("aclnnKeep(const aclTensor *x, aclTensor *out)")
def keep(x: Tensor, out: Tensor) -> None:
    out.copy_(x)


@twin.kernel(
    "aclnnStackParts(const aclTensorList *parts, aclTensor *whole, aclTensor *first,"
    " aclTensor *last)"
)
def stack_parts(parts: Sequence[Tensor], whole: Tensor, first: Tensor, last: Tensor) -> None:
    torch.stack(list(parts), out=whole)
    first.copy_(parts[0])
    last.fill_(1)


@twin.kernel(
    "aclnnNoisy(const aclTensor *x, double p, int64_t seed, uint64_t offset, aclTensor *out)"
)
def noisy(x: Tensor, p: float, seed: int, offset: int, out: Tensor) -> None:
    out.copy_(x + p * torch.rand(x.shape, generator=twin.generator(seed, offset)))


@twin.kernel("aclnnCap(const aclTensor *x, double cap, aclTensor *out)")
def cap(x: Tensor, cap: float, out: Tensor) -> None:
    torch.mul(torch.tanh(x / cap), cap, out=out)


@twin.kernel("aclnnSumAs(const aclTensor *x, int64_t axis, aclTensor *out)")
def sum_as(x: Tensor, axis: int, out: Tensor) -> None:
    out.copy_(x.sum(axis))


@twin.kernel("aclnnDot(const aclTensor *x, const aclTensor *weight, aclTensor *out)")
def dot(x: Tensor, weight: Tensor, out: Tensor) -> None:
    out.copy_((x * weight).sum())


@twin.kernel("aclnnScaleParts(const aclTensorList *parts, double factor, aclTensorList *out)")
def scale_parts(
    parts: Sequence[Tensor] | None, factor: float, out: Sequence[Tensor] | None
) -> None:
    for part, scaled in zip(parts or (), out or (), strict=True):
        torch.mul(part, factor, out=scaled)


@twin.kernel(
    "aclnnCut(const aclTensor *x, const aclIntArray *sizes, aclTensor *total,"
    " aclTensorList *piecesOptional, aclTensorList *sameOptional)"  # null where they are empty
)
def cut(
    x: Tensor,
    sizes: Sequence[int],
    total: Tensor,
    pieces: Sequence[Tensor] | None,
    same: Sequence[Tensor] | None,
) -> None:
    total.copy_(x.sum())
    for size, piece in zip(sizes, pieces or (), strict=True):
        piece.copy_(x[:size])
    for each in same or ():
        each.copy_(x)
