"""Operators that compute where the current device is, and sound ones that do where tensors are."""

from __future__ import annotations

import torch

import opwright as ow

BROKEN = {
    "allocates_on_current": "devices/wrong-device",
    "counts_on_current": "devices/wrong-device",
    "copies_to_current": "devices/wrong-device",
    "wants_current": "devices/raises",
    "knows_one_device": "devices/differs",
    "leaves_device": "devices/left-current",
}

ops = ow.OperatorSet("corpus_devices", existing=True)
LIBRARY = torch.library.Library("corpus_devices", "DEF")
SAMPLES = [ow.sample(x=ow.tensor(2, 3))]


def operator(function):
    """Register a kernel that doubles its tensor somehow."""
    name = function.__name__
    LIBRARY.define(f"{name}(Tensor x) -> Tensor")
    for key in ("CPU", "PrivateUse1"):
        LIBRARY.impl(name, function, key)
    LIBRARY.impl(name, lambda x: x.new_empty(x.shape), "Meta")
    ops.operator(f"{name}(Tensor x) -> Tensor", samples=SAMPLES)(double)
    return function


def double(x):
    return x * 2


@operator
def allocates_on_current(x):
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device.type)
    return out.copy_(x * 2)


@operator
def copies_to_current(x):
    return (x.cpu() * 2).to(x.device.type)


@operator
def counts_on_current(x):
    return torch.full(x.shape, 2, dtype=x.dtype, device=x.device.type) * x.to(x.device.type)


@operator
def wants_current(x):
    return x * torch.full((1,), 2.0, dtype=x.dtype, device=x.device.type)


@operator
def knows_one_device(x):
    return x * (2 if x.device.index in {None, 0} else 3)


@operator
def leaves_device(x):
    if x.device.type != "cpu":
        torch.npu.set_device(x.device)
    return x * 2


# Sound.


@operator
def allocates_beside(x):
    return x * torch.full((1,), 2.0, dtype=x.dtype, device=x.device)


@operator
def sets_device_for_a_block(x):
    if x.device.type == "cpu":
        return x * 2
    with torch.npu.device(x.device):
        return x * torch.full((1,), 2.0, dtype=x.dtype, device="npu")


@operator
def takes_a_scalar(x):
    return x * torch.tensor(2.0, dtype=x.dtype)  # 0-d tensors of the CPU may be anywhere


def ones_or_sum(x=None):
    """Run on the current device where no tensor says which."""
    return torch.ones(2, device="npu") if x is None else x.sum().repeat(2)


SCHEMA = "ones_or_sum(Tensor? x=None) -> Tensor"
LIBRARY.define(SCHEMA)
LIBRARY.impl("ones_or_sum", ones_or_sum, "CompositeExplicitAutograd")
OPTIONAL = [ow.sample(x=None), ow.sample(x=ow.tensor(2, 3))]


@ops.operator(SCHEMA, shapes={"out": "2"}, dtypes="float32", samples=OPTIONAL)
def reference(x=None):
    return torch.ones(2) if x is None else x.sum().repeat(2)


kit = ow.OperatorSet("corpus_devices_kit")


@kit.operator("scaled(Tensor x) -> Tensor", dtypes="float32", samples=SAMPLES)
def scaled(x):
    return x * 2


@kit.operator("raised_(Tensor(a!) x) -> Tensor(a!)", dtypes="float32", samples=SAMPLES)
def raised_(x):
    return x.add_(2)
