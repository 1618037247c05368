"""Schemas that torch registers without a word, and that callers or graphs cannot use.

`schemas.json` beside this file is what the last release had.
"""

from __future__ import annotations

import torch
from registering import IN_PLACE, kernel_of, meta_of

import opwright as ow

BROKEN = {
    "none_for_int": "schema/wrong-default",
    "none_for_float": "schema/wrong-default",  # npu_quant_sparse_flash_mla
    "mode_argument": "schema/unusable-name",
    "alias_of_nothing": "schema/unbound-alias",
    "counts_down": "schema/written-number",
    "returned_twice": "schema/same-result-twice",
    "two_layouts": "schema/wrong-tag",
    "other_type": "schema/not-as-declared",
    "new_in_the_middle": "schema/incompatible",
    "other_default": "schema/incompatible",
    "renamed_operator": "schema/removed",
}

ops = ow.OperatorSet("corpus_schema", version="1.4", existing=True)
LIBRARY = torch.library.Library("corpus_schema", "DEF")
SAMPLES = [ow.sample(x=ow.tensor(2, 3))]


def operator(schema, *, registered=None, samples=SAMPLES, tags=(), **fields):
    """Register the reference as the kernel of all devices, and describe it."""

    def declare(function):
        LIBRARY.define(registered or schema, tags=tags)
        name = schema.partition("(")[0]
        for key in ("CPU", "PrivateUse1"):
            LIBRARY.impl(name, kernel_of(schema, function), key)
        LIBRARY.impl(name, meta_of(schema), "Meta")
        return ops.operator(schema, samples=samples, **fields)(function)

    return declare


@operator("none_for_int(Tensor x, int k=None) -> Tensor")
def none_for_int(x, k=None):
    return x * (1 if k is None else k)


@operator("none_for_float(Tensor x, int axis=0, float softmax_scale=None) -> Tensor")
def none_for_float(x, axis=0, softmax_scale=None):
    return x * (1 if softmax_scale is None else softmax_scale) + axis


@operator(
    "mode_argument(Tensor(a!) x, int mode) -> ()", samples=[ow.sample(x=ow.tensor(2), mode=1)]
)
def mode_argument(x, mode):
    x.add_(mode)


@operator(
    "alias_of_nothing(Tensor x) -> Tensor", registered="alias_of_nothing(Tensor x) -> Tensor(a)"
)
def alias_of_nothing(x):
    return x + 1


@operator("counts_down(Tensor x, int(a!) k) -> Tensor", samples=[ow.sample(x=ow.tensor(2), k=2)])
def counts_down(x, k):
    return x * k


@operator("returned_twice(Tensor(a!) x) -> (Tensor(a!), Tensor(a!))")
def returned_twice(x):
    x.add_(1)
    return x, x


@operator(
    "two_layouts(Tensor x) -> Tensor",
    tags=(torch.Tag.needs_exact_strides, torch.Tag.flexible_layout),
)
def two_layouts(x):
    return x + 1


@operator(
    "other_type(Tensor x, int k) -> Tensor",
    registered="other_type(Tensor x, float k) -> Tensor",
    samples=[ow.sample(x=ow.tensor(2), k=2)],
)
def other_type(x, k):
    return x * k


@operator("new_in_the_middle(Tensor x, int j=1, int k=2) -> Tensor")
def new_in_the_middle(x, j=1, k=2):
    return x * j + k


@operator("other_default(Tensor x, int axis=0) -> Tensor")
def other_default(x, axis=0):
    return x + axis


@operator("renamed_operator(Tensor x) -> Tensor")
def renamed_operator(x):
    return x + 1


# Sound.


@operator("optional_int(Tensor x, int? k=None, float scale=1) -> Tensor")
def optional_int(x, k=None, scale=1.0):
    return x * scale if k is None else x * k * scale


@operator(
    "mode_of_functional(Tensor x, int mode) -> Tensor",
    samples=[ow.sample(x=ow.tensor(2), mode=1)],
)
def mode_of_functional(x, mode):
    return x + mode


@operator("unnamed_set_(Tensor(a!) x) -> ()", registered="unnamed_set_(Tensor! x) -> ()")
def unnamed_set_(x):
    x.add_(1)


@operator("other_letter_(Tensor(a!) x) -> ()", registered="other_letter_(Tensor(z!) x) -> ()")
def other_letter_(x):
    x.mul_(2)


if IN_PLACE:

    @operator("tagged_right_(Tensor(a!) x) -> Tensor(a!)", tags=IN_PLACE)
    def tagged_right_(x):
        return x.add_(1)


@operator("new_at_the_end(Tensor x, int k=2, Tensor? bias=None) -> Tensor")
def new_at_the_end(x, k=2, bias=None):
    return x * k if bias is None else x * k + bias


@operator("wider_type(Tensor x, SymInt? k=2) -> Tensor")
def wider_type(x, k=2):
    return x * (1 if k is None else k)


@operator("other_result_name(Tensor x) -> Tensor y")
def other_result_name(x):
    return x * 3


@operator("new_operator(Tensor x, int[2] sizes=[1, 2]) -> Tensor")
def new_operator(x, sizes=(1, 2)):
    return x * sizes[1]
