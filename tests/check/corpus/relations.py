"""Operators that contradict what their declarations state of related calls.

None of them has a reference or a kernel for the CPU.
"""

from __future__ import annotations

import torch

import opwright as ow

BROKEN = {
    "carries_from_row_to_row": "relations/batch-order",
    "takes_the_first_row": "relations/batch-order",
    "normalizes_over_the_batch": "relations/batch-order",
    "weighs_by_place": "relations/batch-order",
    "sorts_what_is_pointwise": "relations/batch-order",
    "divides_by_the_batch": "relations/batch-split",
    "centers_over_the_batch": "relations/batch-split",
    "centers_what_is_pointwise": "relations/batch-split",
    "averages_padding": "relations/padding-matters",
    "takes_the_largest_of_all": "relations/padding-matters",
    "counts_one_too_many": "relations/padding-matters",
    "adds_a_bias": "relations/not-linear",
    "clamps": "relations/not-linear",
    "takes_absolute_values": "relations/not-linear",
}

ops = ow.OperatorSet("corpus_relations", existing=True)
LIBRARY = torch.library.Library("corpus_relations", "DEF")


def register(schema, meta=None, **fields):
    """Register a kernel for the NPU alone, whose results nothing says; it is Meta as well."""

    def add(function):
        LIBRARY.define(f"{function.__name__}{schema}")
        LIBRARY.impl(function.__name__, function, "PrivateUse1")
        LIBRARY.impl(function.__name__, meta or function, "Meta")
        ops.declare(f"{function.__name__}{schema}", **fields)
        return function

    return add


ROWS = {
    "schema": "(Tensor x) -> Tensor",
    "shapes": {"x": "N, D"},
    "dtypes": "float32",
    "relations": "batch N",
}


def rows(function):
    return register(**ROWS)(function)


@rows
def carries_from_row_to_row(x):
    return x.cumsum(0) * 2


@rows
def takes_the_first_row(x):
    return x - x[:1]


@rows
def normalizes_over_the_batch(x):
    return x - x.cumsum(0) / (1 + x.shape[0])


@rows
def weighs_by_place(x):
    return x * (1 + torch.arange(x.shape[0], device=x.device).unsqueeze(-1))


@rows
def divides_by_the_batch(x):
    return x / max(x.shape[0], 1)


@rows
def centers_over_the_batch(x):
    return x - x.mean(0, keepdim=True)


def broadcast(x, y):
    return x.new_empty(torch.broadcast_shapes(x.shape, y.shape))


POINTWISE = {
    "meta": broadcast,
    "schema": "(Tensor x, Tensor y) -> Tensor",
    "shapes": {"out": ow.broadcast("x", "y")},
    "dtypes": "float32",
    "tags": ["pointwise"],
    "samples": [ow.sample(x=ow.tensor(4, 3), y=ow.tensor(3))],
}


@register(**POINTWISE)
def sorts_what_is_pointwise(x, y):
    return (x + y).sort(0).values if x.ndim else x + y


@register(**POINTWISE)
def centers_what_is_pointwise(x, y):
    return x * y - (x * y).mean()


LENGTHS = {
    "schema": "(Tensor x, Tensor lengths) -> Tensor",
    "shapes": {"x": "B, S, D", "lengths": "B", "out": "B, D"},
    "dtypes": {"x": "float32", "lengths": "int64", "out": "x"},
    "relations": ["batch B", "padding of x along S behind lengths"],
    "samples": [
        ow.sample(x=ow.tensor(3, 4, 2), lengths=ow.tensor(3, dtype="int64", low=1, high=3))
    ],
}


def behind(x, lengths):
    return torch.arange(x.shape[1], device=x.device)[:, None] >= lengths[:, None, None]


@register(**LENGTHS)
def averages_padding(x, lengths):
    return x.mean(1) + 0 * lengths[:, None]


@register(**LENGTHS)
def counts_one_too_many(x, lengths):
    return x.masked_fill(behind(x, lengths + 1), 0).sum(1)


MASKED = {
    "schema": "(Tensor x, Tensor mask) -> Tensor",
    "shapes": {"x": "B, S", "mask": "B, S", "out": "B"},
    "dtypes": {"x": "float32", "mask": "bool", "out": "x"},
    "relations": "padding of x where not mask",
    "samples": [ow.sample(x=ow.tensor(3, 4), mask=ow.tensor(3, 4, dtype="bool"))],
}


@register(**MASKED)
def takes_the_largest_of_all(x, mask):
    return x.amax(1) + 0 * mask.sum(1)


LINEAR = {
    "schema": "(Tensor x, Tensor w) -> Tensor",
    "shapes": {"x": "N, K", "w": "M, K", "out": "N, M"},
    "dtypes": "float32 float16",
    "relations": ["linear in x", "linear in w"],
}


@register(**LINEAR)
def adds_a_bias(x, w):
    return x @ w.t() + 0.25


@register(**LINEAR)
def clamps(x, w):
    return (x @ w.t()).clamp(-0.3, 0.3)


@register(**LINEAR)
def takes_absolute_values(x, w):
    return x @ w.t().abs()


# Sound.


@rows
def softmax_of_rows(x):
    return x.softmax(-1)


@register(**ROWS | {"shapes": {"x": "*lead, N, D"}})
def doubles(x):
    return (x * 2).contiguous()


@register(**POINTWISE)
def multiplies(x, y):
    return (x * y).contiguous()


@register(**LENGTHS)
def averages(x, lengths):
    return x.masked_fill(behind(x, lengths), 0).sum(1) / lengths.clamp(min=1)[:, None]


@register(**LENGTHS | {"shapes": {"x": "B, S, D", "lengths": "B"}})
def keeps_its_padding(x, lengths):
    return x * 2 + 0 * lengths[:, None, None]


@register(**MASKED)
def largest_of_some(x, mask):
    return x.masked_fill(~mask, -100).amax(1)


@register(**LINEAR)
def multiplies_matrices(x, w):
    return x @ w.t()


@register(
    **ROWS | {"relations": ["batch N", "linear in x"], "schema": "(Tensor x, int k) -> Tensor"}
)
def scales(x, k):
    return x * float(k)


@register(
    "(Tensor(a!) cache, Tensor x) -> ()",
    shapes={"cache": "N, D", "x": "N, D"},
    dtypes="float32",
    relations="batch N",
)
def adds_to(cache, x):
    cache.add_(x)
