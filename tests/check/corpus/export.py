"""Operators that cannot be exported, or compute something else when they are."""

from __future__ import annotations

import torch
from registering import described_library

import opwright as ow

BROKEN = {
    "one_size": "export/specialised",
    "loses_a_write": "export/differs",
    "returns_what_it_writes_": "export/refused",
    "refuses_symbols": "export/raises",
}

_, ops, add = described_library("corpus_export")


ROWS = {"x": "N, D", "out": "N"}
ONE = (ow.sample(x=ow.tensor(4, 6)),)
TWO = (ow.sample(x=ow.tensor(4, 6), y=ow.tensor(4, 6)),)


def row_sums(x):
    return x.sum(-1)


add(
    "one_size(Tensor x) -> Tensor",
    row_sums,
    lambda x: x.new_empty((int(x.shape[0]),)),
    *ONE,
    shapes=ROWS,
)
add(
    "every_size(Tensor x) -> Tensor",
    row_sums,
    lambda x: x.new_empty((x.shape[0],)),
    *ONE,
    shapes=ROWS,
)


def store(x, y):
    y.copy_(x * 2)


def nothing(*values):
    del values


SAME = {"x": "N, D", "y": "N, D"}
add("loses_a_write(Tensor x, Tensor y) -> ()", store, nothing, *TWO, shapes=SAME)
add("keeps_a_write(Tensor x, Tensor(a!) y) -> ()", store, nothing, *TWO, shapes=SAME)
add(
    "returns_what_it_writes_(Tensor(a!) x) -> Tensor(a!)",
    lambda x: x.mul_(2),
    lambda x: x,
    *ONE,
    shapes={"x": "N, D"},
)


def insists_on_int(x):
    if not all(type(size) is int for size in x.shape):
        message = "sizes have to be of type int"
        raise TypeError(message)
    return torch.empty_like(x)


add("refuses_symbols(Tensor x) -> Tensor", torch.neg, insists_on_int, *ONE)


def attributes(x, a=0.0, b="", c=True, d=(), e=None):
    return (x * 2).contiguous()


def attributes_meta(x, a=0.0, b="", c=True, d=(), e=None):
    return x.new_empty(x.shape)


add(
    "many_attributes(Tensor x, float a=0.5, str b='word', bool c=True, int[] d=[1, 2], "
    "ScalarType? e=None) -> Tensor",
    attributes,
    attributes_meta,
    ow.sample(x=ow.tensor(4, 6), a=float("inf"), d=(3,), e="float16"),
)


kit = ow.OperatorSet("corpus_export_kit")


# torch writes a program with an empty list of results, and cannot read it.
@kit.operator(
    "doubles_each(Tensor[] xs) -> Tensor[]",
    shapes={"out": ow.like("xs")},
    dtypes="float32 float16",
    backward="reference",
    samples=[ow.sample(xs=[ow.tensor(2, 3), ow.tensor(4)])],
)
def doubles_each(xs):
    return [x * 2 for x in xs]
