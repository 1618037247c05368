"""Operators that compute something else in compiled graphs, or do not work there."""

from __future__ import annotations

import torch
from registering import IN_PLACE, described_library

import opwright as ow
from opwright.twin import kernel

BROKEN = {
    "stores_secretly": "compiled/write-lost",
    "scales_in_place_": "compiled/refused",
    "reads_a_number": "compiled/not-capturable",
    "waits_for_the_stream": "compiled/not-capturable",
    "holds_memory": "compiled/held-memory",
    "prototype_alone": "compiled/no-converter",
    "looks_at_values": "compiled/raises",
    "names_another_input": "compiled/engine",
    "converts_wrongly": "compiled/differs",
    "converts_exchanged": "compiled/differs",
    "drops_zero": "compiled/differs",
    "exchanges_flags": "compiled/differs",
    "saves_by_type": "compiled/gradient-differs",
}

library, ops, add = described_library("corpus_compiled")


ONE = (ow.sample(x=ow.tensor(2, 3)),)
TWO = (ow.sample(x=ow.tensor(2, 3), y=ow.tensor(2, 3)),)


def nothing(*values):
    del values


# As store_kv_block of vllm-ascend: nothing tells a compiler that the call does something.


def store(x, y):
    y.copy_(x * 2)


add("stores_secretly(Tensor x, Tensor y) -> ()", store, nothing, *TWO)
add("stores_openly(Tensor x, Tensor(a!) y) -> ()", store, nothing, *TWO)


def scale_(x):
    return x.mul_(2)


add("scales_in_place_(Tensor(a!) x) -> Tensor(a!)", scale_, lambda x: x, *ONE)
if IN_PLACE:
    add("scales_by_tag_(Tensor(a!) x) -> Tensor(a!)", scale_, lambda x: x, *ONE, tags=IN_PLACE)


def by_number(x):
    return x * x.sum().item()


def contiguous(x):
    return x.new_empty(x.shape)


def by_tensor(x):
    return (x * x.sum()).contiguous()


def after_all_work(x):
    result = (x * 2).contiguous()
    if x.device.type == "npu":
        torch.npu.current_stream().synchronize()
    return result


add("reads_a_number(Tensor x) -> Tensor", by_number, torch.empty_like, *ONE)
add("waits_for_the_stream(Tensor x) -> Tensor", after_all_work, contiguous, *ONE)
add("stays_on_the_device(Tensor x) -> Tensor", by_tensor, contiguous, *ONE)


# On a stream of its own; both streams wait for each other.


def on_side_stream(x, must_hold):
    result = torch.empty_like(x, memory_format=torch.contiguous_format)
    if x.device.type == "cpu":
        return torch.mul(x, 2, out=result)
    current, side = torch.npu.current_stream(), torch.npu.Stream()
    side.wait_stream(current)
    with torch.npu.stream(side):
        torch.mul(x, 2, out=result)
    current.wait_stream(side)
    if must_hold():
        x.record_stream(side)
    return result


def holds_memory(x):
    return on_side_stream(x, lambda: True)


def holds_memory_eagerly(x):
    return on_side_stream(x, lambda: not torch.npu.is_current_stream_capturing())


add("holds_memory(Tensor x) -> Tensor", holds_memory, contiguous, *ONE)
add("holds_memory_eagerly(Tensor x) -> Tensor", holds_memory_eagerly, contiguous, *ONE)

# Converters and prototypes.


add(
    "prototype_alone(Tensor x) -> Tensor",
    by_tensor,
    torch.empty_like,
    *ONE,
    prototype="PrototypeAlone",
)


def by_sign(x):
    return x * 2 if bool(x.sum() > 0) else x * 3


library.define("looks_at_values(Tensor x) -> Tensor")
library.impl("looks_at_values", by_sign, "CompositeImplicitAutograd")
ops.operator("looks_at_values(Tensor x) -> Tensor", samples=ONE)(by_sign)


# Gradients: what the backward needs is saved by what the tensor is, or by what it holds.


def squares(x):
    return (x * x).contiguous()


def save_by_type(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])
    ctx.factor = 2 if type(inputs[0]) is torch.Tensor else 3


def save(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])
    ctx.factor = 2


def backward(ctx, grad):
    (x,) = ctx.saved_tensors
    return grad * x * ctx.factor


for name, setup in {"saves_by_type": save_by_type, "saves_what_it_needs": save}.items():
    add(f"{name}(Tensor x) -> Tensor", squares, contiguous, *ONE)
    torch.library.register_autograd(
        f"corpus_compiled::{name}", backward, setup_context=setup, lib=library
    )


# Declared operators: a converter by hand that exchanges inputs, and one that does not.

