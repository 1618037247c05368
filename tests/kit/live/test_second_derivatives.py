"""Gradients that are differentiated again: right, or an error that names the saved output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import opwright.twin  # before torch, which loads torch_npu

# isort: split
import torch
import torch_npu  # noqa: F401
from torch import func

import opwright as ow
from opwright.kit.live.errors import SavedOutputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor

    Function = Callable[[Tensor], Tensor]

pytestmark = pytest.mark.twin
ops = ow.OperatorSet("opwright_second")


@ops.operator(
    "normed(Tensor x, Tensor weight) -> (Tensor y, Tensor rstd)",
    aclnn="aclnnSecondNormed(x, weight, y, rstd)",
    shapes={"x": "*batch, D", "weight": "D", "y": ow.like("x"), "rstd": "*batch, 1"},
)
def normed(x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    rstd = torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-3)
    return x * rstd * weight, rstd


@normed.backward(saves=("x", "weight", "rstd"), outputs=("y",))
def normed_backward(grad: Tensor, x: Tensor, weight: Tensor, rstd: Tensor) -> tuple[Tensor, Tensor]:
    normal, scaled = x * rstd, grad * weight
    grad_x = rstd * (scaled - normal * (scaled * normal).mean(-1, keepdim=True))
    return grad_x, (grad * normal).sum_to_size(weight.shape)


@ops.operator(
    "differentiable(Tensor x) -> (Tensor y, Tensor rstd)",
    aclnn="aclnnSecondDifferentiable(x, y, rstd)",
)
def differentiable(x: Tensor) -> tuple[Tensor, Tensor]:
    rstd = torch.rsqrt(x.square() + 1)
    return x * rstd, rstd


@differentiable.backward(saves=("x", "rstd"), outputs=("y", "rstd"))
def differentiable_backward(
    grad_y: Tensor | None, grad_rstd: Tensor | None, x: Tensor, rstd: Tensor
) -> Tensor:
    cubed = rstd * rstd * rstd
    given = [cubed * grad_y] if grad_y is not None else []
    given += [-x * cubed * grad_rstd] if grad_rstd is not None else []
    return sum(given[1:], given[0])


@ops.operator(
    "detached(Tensor x) -> (Tensor y, Tensor sign)",
    aclnn="aclnnSecondDetached(x, y, sign)",
    backward={"x": "2 * grad * x * sign.detach()"},
)
def detached(x: Tensor) -> tuple[Tensor, Tensor]:
    sign = torch.sign(x).detach()
    return x * x * sign, sign


@ops.operator(
    "masked(Tensor x) -> (Tensor y, Tensor mask)",
    aclnn="aclnnSecondMasked(x, y, mask)",
    dtypes={"mask": "bool"},
    backward={"x": "2 * grad * x * mask"},
)
def masked(x: Tensor) -> tuple[Tensor, Tensor]:
    mask = x > 0
    return x * x * mask, mask


@ops.operator(
    "grow_(Tensor(a!) x) -> Tensor(a!)",
    aclnn="aclnnSecondGrow(x)",
    backward={"x": "grad * result"},
)
def grow_(x: Tensor) -> Tensor:
    return x.exp_()


@ops.operator(
    "square_(Tensor(a!) x, Tensor y) -> Tensor(a!)",
    aclnn="aclnnSecondSquare(x, y)",
    backward={"x": "2 * grad * x * result / result.detach()", "y": "grad"},
)
def square_(x: Tensor, y: Tensor) -> Tensor:
    return x.square_().add_(y)


@ops.operator(
    "tracked(Tensor x, Tensor(a!) total) -> Tensor",
    aclnn="aclnnSecondTracked(x, total, out)",
    shapes={"out": ow.like("x")},
    backward={"x": "grad * (result1 + x.sum())"},
)
def tracked(x: Tensor, total: Tensor) -> Tensor:
    total.copy_(x.sum().expand_as(total))
    return total * x


@pytest.fixture(autouse=True, scope="module")
def loaded() -> Iterator[None]:
    with ops.load():
        yield


@pytest.fixture(params=["cpu", "npu"])
def x(request: pytest.FixtureRequest) -> Tensor:
    generator = torch.Generator().manual_seed(3)
    return torch.randn(2, 4, generator=generator).add(0.1).to(request.param).requires_grad_()


def call(name: str, *given: Tensor) -> Any:  # noqa: ANN401 - torch.ops has no types
    return getattr(torch.ops.opwright_second, name)(*given)


def norm(x: Tensor) -> Tensor:
    y: Tensor = call("normed", x, torch.linspace(0.5, 2, 4, device=x.device))[0]
    return y.square().sum()


def grown(x: Tensor) -> Tensor:
    y = x * 1
    call("grow_", y)
    return y.sum()


TWICE: dict[str, Callable[[Function], Function]] = {
    "grad of grad": lambda f: func.grad(lambda x: func.grad(f)(x).sum()),
    "jacrev of grad": lambda f: lambda x: func.jacrev(func.grad(f))(x).sum((0, 1)),
    "grad of vmap of grad": lambda f: func.grad(lambda x: func.vmap(func.grad(f))(x).sum()),
    "vmap of grad of grad": lambda f: func.vmap(func.grad(lambda x: func.grad(f)(x).sum())),
}


def again(function: Function, x: Tensor) -> Tensor:
    """Return the derivative of the sum of the gradient."""
    (first,) = torch.autograd.grad(function(x), x, create_graph=True)
    return torch.autograd.grad(first.sum(), x)[0]


def test_the_first_derivative_is_that_of_the_reference_with_and_without_a_graph(x: Tensor) -> None:
    weight = torch.linspace(0.5, 2, 4, device=x.device)
    (want,) = torch.autograd.grad(normed.reference(x, weight)[0].square().sum(), x)
    for create in (False, True):
        y, rstd = call("normed", x, weight)
        assert not rstd.requires_grad
        (got,) = torch.autograd.grad(y.square().sum() + rstd.sum(), x, create_graph=create)
        torch.testing.assert_close(got, want)
    for once in (func.grad(norm), func.vmap(func.grad(norm))):
        torch.testing.assert_close(once(x), want)
        compiled = torch.compile(once, backend="aot_eager", fullgraph=True)
        torch.testing.assert_close(compiled(x.detach()), want)


def test_differentiating_again_is_refused(x: Tensor) -> None:
    with pytest.raises(SavedOutputError, match=r"second::normed, output 'rstd'(.|\n)*detach\(\)"):
        again(norm, x)


@pytest.mark.parametrize("twice", TWICE)
def test_transformations_are_refused_alike(twice: str, x: Tensor) -> None:
    with pytest.raises(SavedOutputError, match="output 'rstd'"):
        TWICE[twice](norm)(x.detach())


def test_a_gradient_of_torch_func_is_refused_where_the_tensor_requires_grad(x: Tensor) -> None:
    once = func.grad(norm)(x)
    with pytest.raises(SavedOutputError, match="output 'rstd'"):
        torch.autograd.grad(once.sum(), x)


def test_the_derivative_by_the_given_gradient_does_not_need_the_output(x: Tensor) -> None:
    y, _ = call("normed", x, torch.ones(4, device=x.device))
    given = torch.ones_like(y, requires_grad=True)
    (first,) = torch.autograd.grad(y, x, given, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), given)
    assert second.shape == y.shape


SOUND: dict[str, tuple[Function, Function]] = {
    "differentiable output": (
        lambda x: call("differentiable", x)[0].sum(),
        lambda x: (x * torch.rsqrt(x.square() + 1)).sum(),
    ),
    "several outputs": (
        lambda x: sum(each.sum() for each in call("differentiable", x)),
        lambda x: ((x + 1) * torch.rsqrt(x.square() + 1)).sum(),
    ),
    "constant": (
        lambda x: call("detached", x)[0].sum(),
        lambda x: (x * x * torch.sign(x)).sum(),
    ),
    "mask": (lambda x: call("masked", x)[0].sum(), lambda x: (x * x * (x > 0)).sum()),
    "written argument": (grown, lambda x: x.exp().sum()),
}


@pytest.mark.parametrize("name", SOUND)
def test_second_derivatives_are_right(name: str, x: Tensor) -> None:
    function, formula = SOUND[name]
    want = again(formula, x)
    torch.testing.assert_close(again(function, x), want)
    for twice in TWICE.values():
        torch.testing.assert_close(twice(function)(x.detach()), want)
    compiled = torch.compile(TWICE["grad of grad"](function), backend="aot_eager")
    torch.testing.assert_close(compiled(x.detach()), want)


def test_a_written_argument_is_saved_as_it_was_and_as_it_is(x: Tensor) -> None:
    y = x * 1
    call("square_", y, torch.ones_like(x))
    (got,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(got, 2 * x.detach())


def test_a_written_argument_that_is_only_saved_is_refused(x: Tensor) -> None:
    total = torch.zeros_like(x)
    (first,) = torch.autograd.grad(call("tracked", x, total).sum(), x, create_graph=True)
    assert not total.requires_grad
    torch.testing.assert_close(first, 2 * x.sum().expand_as(x))
    with pytest.raises(SavedOutputError, match="output 'total'"):
        torch.autograd.grad(first.sum(), x)
