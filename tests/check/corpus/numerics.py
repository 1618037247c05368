"""Operators whose kernels compute something else than their references."""

from __future__ import annotations

import torch

import opwright as ow
from opwright.twin import kernel

BROKEN = {
    "off_by_little": "numerics/wrong-values",
    "wrong_in_bfloat16": "numerics/wrong-values",
    "refuses_half": "numerics/raises",
    "drops_nan": "numerics/wrong-special-values",
    "computes_in_half": "numerics/wrong-special-values",
    "other_on_cpu": "numerics/wrong-values",
    "refuses_many": "numerics/raises",
    "needs_the_optional": "numerics/raises",
    "satisfied_by_none": "numerics/no-sample",
}

ops = ow.OperatorSet("corpus_numerics")
SAMPLES = [ow.sample(x=ow.tensor(2, 3))]


@ops.operator("twice(Tensor x) -> Tensor", dtypes="float32 float16 bfloat16", samples=SAMPLES)
def twice(x):
    return x * 2


@ops.operator("off_by_little(Tensor x) -> Tensor", samples=SAMPLES)
def off_by_little(x):
    return x.exp()


@kernel("aclnnOffByLittle(const aclTensor *x, aclTensor *out)")
def off_by_little_kernel(x, out):
    out.copy_(x.exp() * 1.001)


@ops.operator("wrong_in_bfloat16(Tensor x) -> Tensor", dtypes="float32 bfloat16", samples=SAMPLES)
def wrong_in_bfloat16(x):
    return x + 1


@kernel("aclnnWrongInBfloat16(const aclTensor *x, aclTensor *out)")
def wrong_in_bfloat16_kernel(x, out):
    out.copy_(x + (2 if x.dtype is torch.bfloat16 else 1))


@ops.operator("refuses_half(Tensor x) -> Tensor", dtypes="float32 float16", samples=SAMPLES)
def refuses_half(x):
    return x - 1


@kernel("aclnnRefusesHalf(const aclTensor *x, aclTensor *out)")
def refuses_half_kernel(x, out):
    if x.dtype is torch.float16:
        raise TypeError("half is not implemented")
    out.copy_(x - 1)


@ops.operator("drops_nan(Tensor x) -> Tensor", samples=SAMPLES)
def drops_nan(x):
    return x.clamp(min=0)


@kernel("aclnnDropsNan(const aclTensor *x, aclTensor *out)")
def drops_nan_kernel(x, out):
    """Take the larger number, as fmax does."""
    out.copy_(torch.fmax(x, torch.zeros_like(x)))


@ops.operator(
    "computes_in_half(Tensor x) -> Tensor",
    samples=SAMPLES,
    tolerances={"float32": (0.01, 0.01)},
)
def computes_in_half(x):
    return x.square().square() * 8


@kernel("aclnnComputesInHalf(const aclTensor *x, aclTensor *out)")
def computes_in_half_kernel(x, out):
    """Overflow where the reference does not."""
    out.copy_(x.half().square().square() * 8)


@ops.operator("refuses_many(Tensor x) -> Tensor", shapes={"x": "N"}, dtypes="float32")
def refuses_many(x):
    if x.shape[0] > 1:
        message = "one element only"
        raise ValueError(message)
    return x + 1


@ops.operator(
    "needs_the_optional(Tensor x, Tensor? b=None) -> Tensor",
    shapes={"x": "N", "b": "N"},
    dtypes={"x": "float32", "b": "x"},
)
def needs_the_optional(x, b=None):
    return x + b


@ops.operator(
    "satisfied_by_none(Tensor x) -> Tensor",
    shapes={"x": "N"},
    dtypes="float32",
    requires=["N > 4", "N < 4"],
)
def satisfied_by_none(x):
    return x + 1


