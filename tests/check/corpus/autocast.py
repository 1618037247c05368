"""Operators that do something else under autocast than they declare, and sound ones."""

from __future__ import annotations

import torch

import opwright as ow

BROKEN = {
    "takes_only_single": "autocast/raises",
    "rule_without_kernel": "autocast/wrong-dtype",
    "casts_one_of_two": "autocast/wrong-values",
    "casts_back": "autocast/wrong-dtype",
    "kernel_under_autocast": "autocast/fake-differs",
}

ops = ow.OperatorSet("corpus_autocast")
ONE = [ow.sample(x=ow.tensor(4, 4))]
TWO = [ow.sample(x=ow.tensor(4, 4), y=ow.tensor(4, 4))]
PAIR = {"x": "N, N", "y": "N, N"}


@ops.operator(
    "takes_only_single(Tensor x) -> Tensor", dtypes="float32", autocast="float16", samples=ONE
)
def takes_only_single(x):
    return x * 2


@ops.operator(
    "follows_autocast(Tensor x, Tensor y) -> Tensor",
    shapes=PAIR,
    autocast="autocast dtype",
    samples=TWO,
)
def follows_autocast(x, y):
    return x @ y


@ops.operator(
    "promotes(Tensor x, Tensor y) -> Tensor",
    shapes=PAIR,
    dtypes={"x": "float32 float16", "y": "float16 float32", "out": ow.promote("x", "y")},
    autocast="promote",
    samples=[ow.sample(x=ow.tensor(4, 4), y=ow.tensor(4, 4, dtype="float16"))],
)
def promotes(x, y):
    return x + y


@ops.operator(
    "wide(Tensor x) -> Tensor", dtypes="float64 float32 float16", autocast="float16", samples=ONE
)
def wide(x):
    return x * 3  # float64 stays


@ops.operator(
    "into_(Tensor(a!) x, Tensor y) -> Tensor(a!)",
    shapes=PAIR,
    dtypes={"x": "float32 float16", "y": "float32 float16"},
    autocast="float16",
    samples=TWO,
)
def into_(x, y):
    return x.add_(y)  # what is written keeps its dtype


@ops.operator("undeclared(Tensor x) -> Tensor", shapes={"x": "N, N"}, samples=ONE)
def undeclared(x):
    return x @ x + 1  # single precision, whatever autocast says


@ops.operator("of_others(Tensor x) -> Tensor", shapes={"x": "N, N"}, aclnn=False, samples=ONE)
def of_others(x):
    return follows_autocast(x, x)


# Of another library.

library = torch.library.Library("corpus_autocast_lib", "DEF")
foreign = ow.OperatorSet("corpus_autocast_lib", existing=True)


def fake_like(x, *_):
    return x.new_empty(x.shape)


def define(schema, kernel, fake, autocast=None):
    name = schema.partition("(")[0]
    library.define(schema)
    library.impl(name, kernel, "PrivateUse1")
    torch.library.register_fake(f"corpus_autocast_lib::{name}", fake, lib=library)
    if autocast is not None:
        library.impl(name, autocast, "AutocastPrivateUse1")


def without_autocast(function):
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1)

    def run(*args):
        with torch._C._ExcludeDispatchKeyGuard(keys):
            return function(*args)

    return run


def overload(name):
    return getattr(torch.ops.corpus_autocast_lib, name).default


def half(x):
    return x.half() if x.dtype is torch.float32 else x


define("rule_without_kernel(Tensor x) -> Tensor", lambda x: x * 2, fake_like)
define(
    "casts_one_of_two(Tensor x, Tensor y) -> Tensor",
    without_autocast(lambda x, y: (x + y).half() if x.dtype is torch.half else x + y),
    fake_like,
    without_autocast(lambda x, y: overload("casts_one_of_two")(half(x), y)),
)
define(
    "casts_back(Tensor x) -> Tensor",
    lambda x: x * 2,
    fake_like,
    without_autocast(lambda x: overload("casts_back")(half(x)).to(x.dtype)),
)
define("kernel_under_autocast(Tensor x) -> Tensor", lambda x: x @ x, fake_like)
define(
    "casts_both(Tensor x, Tensor y) -> Tensor",
    lambda x, y: (x + y).contiguous(),
    fake_like,
    without_autocast(lambda x, y: overload("casts_both")(half(x), half(y))),
)
define(
    "kernel_without_autocast(Tensor x) -> Tensor",
    without_autocast(lambda x: x @ x),
    fake_like,
)


def describe(schema, **fields):
    return foreign.operator(schema, dtypes="float32", **fields)


@describe("rule_without_kernel(Tensor x) -> Tensor", autocast="float16", samples=ONE)
def rule_without_kernel(x):
    return x * 2


@describe(
    "casts_one_of_two(Tensor x, Tensor y) -> Tensor", shapes=PAIR, autocast="float16", samples=TWO
)
def casts_one_of_two(x, y):
    return x + y


@describe("casts_back(Tensor x) -> Tensor", autocast="float16", samples=ONE)
def casts_back(x):
    return x * 2


@describe("kernel_under_autocast(Tensor x) -> Tensor", shapes={"x": "N, N"}, samples=ONE)
def kernel_under_autocast(x):
    return x @ x


@describe("casts_both(Tensor x, Tensor y) -> Tensor", shapes=PAIR, autocast="float16", samples=TWO)
def casts_both(x, y):
    return x + y


@describe("kernel_without_autocast(Tensor x) -> Tensor", shapes={"x": "N, N"}, samples=ONE)
def kernel_without_autocast(x):
    return x @ x
