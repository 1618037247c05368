"""Operators that dynamo breaks graphs for, or compiles for every size."""

from __future__ import annotations

import torch
from registering import described_library

import opwright as ow

BROKEN = {
    "compiled_for_each_size": "graph_breaks/recompiles",
    "reads_a_number": "graph_breaks/graph-break",
}

_, ops, add = described_library("corpus_graph_breaks")


ROWS = {"x": "N, D", "out": "N"}
ONE = (ow.sample(x=ow.tensor(4, 6)),)


def row_sums(x):
    return x.sum(-1)


add(
    "compiled_for_each_size(Tensor x) -> Tensor",
    row_sums,
    lambda x: x.new_empty((int(x.shape[0]),)),
    *ONE,
    shapes=ROWS,
)
add(
    "compiled_once(Tensor x) -> Tensor",
    row_sums,
    lambda x: x.new_empty((x.shape[0],)),
    *ONE,
    shapes=ROWS,
)


def chosen(x, mask):
    return x[mask].contiguous()


def rows_by_data(x, mask):
    return x.new_empty((torch.library.get_ctx().new_dynamic_size(), x.shape[1]))


MASKED = (ow.sample(x=ow.tensor(4, 6), mask=ow.tensor(4, dtype="bool")),)
add(
    "rows_by_data(Tensor x, Tensor mask) -> Tensor",
    chosen,
    rows_by_data,
    *MASKED,
    shapes={"x": "N, D", "mask": "N", "out": lambda x, mask: [0, x.shape[1]]},
    dtypes={"mask": "bool"},
)


# The code branches on an unknown size from Meta, so that dynamo cannot go on.


def first_rows(x, count):
    return x[: int(count.max())].clone()


def branches(x, count):
    rows = int(count.max().item())
    return x.new_empty((rows, x.shape[1]))


COUNTED = (ow.sample(x=ow.tensor(5, 6), count=ow.tensor(2, dtype="int64", low=2, high=3)),)
add(
    "reads_a_number(Tensor x, Tensor count) -> Tensor",
    first_rows,
    branches,
    *COUNTED,
    shapes={"x": "N, D", "count": "M", "out": lambda x, count: [0, x.shape[1]]},
    dtypes={"count": "int64"},
)
