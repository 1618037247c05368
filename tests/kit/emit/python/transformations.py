"""Transformations of an installed package's operators, and of the plain operations they stand for.

The functions run in a process that has torch_npu, but no opwright.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from tests.kit.emit.python.users_of_packages import import_alone

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = Callable[..., Any]
    Transform = Callable[[Function], Function]

SQUARE_REFUSED = "the gradients of square_ cannot be computed"
func = torch.func


# ---- of what writes nothing


def cubes(function: Function, w: torch.Tensor) -> Function:
    return lambda x: function(x, w).pow(3).sum()


def squared_slopes(function: Function) -> Function:
    return lambda x: func.grad(function)(x).pow(2).sum()


def transform_what_centers(name: str, site: str) -> None:
    package = import_alone(name, site)

    def ours(x: torch.Tensor, w: torch.Tensor) -> Any:  # noqa: ANN401 - of the package
        return package.center(x, w, shift=w)[0]

    def plain(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return (x - x.mean(-1, keepdim=True)) * w + w

    torch.manual_seed(0)
    x, w = torch.rand(3, 2, 4), torch.rand(4)
    ways: dict[str, Function] = {
        "vmap": lambda g: torch.vmap(g, (0, None))(x, w),
        "vmap of an argument without free axes": lambda g: torch.vmap(g)(x, x[:, 0]),
        "vmap of vmap": lambda g: torch.vmap(torch.vmap(g, (0, None)), (0, None))(x[None], w),
        "grad of grad": lambda g: func.grad(squared_slopes(cubes(g, w)))(x),
        "vmap of grad": lambda g: torch.vmap(func.grad(cubes(g, w)))(x),
        "jacrev of jacrev": lambda g: func.jacrev(func.jacrev(cubes(g, w)))(x[0, :1]),
    }
    wrong = [
        way
        for way, transform in ways.items()
        if not torch.allclose(transform(ours), transform(plain), atol=1e-4)
    ]
    assert not wrong, wrong
    b = torch.rand(1, 4, requires_grad=True)
    slopes = [
        torch.autograd.grad(cubes(each, w)(b), b, create_graph=True)[0] for each in (ours, plain)
    ]
    got, want = (torch.autograd.grad(each.pow(2).sum(), b)[0] for each in slopes)
    torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-4)


def map_what_writes(name: str, site: str) -> None:
    package = import_alone(name, site)
    a = torch.rand(3, 2)
    want = a * 0.5
    torch.vmap(lambda a, b: package.ema_(a, b, decay=0.5))(a, torch.zeros(3, 2))
    torch.testing.assert_close(a, want, rtol=1e-5, atol=1e-8)


# ---- gradients of what writes; the plain operations write as well


def square(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x.copy_(x.clone() ** 2 * y)


def update(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x.mul_(0.5).add_(y)
    return x * y


def exchange(x: torch.Tensor, y: torch.Tensor) -> None:
    before = x.clone()
    x.copy_(y)
    y.copy_(before)


OPERATORS: dict[str, Function] = {"square_": square, "update_": update, "exchange_": exchange}


def sum_of_all(call: Function) -> Function:
    """Return a number of what is written and of what is returned."""

    def function(x: torch.Tensor, y: torch.Tensor) -> Any:  # noqa: ANN401 - of the package
        x, y = x * 1, y * 1
        result = call(x, y)
        parts = [x, y] if result is None else [x, y, result]
        return sum((i + 1) * t.pow(3).sum() for i, t in enumerate(parts))

    return function


def sum_of_the_result(call: Function) -> Function:
    return lambda x, y: call(x * 1, y * 1).pow(3).sum()


def leaves_of(*tensors: torch.Tensor) -> list[torch.Tensor]:
    return [each.clone().requires_grad_() for each in tensors]


def once(g: Function) -> Function:
    def run(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        leaves = leaves_of(x, y)
        return torch.cat(torch.autograd.grad(g(*leaves), leaves))

    return run


def twice(g: Function) -> Function:
    def run(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        leaves = leaves_of(x, y)
        slopes = torch.autograd.grad(g(*leaves), leaves, create_graph=True)
        total = torch.stack([slope.pow(2).sum() for slope in slopes]).sum()
        return torch.cat(torch.autograd.grad(total, leaves))

    return run


def of_both(transform: Function) -> Transform:
    return lambda g: lambda x, y: torch.cat(transform(g, argnums=(0, 1))(x, y))


def again(g: Function) -> Function:
    return lambda x, y: func.grad(g)(x, y).pow(2).sum()


WAYS: dict[str, Transform] = {
    "once": once,
    "twice": twice,
    "grad": of_both(func.grad),
    "jacrev": of_both(func.jacrev),
    "grad of grad": lambda g: of_both(func.grad)(again(g)),
    "vmap of grad": lambda g: lambda x, y: torch.vmap(func.grad(g))(x[None], y[None]),
}


def differentiate_what_writes(site: str) -> None:
    """Compare all gradients with those of plain operations; torch.func's of square_ may be refused.

    It writes over what its gradient needs.
    """
    package = import_alone("writes", site)
    torch.manual_seed(0)
    x, y = torch.rand(3) + 0.5, torch.rand(3) + 0.5
    cases = [
        (name, way, of)
        for name in OPERATORS
        for way in WAYS
        for of in ((sum_of_all, sum_of_the_result) if name != "exchange_" else (sum_of_all,))
    ]
    assert len(cases) == 30
    wrong = []
    for name, way, of in cases:
        want = WAYS[way](of(OPERATORS[name]))(x, y)
        try:
            got = WAYS[way](of(getattr(package, name)))(x, y)
        except RuntimeError as error:
            may_refuse = name == "square_" and way not in {"once", "twice"}
            if not (may_refuse and str(error).startswith(SQUARE_REFUSED)):
                wrong.append((name, way, of.__name__, error))
        else:
            if not torch.allclose(got, want, rtol=1e-3):
                wrong.append((name, way, of.__name__, got))
    assert not wrong, wrong


def map_over_ranks(site: str) -> None:
    package = import_alone("writes", site)
    b, v = torch.rand(3, 3, 4), torch.rand(3, 4)
    got = torch.vmap(package.plus)(b, v)
    torch.testing.assert_close(got, b + v[:, None], rtol=1e-5, atol=1e-8)


def write_to_a_view(site: str) -> None:
    """Write to a part of what needs a gradient: it is right, or refused."""
    package = import_alone("writes", site)
    y = torch.rand(3) + 0.5
    view, other = (torch.rand(4, requires_grad=True) * 1)[:3], y.clone()
    refused = ""
    try:
        package.exchange_(view, other)
    except RuntimeError as error:
        refused = str(error)
    if refused:
        assert "a view that needs a gradient" in refused, refused
    else:
        torch.testing.assert_close(view, y, rtol=1e-5, atol=1e-8)
