"""Operators whose batching rules are wrong, and sound ones that look suspicious."""

from __future__ import annotations

import torch

import opwright as ow

BROKEN = {
    "takes_first_axis": "vmap/wrong-values",
    "says_wrong_axis": "vmap/wrong-values",
    "knows_one_batch": "vmap/raises",
    "sums_over_batch": "vmap/wrong-values",
    "shares_weight": "vmap/wrong-values",
    "writes_unbatched_": "vmap/unbatched-write",
}

ops = ow.OperatorSet("corpus_vmap")
SQUARE = [ow.sample(x=ow.tensor(3, 3))]
TWO = [ow.sample(x=ow.tensor(3, 3), y=ow.tensor(3, 3))]
SAME = {"x": "*s, N, N", "y": "*s, N, N"}


@ops.operator("takes_first_axis(Tensor x) -> Tensor", samples=SQUARE)
def takes_first_axis(x):
    return x.cumsum(-1)


@takes_first_axis.vmap
def _(info, in_dims, x):
    return takes_first_axis(x), 0  # whatever in_dims says


@ops.operator("says_wrong_axis(Tensor x) -> Tensor", shapes={"x": "*s, N"}, samples=SQUARE)
def says_wrong_axis(x):
    return x.cumsum(-1)


@says_wrong_axis.vmap
def _(info, in_dims, x):
    return says_wrong_axis(x.movedim(in_dims[0], 0)), -1


@ops.operator("knows_one_batch(Tensor x, Tensor y) -> Tensor", shapes=SAME, samples=TWO)
def knows_one_batch(x, y):
    return x - y


@knows_one_batch.vmap
def _(info, in_dims, x, y):
    x = x.movedim(in_dims[0], 0)
    y = y.expand(x.shape) if in_dims[1] is None else y.movedim(in_dims[1], 0)
    return knows_one_batch(x.contiguous(), y.contiguous()), 0


@ops.operator(
    "sums_over_batch(Tensor x) -> Tensor", shapes={"out": ""}, vmap="loop", samples=SQUARE
)
def sums_over_batch(x):
    return x.sum()


@sums_over_batch.vmap
def _(info, in_dims, x):
    return sums_over_batch(x).expand(info.batch_size), 0


@ops.operator("shares_weight(Tensor x, Tensor y) -> Tensor", shapes=SAME, samples=TWO)
def shares_weight(x, y):
    return x * y


@shares_weight.vmap
def _(info, in_dims, x, y):
    x = x.expand(info.batch_size, *x.shape) if in_dims[0] is None else x.movedim(in_dims[0], 0)
    y = y.select(in_dims[1], 0) if in_dims[1] is not None else y  # the first one for all
    return shares_weight(x.contiguous(), y.expand(x.shape).contiguous()), 0


# Sound.


@ops.operator("looped(Tensor x, Tensor y, float factor=2.0) -> Tensor", shapes=SAME, samples=TWO)
def looped(x, y, factor=2.0):
    return x * factor - y


@ops.operator(
    "batch_in_front(Tensor x, Tensor row) -> Tensor",
    shapes={"x": "*s, D", "row": "D"},
    vmap="batch first",
    samples=[ow.sample(x=ow.tensor(2, 3), row=ow.tensor(3))],
)
def batch_in_front(x, row):
    return x * row


@ops.operator("batch_behind(Tensor x) -> Tensor", shapes={"x": "*s, N"}, samples=SQUARE)
def batch_behind(x):
    return x.cumsum(-1)


@batch_behind.vmap
def _(info, in_dims, x):
    return batch_behind(x.movedim(in_dims[0], 0)).movedim(0, -1), -1


@ops.operator("looped_into_(Tensor(a!) x, Tensor y) -> Tensor(a!)", shapes=SAME, samples=TWO)
def looped_into_(x, y):
    return x.mul_(y)


@ops.operator(
    "many(Tensor first, Tensor[] rest, Tensor? bias=None) -> Tensor",
    samples=[
        ow.sample(first=ow.tensor(2, 3), rest=[ow.tensor(2, 3)] * 2, bias=ow.tensor(2, 3)),
        ow.sample(first=ow.tensor(2, 3), rest=[ow.tensor(2, 3)]),
    ],
)
def many(first, rest, bias=None):
    total = first + sum(rest)
    return total if bias is None else total + bias


@ops.operator(
    "halves(Tensor x) -> (Tensor low, Tensor high)",
    shapes={"x": "*s, D", "low": "*s, D // 2", "high": "*s, D - D // 2"},
    samples=[ow.sample(x=ow.tensor(2, 5))],
)
def halves(x):
    middle = x.shape[-1] // 2
    return x[..., :middle].clone(), x[..., middle:].clone()


@ops.operator("looks_on(Tensor x) -> ()", samples=SQUARE)
def looks_on(x):
    assert x.dim() >= 0


# Of another library.

library = torch.library.Library("corpus_vmap_lib", "DEF")
foreign = ow.OperatorSet("corpus_vmap_lib", existing=True)


def fake_like(x, *_):
    return x.new_empty(x.shape)


def fake_nothing(*_):
    return None


def define(schema, kernel, fake):
    name = schema.partition("(")[0]
    library.define(schema)
    library.impl(name, kernel, "PrivateUse1")
    torch.library.register_fake(f"corpus_vmap_lib::{name}", fake, lib=library)


def add_into(x, y):
    x.add_(y)


def batched_add(x, y):
    # The rule adds whatever has a batch to what has none.
    unwrap = torch._C._functorch._unwrap_batched
    level = torch._C._functorch.maybe_current_level()
    inner_x, batch_x = unwrap(x, level)
    inner_y, batch_y = unwrap(y, level)
    inner_y = inner_y if batch_y is None else inner_y.movedim(batch_y, 0)
    if batch_x is None:
        inner_x.add_(inner_y[0] if batch_y is not None else inner_y)
    else:
        inner_x.movedim(batch_x, 0).add_(inner_y)


define("writes_unbatched_(Tensor(a!) x, Tensor y) -> ()", add_into, fake_nothing)
library.impl("writes_unbatched_", batched_add, "FuncTorchBatched")
define("without_rule(Tensor x) -> Tensor", lambda x: (x * 2).contiguous(), fake_like)
define("refused_(Tensor(a!) x, Tensor y) -> ()", add_into, fake_nothing)


@foreign.operator(
    "writes_unbatched_(Tensor(a!) x, Tensor y) -> ()",
    shapes={"x": "*s", "y": "*s"},
    dtypes="float32",
    samples=TWO,
)
def writes_unbatched_(x, y):
    x.add_(y)


@foreign.operator("without_rule(Tensor x) -> Tensor", dtypes="float32", samples=SQUARE)
def without_rule(x):
    return x * 2


@foreign.operator(
    "refused_(Tensor(a!) x, Tensor y) -> ()",
    shapes={"x": "*s", "y": "*s"},
    dtypes="float32",
    samples=TWO,
)
def refused_(x, y):
    x.add_(y)
