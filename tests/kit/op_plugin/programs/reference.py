"""Kernels in Python for the extension of extensions.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from opwright import twin

if TYPE_CHECKING:
    from collections.abc import Sequence


@twin.kernel("aclnnTMul(const aclTensor *x, const aclTensor *y, float alpha, aclTensor *out)")
def mul(x: torch.Tensor, y: torch.Tensor, alpha: float, out: torch.Tensor) -> None:
    torch.mul(x * alpha, y, out=out)


@twin.kernel("aclnnTAccumulate(aclTensor *self, const aclTensor *other)")
def accumulate(total: torch.Tensor, other: torch.Tensor) -> None:
    total.add_(other)


@twin.kernel("aclnnTTail(const aclTensor *x, aclTensor *out)")
def tail(x: torch.Tensor, out: torch.Tensor) -> None:
    out.copy_(x if x.dim() == 1 else x[0])


@twin.kernel(
    "aclnnTStats(const aclTensor *x, const aclIntArray *dim, bool keepdim, aclTensor *out)"
)
def stats(x: torch.Tensor, dim: list[int], keepdim: bool, out: torch.Tensor) -> None:  # noqa: FBT001 - as the prototype
    out.copy_(x.sum(dim, keepdim))


@twin.kernel(
    "aclnnTKinds(const aclTensor *x, int64_t n, const aclTensor *maskOptional, char *mode,"
    " const aclScalar *s, const aclTensorList *more, const aclIntArray *dimsOptional,"
    " aclTensor *first, aclTensor *second)"
)
def kinds(
    x: torch.Tensor,
    n: int,
    mask: torch.Tensor | None,
    mode: str,
    s: float,
    more: Sequence[torch.Tensor],
    dims: Sequence[int] | None,
    first: torch.Tensor,
    second: torch.Tensor,
) -> None:
    del x
    first.fill_(s if mask is None else -1)
    second.fill_(n + 10 * len(mode) + 100 * len(more) + 1000 * sum(dims or ()))
