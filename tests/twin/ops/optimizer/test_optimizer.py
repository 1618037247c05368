"""Optimizer steps and gradient scaling: native/opapi/ops/optimizer/optimizer.cpp."""

from __future__ import annotations

import ctypes
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import torch
import torch_npu

from tests.twin.aclnn_calls import call
from tests.twin.ops.compare import agree, copied
from tests.twin.ops.samples import some

if TYPE_CHECKING:
    from collections.abc import Callable

single = ctypes.c_float

OPTIMIZERS: dict[str, tuple[type[torch.optim.Optimizer], dict[str, Any]]] = {
    "sgd": (torch.optim.SGD, {"lr": 0.1}),
    "sgd_momentum": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}),
    "sgd_nesterov": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    "sgd_maximize": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "maximize": True}),
    "adam": (torch.optim.Adam, {"lr": 0.1}),
    "adam_amsgrad": (torch.optim.Adam, {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1}),
    "adamw": (torch.optim.AdamW, {"lr": 0.1}),
    "adamw_amsgrad": (torch.optim.AdamW, {"lr": 0.1, "amsgrad": True}),
    "adamw_maximize": (torch.optim.AdamW, {"lr": 0.1, "maximize": True}),
    "adamax": (torch.optim.Adamax, {"lr": 0.1}),
    "nadam": (torch.optim.NAdam, {"lr": 0.1}),
    "radam": (torch.optim.RAdam, {"lr": 0.1}),
    "rmsprop": (torch.optim.RMSprop, {"lr": 0.1, "momentum": 0.5, "centered": True}),
    "adagrad": (torch.optim.Adagrad, {"lr": 0.1}),
    "adadelta": (torch.optim.Adadelta, {"lr": 0.1}),
}
# Not SGD without momentum, which torch_npu refuses.
FUSED = (
    "adam",
    "adam_amsgrad",
    "sgd_momentum",
    "sgd_nesterov",
    "sgd_maximize",
    "adamw",
    "adamw_amsgrad",
    "adamw_maximize",
)


def train(name: str, device: str, **implementation: bool) -> list[torch.Tensor]:
    """Fit y = w2 relu(w1 x) for a few steps; one parameter is not contiguous."""
    cls, options = OPTIMIZERS[name]
    x, y = some((16, 3), torch.float32).to(device), some((16, 2), torch.float32).to(device)
    w1 = copied(some((3, 5), torch.float32).t(), device).requires_grad_()
    w2 = (some((5, 2), torch.float32) / 4).to(device).requires_grad_()
    chosen: dict[str, Any] = {**options, **implementation}
    optimizer = cls([w1, w2], **chosen)
    for _ in range(5):
        optimizer.zero_grad()
        torch.autograd.backward(((x @ w1.t()).relu() @ w2 - y).square().mean())
        optimizer.step()
    return [w1.detach(), w2.detach()]


