"""Operators that compute something else when they are functionalized."""

from __future__ import annotations

import torch
from registering import IN_PLACE, described_library

import opwright as ow

BROKEN = {
    "writes_secretly": "functionalization/write-lost",
    "returns_its_argument": "functionalization/shared-memory",
    "returns_what_it_writes_": "functionalization/refused",
    "forgets_the_second_": "functionalization/differs",
    "looks_at_values": "functionalization/raises",
}

library, ops, add = described_library("corpus_functionalization")


ONE = (ow.sample(x=ow.tensor(2, 3)),)
TWO = (ow.sample(x=ow.tensor(2, 3), y=ow.tensor(2, 3)),)


def nothing(*values):
    del values


# As store_kv_block of vllm-ascend: what is written is not declared.


def store(x, y):
    y.copy_(x * 2)


add("writes_secretly(Tensor x, Tensor y) -> ()", store, nothing, *TWO)
add("writes_openly(Tensor x, Tensor(a!) y) -> ()", store, nothing, *TWO)

add("returns_its_argument(Tensor x) -> Tensor", lambda x: x, torch.empty_like, *ONE)
add("returns_a_copy(Tensor x) -> Tensor", torch.clone, torch.empty_like, *ONE)


def by_sign(x):
    return x * 2 if bool(x.sum() > 0) else x * 3


library.define("looks_at_values(Tensor x) -> Tensor")
library.impl("looks_at_values", by_sign, "CompositeImplicitAutograd")
ops.operator("looks_at_values(Tensor x) -> Tensor", samples=ONE)(by_sign)


def double_(x):
    return x.mul_(2)


add("returns_what_it_writes_(Tensor(a!) x) -> Tensor(a!)", double_, lambda x: x, *ONE)
if IN_PLACE:
    add("in_place_by_tag_(Tensor(a!) x) -> Tensor(a!)", double_, lambda x: x, *ONE, tags=IN_PLACE)


# Functionalize kernels by hand.


def write_both(x, y):
    """Write each by itself: graphs of TorchAir (torch_npu 2.13.0) get exchanges wrong."""
    x.mul_(2)
    y.add_(1)


def unwrapped(tensor):
    torch._sync(tensor)
    return torch._from_functional_tensor(tensor)


def replaced(tensor, value):
    torch._functionalize_replace(tensor, value)
    torch._functionalize_commit_update(tensor)
    torch._functionalize_sync(tensor)


def replaces_both(x, y):
    one, other = unwrapped(x), unwrapped(y)
    with torch._C._ExcludeDispatchKeyGuard(
        torch._C.DispatchKeySet(torch._C.DispatchKey.Functionalize)
    ):
        replaced(x, one * 2)
        replaced(y, other + 1)


def replaces_the_first(x, y):
    one = unwrapped(x)
    with torch._C._ExcludeDispatchKeyGuard(
        torch._C.DispatchKeySet(torch._C.DispatchKey.Functionalize)
    ):
        replaced(x, one * 2)


for name, kernel in {
    "forgets_the_second_": replaces_the_first,
    "replaces_both_": replaces_both,
}.items():
    add(f"{name}(Tensor(a!) x, Tensor(b!) y) -> ()", write_both, nothing, *TWO)
    library.impl(name, kernel, "Functionalize")


# Reads what it writes where both arguments are one tensor: eagerly, too, it depends on that.


def accumulate(x, y):
    if (x.shape, x.device) != (y.shape, y.device):
        message = f"y has to have the shape and device of x, got {y.shape} on {y.device}"
        raise ValueError(message)
    x.mul_(2)
    x.add_(y)


add("depends_on_sharing_(Tensor(a!) x, Tensor y) -> ()", accumulate, nothing, *TWO)
