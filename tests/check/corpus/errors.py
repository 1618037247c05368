"""Operators that accept what they must refuse, or refuse it badly, and sound ones."""

from __future__ import annotations

import torch

import opwright as ow

BROKEN = {
    "says_something_else": "errors/other-message",
    "clamps": "errors/accepted",
    "takes_other_sizes": "errors/accepted",
    "meta_does_not_check": "errors/accepted",
    "asserts": "errors/wrong-exception",
    "says_nothing": "errors/useless-message",
    "fails_inside": "errors/useless-message",
    "writes_first_": "errors/written-before-refusal",
    "stays_broken": "errors/state-after-error",
}

ops = ow.OperatorSet("corpus_errors")
ONE = [ow.sample(x=ow.tensor(4, 4))]


@ops.operator(
    "says_something_else(Tensor x, int k) -> Tensor",
    shapes={"x": "N, D"},
    requires=("k > 0",),
    samples=[ow.sample(x=ow.tensor(4, 4), k=1)],
    errors=[ow.error("k must be positive", x=ow.tensor(4, 4), k=0)],
)
def says_something_else(x, k):
    return x * k


@ops.operator(
    "refuses_all(Tensor x, Tensor y, int k, str mode='sum') -> Tensor",
    shapes={"x": "N, D", "y": "D"},
    dtypes={"x": "float32", "y": "x"},
    requires=("0 < k <= D", "mode in ('sum', 'mean')"),
    samples=[ow.sample(x=ow.tensor(4, 4), y=ow.tensor(4), k=1)],
    errors=[
        ow.error("'y'", x=ow.tensor(4, 4), y=ow.tensor(3), k=1),
        ow.error("mode", x=ow.tensor(4, 4), y=ow.tensor(4), k=1, mode="most"),
    ],
)
def refuses_all(x, y, k, mode="sum"):
    return x * y * k if mode == "sum" else x * y / k


@ops.operator(
    "refuses_lists(Tensor first, Tensor[] rest) -> Tensor",
    requires=("len(rest) == 2",),
    samples=[ow.sample(first=ow.tensor(4), rest=[ow.tensor(4), ow.tensor(4)])],
)
def refuses_lists(first, rest):
    return first + rest[0] + rest[1]


@ops.operator(
    "joined_(Tensor(a!) x, Tensor y) -> Tensor(a!)",
    shapes={"x": "N, D", "y": "N, D"},
    samples=[ow.sample(x=ow.tensor(4, 4), y=ow.tensor(4, 4))],
)
def joined_(x, y):
    return x.add_(y)


@ops.operator("anything(Tensor x) -> Tensor", samples=ONE)
def anything(x):
    return x.clone()


# Of another library.

library = torch.library.Library("corpus_errors_lib", "DEF")
foreign = ow.OperatorSet("corpus_errors_lib", existing=True)
failed = []


def define(schema, kernel, fake):
    name = schema.partition("(")[0]
    library.define(schema)
    library.impl(name, kernel, "PrivateUse1")
    torch.library.register_fake(f"corpus_errors_lib::{name}", fake, lib=library)


def rows(x, k):
    return x.new_empty(k, x.shape[1])


def first_rows(x, k):
    if not 0 < k <= x.shape[0]:
        message = f"k is {k}; it must be from 1 to {x.shape[0]}, the rows of x"
        raise ValueError(message)
    return x[:k].clone(memory_format=torch.contiguous_format)


def asserting(x, k):
    assert 0 < k <= x.shape[0]
    return x[:k].clone(memory_format=torch.contiguous_format)


def silent(x, k):
    if not 0 < k <= x.shape[0]:
        raise RuntimeError("failed")
    return x[:k].clone(memory_format=torch.contiguous_format)


def internal(x, k):
    if not 0 < k <= x.shape[0]:
        raise RuntimeError("vector::_M_range_check: __n (which is 5) >= this->size() (which is 4)")
    return x[:k].clone(memory_format=torch.contiguous_format)


