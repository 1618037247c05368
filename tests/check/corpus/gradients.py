"""Operators whose gradients are wrong, and sound ones that look suspicious."""

from __future__ import annotations

import torch

import opwright as ow
from opwright.twin import kernel

BROKEN = {
    "cosine_times": "numerics/wrong-values",
    "times_by_123": "gradients/wrong-gradient",
    "leaves_autograd": "gradients/silent-zero",
    "forgets_the_factor": "gradients/wrong-gradient",
    "forgets_to_sum": "gradients/wrong-gradient",
    "second_input_none": "gradients/silent-zero",
    "backward_kernel_is_wrong": "gradients/device-differs",
    "needs_both_results": "gradients/partial",
    "wrong_number": "gradients/backward-raises",
    "keeps_what_it_saved": "gradients/stale-saved",
    "detaches": "gradients/silent-zero",
    "reads_grad_flat": "gradients/grad-layout",
    "forgets_the_same": "gradients/shared-argument",
    "writes_what_it_saved": "gradients/repeated-backward",
    "forgets_second": "gradients/second-derivative",
    "keeps_a_graph": "gradients/graph-kept",
    "forgets_dirty_": "gradients/leaf-written",
    "nan_at_zero": "gradients/wrong-gradient",
    "raises_at_zero": "gradients/wrong-gradient",
}

ops = ow.OperatorSet("corpus_gradients")
ONE = [ow.sample(x=ow.tensor(3, 4))]
POSITIVE = [ow.sample(x=ow.tensor(3, 4, low=0.5, high=2.0))]


# Broken, declared.


@ops.operator("times_by_123(Tensor x) -> Tensor", backward={"x": "grad * 123"}, samples=ONE)
def times_by_123(x):
    return x * 2


@ops.operator("leaves_autograd(Tensor x) -> Tensor", backward="reference", samples=ONE)
def leaves_autograd(x):
    return x + torch.sin(x.detach())[..., :1] * 0 + x.data * 3 - x


@ops.operator(
    "forgets_the_factor(Tensor x, float factor=1.0) -> Tensor", backward={"x": "grad"}, samples=ONE
)
def forgets_the_factor(x, factor=1.0):
    return x * factor


@ops.operator(
    "forgets_to_sum(Tensor x, Tensor row) -> Tensor",
    shapes={"x": "N, D", "row": "D"},
    samples=[ow.sample(x=ow.tensor(3, 4), row=ow.tensor(4))],
)
def forgets_to_sum(x, row):
    return x * row


@forgets_to_sum.backward(saves=("x", "row"))
def _(grad, x, row):
    return grad * row, (grad * x)[:1].sum(0)


@ops.operator("nan_at_zero(Tensor x) -> Tensor", samples=ONE)
def nan_at_zero(x):
    return torch.where(x == 0, 1.0, torch.sin(x) / x)


@nan_at_zero.backward(saves=("x",))
def _(grad, x):
    return grad * (torch.cos(x) * x - torch.sin(x)) / x.square()


@ops.operator("raises_at_zero(Tensor x) -> Tensor", samples=ONE)
def raises_at_zero(x):
    return x * x.abs()


@raises_at_zero.backward(saves=("x",))
def _(grad, x):
    return grad * torch.tensor(
        [abs(2 * each) * (each / each) for each in x.flatten().tolist()]
    ).view_as(x)


@ops.operator(
    "second_input_none(Tensor x, Tensor y) -> Tensor",
    shapes={"x": "*s", "y": "*s"},
    samples=[ow.sample(x=ow.tensor(3, 4), y=ow.tensor(3, 4))],
)
def second_input_none(x, y):
    return x * y


@second_input_none.backward(saves=("x", "y"), inputs=("x", "y"))
def _(grad, x, y):
    return grad * y, torch.zeros_like(x)


@ops.operator(
    "backward_kernel_is_wrong(Tensor x) -> Tensor",
    backward="cosine_times(grad, x)",
    samples=ONE,
)
def backward_kernel_is_wrong(x):
    return x.sin()