declared = ow.OperatorSet("corpus_compiled_live")


def exchanged(x, y):
    from torchair.ge import custom_op

    return custom_op("ConvertsWrongly", inputs={"x": y, "y": x}, outputs=["out"])


def in_order(x, y):
    from torchair.ge import custom_op

    return custom_op("ConvertsRightly", inputs={"x": x, "y": y}, outputs=["out"])


@declared.operator(
    "converts_wrongly(Tensor x, Tensor y) -> Tensor", samples=TWO, converter=exchanged
)
def converts_wrongly(x, y):
    return x - y


def exchanged_attributes(x, alpha=1.0, beta=1.0):
    from torchair.ge import attr, custom_op

    attrs = {"alpha": attr.Float(beta), "beta": attr.Float(alpha)}
    return custom_op("ConvertsExchanged", inputs={"x": x}, attrs=attrs, outputs=["out"])


@declared.operator(
    "converts_exchanged(Tensor x, float alpha=1.0, float beta=1.0) -> Tensor",
    samples=ONE,
    converter=exchanged_attributes,
)
def converts_exchanged(x, alpha=1.0, beta=1.0):
    return x * alpha + beta


def attributes_in_order(x, alpha=1.0, beta=1.0):
    from torchair.ge import attr, custom_op

    attrs = {"alpha": attr.Float(alpha), "beta": attr.Float(beta)}
    return custom_op("ConvertsInOrder", inputs={"x": x}, attrs=attrs, outputs=["out"])


@declared.operator(
    "converts_in_order(Tensor x, float alpha=1.0, float beta=1.0) -> Tensor",
    samples=ONE,
    converter=attributes_in_order,
)
def converts_in_order(x, alpha=1.0, beta=1.0):
    return x * alpha + beta


def without_zero(x, alpha=1.0, beta=0.0):
    from torchair.ge import attr, custom_op

    given = {"alpha": alpha, "beta": beta}
    attrs = {name: attr.Float(value) for name, value in given.items() if value}
    return custom_op("DropsZero", inputs={"x": x}, attrs=attrs, outputs=["out"])


@declared.operator(
    "drops_zero(Tensor x, float alpha=1.0, float beta=0.0) -> Tensor",
    samples=ONE,
    converter=without_zero,
)
def drops_zero(x, alpha=1.0, beta=0.0):
    return x * alpha + beta


# Two flags, set each: exchanged they are the same as long as both are equal.


def exchanged_flags(x, twice=False, negated=False):
    from torchair.ge import attr, custom_op

    attrs = {"twice": attr.Bool(negated), "negated": attr.Bool(twice)}
    return custom_op("ExchangesFlags", inputs={"x": x}, attrs=attrs, outputs=["out"])


@declared.operator(
    "exchanges_flags(Tensor x, bool twice=False, bool negated=False) -> Tensor",
    samples=ONE,
    converter=exchanged_flags,
)
def exchanges_flags(x, twice=False, negated=False):
    return x * (2 if twice else 1) * (-1 if negated else 1)


def flags_in_order(x, twice=False, negated=False):
    from torchair.ge import attr, custom_op

    attrs = {"twice": attr.Bool(twice), "negated": attr.Bool(negated)}
    return custom_op("KeepsFlags", inputs={"x": x}, attrs=attrs, outputs=["out"])


@declared.operator(
    "keeps_flags(Tensor x, bool twice=False, bool negated=False) -> Tensor",
    samples=ONE,
    converter=flags_in_order,
)
def keeps_flags(x, twice=False, negated=False):
    return x * (2 if twice else 1) * (-1 if negated else 1)


# Its kernel is known by a C signature, which has no defaults: graphs have those of the schema.
@declared.operator(
    "kept_by_default(Tensor x, float alpha=0.5) -> Tensor",
    dtypes="float32",
    samples=ONE,
)
def kept_by_default(x, alpha=0.5):
    return x * alpha


@kernel("aclnnKeptByDefault(const aclTensor *x, double alpha, aclTensor *out)")
def kept_by_default_kernel(x, alpha, out):
    out.copy_(x * alpha)


def of_another_input(x):
    from torchair.ge import custom_op

    return custom_op("Square", inputs={"input": x}, outputs=["y"])


@declared.operator(
    "names_another_input(Tensor x) -> Tensor", samples=ONE, converter=of_another_input
)
def names_another_input(x):
    return x * x


@declared.operator(
    "converts_rightly(Tensor x, Tensor y) -> Tensor", samples=TWO, converter=in_order
)
def converts_rightly(x, y):
    return x - y


@declared.operator("accumulate_(Tensor(a!) x, Tensor y) -> Tensor(a!)", samples=TWO)
def accumulate_(x, y):
    return x.add_(y)