def once(x, k):
    if failed or not 0 < k <= x.shape[0]:
        failed.append(k)
        message = f"k is {k}"
        raise ValueError(message)
    return x[:k].clone(memory_format=torch.contiguous_format)


def checked_rows(x, k):
    torch._check_value(k > 0, lambda: f"k is {k}; it must be positive")
    return rows(x, k)


def add_late(x, y):
    x.add_(1)
    if x.shape != y.shape:
        message = f"sizes of x and y differ: {list(x.shape)}, {list(y.shape)}"
        raise ValueError(message)
    x.add_(y).sub_(1)


def add_checked(x, y):
    if x.shape != y.shape:
        message = f"sizes of x and y differ: {list(x.shape)}, {list(y.shape)}"
        raise ValueError(message)
    x.add_(y)


def nothing(*_):
    return None


SCHEMA = "(Tensor x, int k) -> Tensor"
define(f"clamps{SCHEMA}", lambda x, k: x[: max(1, min(k, x.shape[0]))].clone(), rows)
define(f"asserts{SCHEMA}", asserting, rows)
define(f"says_nothing{SCHEMA}", silent, rows)
define(f"fails_inside{SCHEMA}", internal, rows)
define(f"stays_broken{SCHEMA}", once, rows)
define(f"refuses{SCHEMA}", first_rows, rows)
define(f"meta_does_not_check{SCHEMA}", first_rows, lambda x, k: rows(x, abs(k)))
define(f"meta_checks{SCHEMA}", first_rows, checked_rows)
define(
    "takes_other_sizes(Tensor x, Tensor y) -> Tensor",
    lambda x, y: x + y.reshape(-1)[: x.shape[-1]],
    lambda x, y: x.new_empty(x.shape),
)
define(
    "broadcasts(Tensor x, Tensor y) -> Tensor",
    lambda x, y: (x + y).contiguous(),
    lambda x, y: x.new_empty(torch.broadcast_shapes(x.shape, y.shape)),
)
define("writes_first_(Tensor(a!) x, Tensor y) -> ()", add_late, nothing)
define("checks_first_(Tensor(a!) x, Tensor y) -> ()", add_checked, nothing)


def reference_rows(x, k):
    return first_rows(x, k)


ROWS = {"x": "N, D", "out": "k, D"}
LIMITS = ("0 < k <= N",)
SAMPLES = [ow.sample(x=ow.tensor(4, 3), k=2)]
for each in ("clamps", "asserts", "says_nothing", "fails_inside", "stays_broken", "refuses"):
    foreign.operator(
        f"{each}{SCHEMA}", dtypes="float32", shapes=ROWS, requires=LIMITS, samples=SAMPLES
    )(reference_rows)
for each in ("meta_does_not_check", "meta_checks"):
    foreign.operator(
        f"{each}{SCHEMA}",
        dtypes="float32",
        shapes=ROWS,
        requires=LIMITS,
        samples=SAMPLES,
        errors=[ow.error("k is", x=ow.tensor(4, 3), k=-1)],
    )(reference_rows)

ROW = {"x": "N, D", "y": "D"}
PAIR = [ow.sample(x=ow.tensor(4, 3), y=ow.tensor(3))]


@foreign.operator(
    "takes_other_sizes(Tensor x, Tensor y) -> Tensor", dtypes="float32", shapes=ROW, samples=PAIR
)
def takes_other_sizes(x, y):
    return x + y


@foreign.operator(
    "broadcasts(Tensor x, Tensor y) -> Tensor", dtypes="float32", shapes=ROW, samples=PAIR
)
def broadcasts(x, y):
    return x + y  # it takes more than is declared, and is right


SQUARES = [ow.sample(x=ow.tensor(4, 3), y=ow.tensor(4, 3))]
for each in ("writes_first_", "checks_first_"):

    @foreign.operator(
        f"{each}(Tensor(a!) x, Tensor y) -> ()",
        dtypes="float32",
        shapes={"x": "N, D", "y": "N, D"},
        samples=SQUARES,
    )
    def reference_add_(x, y):
        x.add_(y)