@ops.operator(
    "cosine_times(Tensor grad, Tensor x) -> Tensor",
    shapes={"grad": "*s", "x": "*s"},
    samples=[ow.sample(grad=ow.tensor(3, 4), x=ow.tensor(3, 4))],
)
def cosine_times(grad, x):
    return grad * x.cos()


@kernel("aclnnCosineTimes(const aclTensor *grad, const aclTensor *x, aclTensor *out)")
def cosine_times_kernel(grad, x, out):
    out.copy_(grad * x.cos() * 0.5)


@ops.operator("needs_both_results(Tensor x) -> (Tensor a, Tensor b)", samples=ONE)
def needs_both_results(x):
    return x * 2, x * 3


@needs_both_results.backward(saves=("x",), outputs=("a", "b"))
def _(grad_a, grad_b, x):
    if grad_a is None or grad_b is None:
        return torch.zeros_like(x)
    return grad_a * 2 + grad_b * 3


# Sound, declared.


@ops.operator("zero_at_zero(Tensor x) -> Tensor", samples=ONE)
def zero_at_zero(x):
    return torch.where(x == 0, 1.0, torch.sin(x) / x)


@zero_at_zero.backward(saves=("x",))
def _(grad, x):
    slope = (torch.cos(x) * x - torch.sin(x)) / x.square()
    return grad * torch.where(x == 0, 0.0, slope)


@ops.operator("nan_at_a_kink(Tensor x) -> Tensor", samples=ONE)
def nan_at_a_kink(x):
    return x.abs()


@nan_at_a_kink.backward(saves=("x",))
def _(grad, x):
    return grad * x / x.abs()


@ops.operator(
    "log_of_sums(Tensor x) -> Tensor",
    shapes={"x": "*s, D", "out": "*s"},
    samples=ONE,
    backward="reference",
)
def log_of_sums(x):
    most = x.max(-1, keepdim=True).values.detach()  # whatever it is, the result is the same
    return ((x - most).exp().sum(-1, keepdim=True).log() + most).squeeze(-1)


@ops.operator(
    "clipped(Tensor x) -> Tensor",
    backward={"x": "grad * (x > 0)"},
    samples=[ow.sample(x=ow.tensor(3, 4)), ow.sample(x=ow.tensor(3, 4, low=0, high=0))],
)
def clipped(x):
    return x.relu()  # differences at 0 give a half


@ops.operator(
    "normed(Tensor x) -> Tensor",
    shapes={"x": "*s, D"},
    dtypes="float32 float16 bfloat16",
    backward="reference",
    samples=ONE,
)
def normed(x):
    wide = x.float()  # single precision inside
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-3)).to(x.dtype)


def rms_norm(x, gamma):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * gamma


# Over one element the gradient is almost zero: a difference of large terms, all of it rounding.
NORM = {
    "shapes": {"x": "*s, D", "gamma": "D"},
    "samples": [
        ow.sample(x=ow.tensor(3, 1), gamma=ow.tensor(1)),
        ow.sample(x=ow.tensor(3, 4), gamma=ow.tensor(4)),
    ],
}
ops.operator(
    "normed_rows(Tensor x, Tensor gamma) -> Tensor", dtypes="float32", backward="reference", **NORM
)(rms_norm)


@ops.operator(
    "normed_in_single(Tensor x, Tensor gamma) -> Tensor",
    dtypes="float32 float16 bfloat16",
    backward="reference",
    **NORM,
)
def normed_in_single(x, gamma):
    return rms_norm(x.float(), gamma.float()).to(x.dtype)


@ops.operator(
    "normed_by_hand(Tensor x, Tensor gamma) -> Tensor",
    dtypes="float32",
    requires=("D > 0",),
    **NORM,
)
def normed_by_hand(x, gamma):
    return rms_norm(x, gamma)


@normed_by_hand.backward(saves=("x", "gamma"))
def _(grad, x, gamma):
    root = torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)
    scaled = grad * gamma
    along = (scaled * x).mean(-1, keepdim=True)
    return scaled * root - x * root**3 * along, (grad * x * root).flatten(0, -2).sum(0)


