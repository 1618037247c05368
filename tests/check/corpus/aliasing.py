"""Operators whose results have memory of something else."""

from __future__ import annotations

import torch
from registering import IN_PLACE, kernel_of, meta_of

import opwright as ow

BROKEN = {
    "second_handle": "aliasing/undeclared-alias",  # CppExtensions/setup: at::Tensor out(self)
    "contiguous_or_copy": "aliasing/undeclared-alias",
    "nothing_to_do": "aliasing/undeclared-alias",
    "of_empty": "aliasing/undeclared-alias",
    "part_of_list": "aliasing/undeclared-alias",
    "mla_preprocess": "aliasing/written-argument-returned",  # vllm-ascend
    "copy_of_written_": "aliasing/alias-is-none",
    "same_gradient_twice": "aliasing/results-share",  # an example of op-plugin
    "halves": "aliasing/results-share",
    "keeps_workspace": "aliasing/view-of-workspace",
}

ops = ow.OperatorSet("corpus_aliasing", existing=True)
LIBRARY = torch.library.Library("corpus_aliasing", "DEF")
ONE = ow.sample(x=ow.tensor(2, 3))


def operator(schema, *samples, tags=(), meta=None, **fields):
    """Register a function as the kernel of all devices."""

    def declare(function):
        LIBRARY.define(schema, tags=tags)
        name = schema.partition("(")[0]
        for key in ("CPU", "PrivateUse1"):
            LIBRARY.impl(name, kernel_of(schema, function), key)
        LIBRARY.impl(name, meta or meta_of(schema), "Meta")
        return ops.operator(schema, samples=samples or (ONE,), **fields)(function)

    return declare


@operator("second_handle(Tensor self) -> Tensor", ow.sample(self=ow.tensor(2, 3)))
def second_handle(self):
    return self.detach()


@operator("contiguous_or_copy(Tensor x) -> Tensor")
def contiguous_or_copy(x):
    return x.contiguous()


@operator(
    "nothing_to_do(Tensor x, float factor) -> Tensor",
    ow.sample(x=ow.tensor(2, 3), factor=2.0),
    ow.sample(x=ow.tensor(2, 3), factor=1.0),
)
def nothing_to_do(x, factor):
    return x if factor == 1 else x * factor


@operator("of_empty(Tensor x) -> Tensor", ONE, ow.sample(x=ow.tensor(0, 3)))
def of_empty(x):
    return x if x.numel() == 0 else x + 1


@operator(
    "part_of_list(Tensor[] parts) -> Tensor",
    ow.sample(parts=[ow.tensor(2), ow.tensor(2)]),
    ow.sample(parts=[ow.tensor(2)]),
    meta=torch.cat,
    shapes={"out": ow.cpp("parts")},
)
def part_of_list(parts):
    return torch.cat(list(parts)) if len(parts) > 1 else parts[0]


@operator(
    "mla_preprocess(Tensor x, Tensor(a!) out) -> Tensor",
    ow.sample(x=ow.tensor(2, 3), out=ow.tensor(2, 3)),
)
def mla_preprocess(x, out):
    return out.copy_(x * 2)


@operator("copy_of_written_(Tensor(a!) x) -> Tensor(a!)", tags=IN_PLACE)
def copy_of_written_(x):
    return x.add_(1).clone()


@operator("same_gradient_twice(Tensor x) -> (Tensor, Tensor)")
def same_gradient_twice(x):
    gradient = x * 2
    return gradient, gradient.view_as(gradient)


@operator(
    "halves(Tensor x) -> (Tensor low, Tensor high)",
    ow.sample(x=ow.tensor(4)),
    shapes={"x": "N", "low": "N", "high": "N"},
)
def halves(x):
    both = torch.cat([x, x * 2])
    return both[: x.shape[0]], both[x.shape[0] :]


@operator("keeps_workspace(Tensor x) -> Tensor")
def keeps_workspace(x):
    workspace = x.new_empty(4096)
    return workspace[: x.numel()].view(x.shape).copy_(x)


# Sound.


@operator("fresh(Tensor x) -> Tensor")
def fresh(x):
    return x.clone()


@operator(
    "fresh_or_scaled(Tensor x, float factor) -> Tensor",
    ow.sample(x=ow.tensor(2, 3), factor=1.0),
    ow.sample(x=ow.tensor(0), factor=2.0),
)
def fresh_or_scaled(x, factor):
    return x.clone() if factor == 1 else x * factor


if IN_PLACE:

    @operator("returned_(Tensor(a!) x) -> Tensor(a!)", tags=IN_PLACE)
    def returned_(x):
        return x.add_(1)


@operator(
    "written_and_new_(Tensor(a!) state, Tensor x) -> Tensor",
    ow.sample(state=ow.tensor(2, 3), x=ow.tensor(2, 3)),
    shapes={"out": ow.like("x")},
)
def written_and_new_(state, x):
    return state.add_(x) * 2


@operator("equal_results(Tensor x) -> (Tensor, Tensor)")
def equal_results(x):
    return x * 2, x * 2


@operator(
    "halves_apart(Tensor x) -> (Tensor low, Tensor high)",
    ow.sample(x=ow.tensor(4)),
    shapes={"x": "N", "low": "N", "high": "N"},
)
def halves_apart(x):
    both = torch.cat([x, x * 2])
    return both[: x.shape[0]].clone(), both[x.shape[0] :].clone()


@operator("rounded_up(Tensor x) -> Tensor")
def rounded_up(x):
    """Allocate in blocks of 32 elements."""
    block = x.new_empty(-(-x.numel() // 32) * 32)
    return block[: x.numel()].view(x.shape).copy_(x)


@operator(
    "transposed_result(Tensor x) -> Tensor",
    meta=lambda x: x.new_empty(x.t().shape),
    shapes={"x": "M, N", "out": "N, M"},
)
def transposed_result(x):
    return x.clone().t()


@operator("constant(Tensor x) -> Tensor")
def constant(x):
    return torch.ones_like(x)


@operator("in_inputs_memory(Tensor x) -> Tensor", ONE, ow.sample(x=ow.tensor(0, 3)))
def in_inputs_memory(x):
    """Free a copy of the input before the result is allocated: it may get the same address."""
    total = x.clone().sum()
    return x * 0 + total
