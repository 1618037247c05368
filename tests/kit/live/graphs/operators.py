"""Operators that write, one for each way to say so; the declaration of a package as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

import opwright as ow

if TYPE_CHECKING:
    from torch import Tensor

ops = ow.OperatorSet("in_graphs")
A_CACHE = ow.sample(cache=ow.tensor(4, 8), x=ow.tensor(8), row=1)


@ops.operator(
    "scale_(Tensor(a!) x, float factor=2.0) -> Tensor(a!)",
    aclnn="aclnnGraphsScale(x, float factor)",
    samples=[ow.sample(x=ow.tensor(5))],
)
def scale_(x: Tensor, factor: float = 2.0) -> Tensor:
    return x.mul_(factor)


@ops.operator(
    "put(Tensor(a!) cache, Tensor x, int row, *, str mode='set') -> ()",
    aclnn="aclnnGraphsPut(cache, x, row, mode)",
    samples=[A_CACHE],
)
def put(cache: Tensor, x: Tensor, row: int, *, mode: str = "set") -> None:
    if mode == "add":
        cache[row].add_(x)
    else:
        cache[row].copy_(x)


@ops.operator(
    "update(Tensor(a!) state, Tensor(b!)? other, Tensor x) -> Tensor",
    aclnn="aclnnGraphsUpdate(state, other, x, out)",
    shapes={"out": ow.like("x")},
    samples=[ow.sample(state=ow.tensor(5), other=ow.tensor(5), x=ow.tensor(5))],
)
def update(state: Tensor, other: Tensor | None, x: Tensor) -> Tensor:
    state.add_(x)
    if other is not None:
        other.sub_(x)
    return state * x


@ops.operator(
    "rotate_(Tensor(a!) q, Tensor(b!) k, Tensor by) -> (Tensor(a!), Tensor(b!))",
    aclnn="aclnnGraphsRotate(q, k, by)",
    samples=[ow.sample(q=ow.tensor(5), k=ow.tensor(5), by=ow.tensor(5))],
)
def rotate_(q: Tensor, k: Tensor, by: Tensor) -> tuple[Tensor, Tensor]:
    return q.mul_(by), k.add_(by)


@ops.operator(
    "scale_all_(Tensor(a!)[] xs, Tensor factor) -> ()", aclnn="aclnnGraphsScaleAll(xs, factor)"
)
def scale_all_(xs: list[Tensor], factor: Tensor) -> None:
    for x in xs:
        x.mul_(factor)


@ops.operator(
    "weighted.out(Tensor x, Tensor y, *, float weight=1.0, Tensor(a!) out) -> Tensor(a!)",
    aclnn="aclnnGraphsWeighted(x, y, float weight, out)",
    samples=[ow.sample(x=ow.tensor(5), y=ow.tensor(5), out=ow.tensor(5))],
)
def weighted_out(x: Tensor, y: Tensor, *, weight: float = 1.0, out: Tensor) -> Tensor:
    return out.copy_(x + y * weight)


@ops.operator(
    "split(Tensor x) -> (Tensor low, Tensor high)",
    aclnn="aclnnGraphsSplit(x, low, high)",
    samples=[ow.sample(x=ow.tensor(5))],
)
def split(x: Tensor) -> tuple[Tensor, Tensor]:
    return x.clamp(max=0.5), x.clamp(min=0.5)


@ops.operator("noisy(Tensor x) -> Tensor", aclnn="aclnnGraphsNoisy(x, out)", deterministic=False)
def noisy(x: Tensor) -> Tensor:
    return x + torch.rand_like(x)


@ops.operator("observe(Tensor x) -> ()", aclnn="aclnnGraphsObserve(x)")
def observe(x: Tensor) -> None:
    if bool((x < 0).any()):
        message = "observed a negative number"
        raise ValueError(message)


@ops.operator(
    "cubed(Tensor x) -> Tensor",
    aclnn="aclnnGraphsCubed(x, out)",
    backward={"x": "3 * grad * x * x"},
)
def cubed(x: Tensor) -> Tensor:
    return x * x * x