@ops.operator("rounded(Tensor x) -> Tensor", backward={"x": "grad"}, samples=ONE)
def rounded(x):
    return (x * 8).round() / 8  # a straight-through gradient: there is no derivative


@ops.operator(
    "masked(Tensor x, Tensor mask) -> Tensor",
    shapes={"x": "*s", "mask": "*s"},
    backward={"x": "grad * mask"},
    samples=[ow.sample(x=ow.tensor(3, 4), mask=ow.tensor(3, 4))],
)
def masked(x, mask):
    return x * mask  # that the mask has no gradient is declared


@ops.operator(
    "picked(Tensor table, Tensor index) -> Tensor",
    shapes={"table": "N, D", "index": "K", "out": "K, D"},
    dtypes={"table": "float32", "index": "int64"},
    backward="reference",
    requires=("N > 0",),
    samples=[ow.sample(table=ow.tensor(5, 3), index=ow.tensor(4, low=0, high=4))],
)
def picked(table, index):
    return table[index]


@ops.operator(
    "scaled_row(Tensor x, Tensor row) -> Tensor",
    shapes={"x": "N, D", "row": "D"},
    backward={"x": "grad * row", "row": "(grad * x)"},
    samples=[ow.sample(x=ow.tensor(3, 4), row=ow.tensor(4))],
)
def scaled_row(x, row):
    return x * row  # autograd itself sums the gradient of the row


@ops.operator("no_backward(Tensor x) -> Tensor", samples=ONE)
def no_backward(x):
    return x.exp()


@ops.operator("counted(Tensor x) -> Tensor", dtypes={"out": "int64"}, samples=ONE)
def counted(x):
    return (x > 0).long()


@ops.operator(
    "step_(Tensor(a!) x, Tensor y) -> Tensor(a!)",
    shapes={"x": "*s", "y": "*s"},
    backward="reference",
    samples=[ow.sample(x=ow.tensor(3, 4), y=ow.tensor(3, 4))],
)
def step_(x, y):
    return x.copy_(x.sin() * y)


# Of another library: kernels of the NPU alone, with autograd of their own.

library = torch.library.Library("corpus_gradients_lib", "DEF")
foreign = ow.OperatorSet("corpus_gradients_lib", existing=True)


def fake_like(x, *_):
    return x.new_empty(x.shape)


def define(schema, kernel, autograd=None, fake=fake_like):
    name = schema.partition("(")[0]
    library.define(schema)
    library.impl(name, kernel, "PrivateUse1")
    if autograd is not None:
        library.impl(name, autograd, "AutogradPrivateUse1")
    torch.library.register_fake(f"corpus_gradients_lib::{name}", fake, lib=library)


def below(function):
    def run(*args):
        with torch._C._AutoDispatchBelowAutograd():
            return function(*args)

    return run


sine = below(lambda x: torch.sin(x).contiguous())
cosine = below(lambda x: torch.cos(x).contiguous())
product = below(lambda x, y: torch.mul(x, y).contiguous())


# ruff: noqa: ARG004 - autograd passes ctx


