"""Operators whose results or programs cannot be written to files, and sound ones."""

from __future__ import annotations

import torch

import opwright as ow

BROKEN = {
    "slice_of_workspace": "serialization/whole-storage-saved",
    "own_class": "serialization/results-not-saved",
}

ops = ow.OperatorSet("corpus_serialization")
ONE = [ow.sample(x=ow.tensor(4, 4))]


@ops.operator(
    "many_types(Tensor x, float eps=1e-6, int[2] axes=[0, 1], str mode='sum', bool flag=True,"
    " *, int? k=None) -> Tensor",
    aclnn="aclnnManyTypes(x, eps, axes, mode, flag, k or 0, out)",
    samples=[ow.sample(x=ow.tensor(4, 4)), ow.sample(x=ow.tensor(4, 4), mode="mean", k=3)],
)
def many_types(x, eps=1e-6, axes=(0, 1), mode="sum", flag=True, *, k=None):
    return x * (k or 1) + eps * len(axes) * (mode == "sum") * flag


@ops.operator("in_place_(Tensor(a!) x) -> Tensor(a!)", samples=ONE)
def in_place_(x):
    return x.mul_(2)


@ops.operator("parts(Tensor x) -> (Tensor low, Tensor high)", samples=ONE)
def parts(x):
    return x.clamp(max=0), x.clamp(min=0)


# Of another library.

library = torch.library.Library("corpus_serialization_lib", "DEF")
foreign = ow.OperatorSet("corpus_serialization_lib", existing=True)


class Marked(torch.Tensor):
    pass


def fake_like(x, *_):
    return x.new_empty(x.shape)


def define(name, kernel):
    library.define(f"{name}(Tensor x) -> Tensor")
    library.impl(name, kernel, "PrivateUse1")
    torch.library.register_fake(f"corpus_serialization_lib::{name}", fake_like, lib=library)


def in_workspace(x):
    workspace = x.new_zeros(x.numel() + 4096)
    return workspace[: x.numel()].reshape(x.shape).copy_(x * 2)


def rounded_up(x):
    result = x * 2
    workspace = result.new_zeros(x.numel() + 128)  # what an allocator would round up to
    return workspace[: x.numel()].reshape(x.shape).copy_(result)


define("slice_of_workspace", in_workspace)
define("own_class", lambda x: (x * 2).as_subclass(Marked))
define("rounds_up", rounded_up)
define("plain", lambda x: (x * 2).contiguous())


def twice(x):
    return x * 2


for each in ("slice_of_workspace", "own_class", "rounds_up", "plain"):
    foreign.operator(f"{each}(Tensor x) -> Tensor", dtypes="float32", samples=ONE)(twice)
