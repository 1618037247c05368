# ruff: noqa: ANN001, ANN201
# mypy: ignore-errors
"""Operators that write, whose gradients are those of their references."""

from __future__ import annotations

import opwright as ow

ops = ow.OperatorSet("writes", version="0.1")


@ops.operator(
    "square_(Tensor(a!) x, Tensor y) -> Tensor(a!)",
    aclnn="aclnnWritesSquare(x, y)",
    dtypes="float32",
    backward="reference",
)
def square_(x, y):
    return x.copy_(x * x * y)  # writes over what its gradient needs


@ops.operator(
    "update_(Tensor(a!) x, Tensor y, *, float decay=0.5) -> Tensor",
    aclnn="aclnnWritesUpdate(x, y, float decay, out)",
    shapes={"out": ow.like("y")},
    dtypes="float32",
    backward="reference",
)
def update_(x, y, *, decay=0.5):
    x.mul_(decay).add_(y)
    return x * y


@ops.operator(
    "exchange_(Tensor(a!) x, Tensor(b!) y) -> ()",
    aclnn="aclnnWritesExchange(x, y)",
    dtypes="float32",
    backward={"x": "grad_y", "y": "grad_x"},
)
def exchange_(x, y):
    before = x.clone()
    x.copy_(y)
    y.copy_(before)


@ops.operator(
    "plus(Tensor x, Tensor y) -> Tensor",
    aclnn="aclnnWritesPlus(x, y, out)",
    shapes={"out": ow.broadcast("x", "y")},
    dtypes="float32",
    backward="grad.sum_to_size(x.shape), grad.sum_to_size(y.shape)",
    vmap="batch first",
)
def plus(x, y):
    return x + y