class KeepsWhatItSaved(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return sine(x)

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.x.detach().cos()


class ReadsGradFlat(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return sine(x) - sine(x) + x.clone()

    @staticmethod
    def backward(ctx, grad):
        # As a kernel that takes data_ptr() and numel().
        size = min(grad.untyped_storage().nbytes() // grad.element_size(), grad.numel())
        flat = torch.zeros(grad.numel(), dtype=grad.dtype, device=grad.device)
        flat[:size] = grad.as_strided((size,), (1,), 0)
        return flat.reshape(grad.shape)


class ForgetsTheSame(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return product(x, y)

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y, None if x.data_ptr() == y.data_ptr() else grad * x


class Product(torch.autograd.Function):
    forward = ForgetsTheSame.forward

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y, grad * x


class WritesWhatItSaved(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.factor = x.detach().cos()
        return sine(x)

    @staticmethod
    def backward(ctx, grad):
        result = ctx.factor.mul_(grad.detach())
        return result.clone()


class ForgetsSecond(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return sine(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x.detach().cos()


class Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return sine(x)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0].cos()


@below
def mean_in_single(x):
    return x.float().mean(-1).to(x.dtype)


# It takes double, and is no more exact than single precision.
class MeanInSingle(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return mean_in_single(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return (grad.unsqueeze(-1).float() / x.shape[-1]).expand(x.shape).to(x.dtype)


class WrongNumber(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return sine(x)

    @staticmethod
    def backward(ctx, grad):
        return grad, grad


class KeepsACopy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.factor = cosine(x)
        return sine(x)

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor


def write(x):
    with torch._C._AutoDispatchBelowAutograd(), torch.no_grad():
        x.mul_(2)
    return x


def with_graph(x):
    return x.detach().requires_grad_() * 2 if not x.requires_grad else x * 2


define("keeps_what_it_saved(Tensor x) -> Tensor", sine, KeepsWhatItSaved.apply)
define("detaches(Tensor x) -> Tensor", sine, lambda x: sine(x).detach())
define("reads_grad_flat(Tensor x) -> Tensor", torch.clone, ReadsGradFlat.apply)
define("forgets_the_same(Tensor x, Tensor y) -> Tensor", product, ForgetsTheSame.apply)
define("product(Tensor x, Tensor y) -> Tensor", product, Product.apply)
define("writes_what_it_saved(Tensor x) -> Tensor", sine, WritesWhatItSaved.apply)
define("forgets_second(Tensor x) -> Tensor", sine, ForgetsSecond.apply)
library.impl("forgets_second", sine, "CPU")
library.impl("forgets_second", ForgetsSecond.apply, "AutogradCPU")
define("keeps_a_graph(Tensor x) -> Tensor", with_graph, with_graph)
define("forgets_dirty_(Tensor(a!) x) -> Tensor(a!)", write, write)
define("wrong_number(Tensor x) -> Tensor", sine, WrongNumber.apply)
define("once(Tensor x) -> Tensor", sine, Once.apply)
define(
    "mean_in_single(Tensor x) -> Tensor",
    mean_in_single,
    MeanInSingle.apply,
    lambda x: x.new_empty(x.shape[:-1]),
)
library.impl("mean_in_single", mean_in_single, "CPU")
library.impl("mean_in_single", MeanInSingle.apply, "AutogradCPU")
define("keeps_a_copy(Tensor x) -> Tensor", sine, KeepsACopy.apply)
define("for_inference(Tensor x) -> Tensor", lambda x: sine(x.detach()))


def sin(x):
    return x.sin()


for name in (
    "keeps_what_it_saved",
    "detaches",
    "writes_what_it_saved",
    "forgets_second",
    "wrong_number",
    "once",
    "keeps_a_copy",
    "for_inference",
):
    foreign.operator(f"{name}(Tensor x) -> Tensor", dtypes="float32", samples=POSITIVE)(sin)


@foreign.operator(
    "mean_in_single(Tensor x) -> Tensor",
    shapes={"x": "*s, D", "out": "*s"},
    requires=("D > 0",),
    samples=[ow.sample(x=ow.tensor(2, size, low=1, high=8)) for size in (16, 17, 33, 65)],
)
def single_mean(x):
    return x.float().mean(-1).to(x.dtype)


for name in ("forgets_the_same", "product"):
    foreign.operator(
        f"{name}(Tensor x, Tensor y) -> Tensor",
        shapes={"x": "*s", "y": "*s"},
        dtypes="float32",
        samples=[ow.sample(x=ow.tensor(3, 4), y=ow.tensor(3, 4))],
    )(torch.mul)


@foreign.operator("reads_grad_flat(Tensor x) -> Tensor", dtypes="float32", samples=ONE)
def same(x):
    return x.clone()


@foreign.operator("keeps_a_graph(Tensor x) -> Tensor", dtypes="float32", samples=ONE)
def twice(x):
    return x * 2


@foreign.operator("forgets_dirty_(Tensor(a!) x) -> Tensor(a!)", dtypes="float32", samples=ONE)
def double_(x):
    return x.mul_(2)
