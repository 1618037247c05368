"""The derivatives that packages of the stable ABI register in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import opwright.twin  # noqa: F401 - before torch, which loads torch_npu

# isort: split
import torch
from torch import Tensor, func

from opwright.kit.live.registration import end_library
from opwright.kit.shipped.autograd import Backward, Differentiation
from opwright.kit.shipped.runtime import Registrar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.twin
NAMESPACE = "opwright_shipped_autograd"
REFUSED = (
    f"{NAMESPACE}::normed, output 'rstd': a gradient that depends on a saved output cannot be "
    "differentiated again; make it a differentiable output"
)


def normed(x: Tensor) -> tuple[Tensor, Tensor]:
    rstd = torch.rsqrt(x.square() + 1)
    return x * rstd, rstd


def normed_backward(grad: Tensor, rstd: Tensor) -> Tensor:
    return grad * rstd * rstd * rstd


def exp_(x: Tensor) -> Tensor:
    return x.exp_()


def exp_backward(grad: Tensor, written: Tensor) -> Tensor:
    return grad * written


@pytest.fixture(autouse=True, scope="module")
def registered() -> Iterator[None]:
    library: Any = torch.library.Library(NAMESPACE, "DEF")  # type: ignore[no-untyped-call]
    library.define("normed(Tensor x) -> (Tensor y, Tensor rstd)")
    library.define("normed_backward(Tensor grad, Tensor rstd) -> Tensor")
    library.define("exp_(Tensor(a!) x) -> Tensor(a!)")
    library.define("exp_functional(Tensor x) -> Tensor")
    library.define("exp_backward(Tensor grad, Tensor written) -> Tensor")
    registrar = Registrar(NAMESPACE)
    registrar.reference("normed", normed)
    registrar.composite("normed_backward", normed_backward)
    registrar.reference("exp_", exp_)
    registrar.functional_twin("exp_functional", of="exp_")
    registrar.composite("exp_backward", exp_backward)
    registrar.meta("normed", lambda x: (torch.empty_like(x), torch.empty_like(x)))
    registrar.meta("exp_", lambda x: x)
    registrar.meta("exp_functional", torch.empty_like)
    in_front = Differentiation(registrar)
    saved = (("gradient", "y"), ("output", "rstd"))
    backward = Backward(operator="normed_backward", arguments=saved, inputs=("x",), outputs=("y",))
    in_front.through_node("normed", ("y", "rstd"), backward)
    in_front.through_twin("exp_", "exp_functional", inputs=("x",))
    in_front.count_versions("exp_")
    backward = Backward(
        operator="exp_backward",
        arguments=(("gradient", "x"), ("output", "x")),
        inputs=("x",),
        outputs=("x",),
    )
    in_front.through_node("exp_functional", ("x",), backward)
    yield
    end_library(registrar.library)
    end_library(library)


def norm(x: Tensor) -> Tensor:
    y: Tensor = torch.ops.opwright_shipped_autograd.normed(x)[0]
    return y.sum()


def grown(x: Tensor) -> Tensor:
    y = x * 1
    torch.ops.opwright_shipped_autograd.exp_(y)
    return y.sum()


def again(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    leaf = x.clone().requires_grad_()
    (first,) = torch.autograd.grad(function(leaf), leaf, create_graph=True)
    return torch.autograd.grad(first.sum(), leaf)[0]


TWICE: dict[str, Callable[[Callable[[Tensor], Tensor], Tensor], Tensor]] = {
    "eager": again,
    "grad": lambda f, x: func.grad(lambda x: func.grad(f)(x).sum())(x),
    "jacrev": lambda f, x: func.jacrev(func.grad(f))(x).sum(0),
}


def test_a_first_derivative_may_have_a_graph() -> None:
    x = torch.randn(5, requires_grad=True)
    y, rstd = torch.ops.opwright_shipped_autograd.normed(x)
    assert not rstd.requires_grad
    (first,) = torch.autograd.grad(y.sum() + rstd.sum(), x, create_graph=True)
    torch.testing.assert_close(first, rstd**3)
    torch.testing.assert_close(func.grad(norm)(x), rstd**3)


class Ending(torch.autograd.Function):
    """Ends the flow of gradients: none, which is not zeros."""

    @staticmethod
    def forward(_: object, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(_: object, *__: object) -> None:
        return None


def test_without_a_gradient_of_the_outputs_there_is_none() -> None:
    x = torch.randn(5, requires_grad=True)
    ended: Any = Ending.apply
    ended(torch.ops.opwright_shipped_autograd.normed(x)[0]).sum().backward()
    assert x.grad is None


@pytest.mark.parametrize("twice", TWICE)
def test_a_saved_output_without_gradient_is_refused(twice: str) -> None:
    with pytest.raises(RuntimeError, match=REFUSED):
        TWICE[twice](norm, torch.randn(5))


def test_a_gradient_of_torch_func_is_refused_where_the_tensor_requires_grad() -> None:
    x = torch.randn(5, requires_grad=True)
    with pytest.raises(RuntimeError, match=REFUSED):
        torch.autograd.grad(func.grad(norm)(x).sum(), x)


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # vmap without a rule of ours
@pytest.mark.parametrize("twice", TWICE)
def test_what_is_written_and_saved_has_right_second_derivatives(twice: str) -> None:
    x = torch.randn(5)
    torch.testing.assert_close(TWICE[twice](grown, x), x.exp())


# torch itself uses what it deprecates, when the first dual tensor is made.
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
@pytest.mark.parametrize("transformation", [func.hessian, func.jacfwd])
def test_a_forward_gradient_is_refused_alone_and_beneath_another_one(
    transformation: Callable[[Callable[[Tensor], Tensor]], Callable[[Tensor], Tensor]],
) -> None:
    with pytest.raises(NotImplementedError, match=f"{NAMESPACE}::exp_.* no forward-mode"):
        transformation(grown)(torch.randn(3))


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # vmap without a rule of ours
def test_a_hessian_in_reverse_mode_is_right() -> None:
    x = torch.randn(3)
    torch.testing.assert_close(func.jacrev(func.jacrev(grown))(x), torch.diag(x.exp()))