library = ow.OperatorSet("corpus_numerics_lib", existing=True)
LIBRARY = torch.library.Library("corpus_numerics_lib", "DEF")
LIBRARY.define("other_on_cpu(Tensor x) -> Tensor")
LIBRARY.impl("other_on_cpu", lambda x: x * 3, "PrivateUse1")
LIBRARY.impl("other_on_cpu", lambda x: x * 3 + 0.25, "CPU")
LIBRARY.impl("other_on_cpu", torch.empty_like, "Meta")


@library.operator("other_on_cpu(Tensor x) -> Tensor", samples=SAMPLES)
def other_on_cpu(x):
    return x * 3


# Sound.


@ops.operator(
    "sums_in_float32(Tensor x) -> Tensor",
    dtypes="float16 bfloat16",
    shapes={"x": "*batch, D", "out": "*batch"},
    samples=[ow.sample(x=ow.tensor(4, 64))],
)
def sums_in_float32(x):
    total = torch.zeros_like(x[..., 0])
    for index in range(x.shape[-1]):
        total = total + x[..., index]  # each sum is rounded
    return total


@kernel("aclnnSumsInFloat32(const aclTensor *x, aclTensor *out)")
def sums_in_float32_kernel(x, out):
    """Be more exact than the reference is."""
    out.copy_(x.float().sum(-1))


@ops.operator(
    "square_root(Tensor x) -> Tensor", samples=[ow.sample(x=ow.tensor(2, 3, low=0.5, high=4))]
)
def square_root(x):
    """Take positive numbers only: the samples say so."""
    return x.sqrt()


@kernel("aclnnSquareRoot(const aclTensor *x, aclTensor *out)")
def square_root_kernel(x, out):
    if not (x > 0).all():
        raise ValueError
    out.copy_(x.sqrt())


@ops.operator(
    "rough(Tensor x) -> Tensor",
    dtypes="float32",
    samples=SAMPLES,
    tolerances={"float32": (0.05, 0.05)},
)
def rough(x):
    return x.exp()


@kernel("aclnnRough(const aclTensor *x, aclTensor *out)")
def rough_kernel(x, out):
    out.copy_(x.exp() * 1.01)


@ops.operator(
    "keeps_nan(Tensor x, Tensor y) -> Tensor", samples=[ow.sample(x=ow.tensor(2), y=ow.tensor(2))]
)
def keeps_nan(x, y):
    return torch.where(y > 0, x / y.abs().clamp(min=1), y)


@ops.operator(
    "histogram(Tensor x) -> Tensor",
    shapes={"x": "N", "out": "10"},
    dtypes={"x": "int64", "out": "int64"},
    samples=[ow.sample(x=ow.tensor(5, low=0, high=9))],
)
def histogram(x):
    return torch.bincount(x, minlength=10)


@ops.operator("noisy(Tensor x) -> Tensor", samples=SAMPLES, deterministic=False)
def noisy(x):
    """Draw numbers: no two calls are equal, unless they have to be."""
    exact = torch.are_deterministic_algorithms_enabled()
    return x + (0 if exact else torch.rand(x.shape, dtype=torch.float32).to(x.dtype))


@ops.operator(
    "one_element(Tensor x) -> Tensor", shapes={"x": "N"}, dtypes="float32", requires=["N == 1"]
)
def one_element(x):
    """Refuse what the rules refuse before."""
    if x.shape[0] != 1:
        raise ValueError
    return x * 2


@ops.operator(
    "looked_up(Tensor x, Tensor index) -> Tensor",
    shapes={"x": "N", "index": "M", "out": "M"},
    dtypes={"x": "float32", "index": "int64", "out": "x"},
)
def looked_up(x, index):
    """Refuse an index that is too large: no rule can say that."""
    return x[index]


@ops.operator("largest(Tensor x) -> Tensor", shapes={"x": "N", "out": ""}, dtypes="float32")
def largest(x):
    """Have no result for no elements."""
    return x.max()


@ops.operator("factor(Tensor x) -> Tensor", shapes={"x": "N, N"}, dtypes="float32")
def factor(x):
    """Refuse what is not positive definite: no rule can say that."""
    return torch.linalg.cholesky(x)