@pytest.mark.parametrize("foreach", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training(name: str, foreach: bool) -> None:  # noqa: FBT001 - a parameter of the test
    agree(train(name, "npu", foreach=foreach), train(name, "cpu", foreach=foreach))


@pytest.mark.parametrize("name", FUSED)
def test_training_fused(name: str) -> None:
    agree(train(name, "npu", fused=True), train(name, "cpu"))


SCALERS = [partial(torch.amp.GradScaler, "npu"), torch_npu.npu.amp.GradScaler]


@pytest.mark.parametrize("factory", SCALERS, ids=["torch", "torch_npu"])
def test_grad_scaler_skips_steps_with_infinite_gradients(
    factory: Callable[..., torch.amp.GradScaler],
) -> None:
    scaler = factory(init_scale=8.0, growth_interval=2)
    w = torch.ones(3, device="npu", requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=1.0)
    scales, values = [], []
    for factor in (1.0, float("inf"), 1.0, 1.0):
        optimizer.zero_grad()
        torch.autograd.backward(scaler.scale((w * factor).sum()))
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
        values.append(w[0].item())
    assert scales == [8.0, 4.0, 4.0, 8.0]
    assert values == [0.0, 0.0, -1.0, -2.0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_unscale_checks_and_multiplies(dtype: torch.dtype) -> None:
    for bad, found in ((1.0, 0.0), (float("inf"), 1.0), (float("nan"), 1.0)):
        grads = [
            some((3, 4), dtype),
            torch.tensor([1.0, bad]).to(dtype),
            torch.empty(0, dtype=dtype),
        ]
        on_npu = [copied(g, "npu") for g in grads]
        found_inf = torch.zeros(1, device="npu")
        scale = torch.tensor([0.5], device="npu")
        torch._amp_foreach_non_finite_check_and_unscale_(on_npu, found_inf, scale)
        assert found_inf.item() == found
        agree(on_npu, [g * 0.5 for g in grads])


# The functions below are called by torch_npu on other chips only.


def state() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    var, m, v, grad = (some((4, 3), torch.float32, i, i + 3) for i in range(4))
    return var, m, v, grad / 3


def one(value: float) -> torch.Tensor:
    return torch.tensor([value], device="npu")


@pytest.mark.parametrize("nesterov", [False, True])
def test_apply_adam(nesterov: bool) -> None:  # noqa: FBT001 - a parameter of the test
    var, m, v, grad = state()
    beta1, beta2, lr, eps = 0.9, 0.99, 0.1, 1e-3
    device = [t.to("npu") for t in (var, m, v)]
    powers = one(beta1**3), one(beta2**3)
    rates = one(lr), one(beta1), one(beta2), one(eps)
    call("aclnnApplyAdam", *device, *powers, *rates, grad.to("npu"), False, nesterov)  # noqa: FBT003
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * grad**2
    rate = lr * (1 - beta2**3) ** 0.5 / (1 - beta1**3)
    step = beta1 * m + (1 - beta1) * grad if nesterov else m
    agree(device, [var - rate * step / (v.sqrt() + eps), m, v])


@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("maximize", [False, True])
def test_apply_adamw(amsgrad: bool, maximize: bool) -> None:  # noqa: FBT001 - parameters of the test
    """One step equals one step of torch's AdamW that has made three before."""
    var, m, v, grad = state()
    beta1, beta2, lr, eps, decay = 0.9, 0.99, 0.1, 1e-3, 0.05
    maximum = v + 0.5
    device = [t.to("npu") for t in (var, m, v)]
    numbers = [one(x) for x in (beta1**3, beta2**3, lr, decay, beta1, beta2, eps)]
    highest = maximum.to("npu") if amsgrad else None
    call("aclnnApplyAdamW", *device, *numbers, grad.to("npu"), highest, amsgrad, maximize)
    host = [t.clone() for t in (var, m, v)]
    torch._fused_adamw_(
        [host[0]],
        [grad],
        [host[1]],
        [host[2]],
        [maximum] if amsgrad else [],
        [torch.tensor(4.0)],
        lr=lr,
        beta1=beta1,
        beta2=beta2,
        weight_decay=decay,
        eps=eps,
        amsgrad=amsgrad,
        maximize=maximize,
    )
    agree(device, host)


def test_fused_adam() -> None:
    var, m, v, grad = state()
    lr, beta1, beta2, decay, eps = numbers = (0.1, 0.9, 0.99, 0.05, 1e-3)
    device = [[t.to("npu")] for t in (var, grad, m, v)]
    steps = [torch.tensor(4.0, device="npu")]
    call("aclnnFusedAdam", *device, None, steps, None, None, *numbers, False, False)  # noqa: FBT003
    torch._fused_adam_(
        [var],
        [grad],
        [m],
        [v],
        [],
        [torch.tensor(4.0)],
        lr=lr,
        beta1=beta1,
        beta2=beta2,
        weight_decay=decay,
        eps=eps,
        amsgrad=False,
        maximize=False,
    )
    agree([t[0] for t in device], [var, grad, m, v])


def test_fused_sgd_with_a_gradient_scale() -> None:
    var, momentum, _, grad = state()
    device = [[t.to("npu")] for t in (var, grad, momentum)]
    numbers = (0.1, 0.9, 0.5, 0.2)  # weight decay, momentum, learning rate, dampening
    flags = (False, False, False)
    call("aclnnFusedSgd", *device, one(2.0), *map(single, numbers), *flags)
    grad = grad / 2
    momentum = 0.9 * momentum + 0.8 * (grad + 0.1 * var)
    agree([t[0] for t in device], [var - 0.5 * momentum, grad, momentum])
