"""Uses the installed package my_ops: eager, autograd, meta, torch.compile, opcheck.

What each operator computes is written here a second time, in plain torch.

    python check_wheel.py DEVICE...    the devices to compare with the CPU's formulas
"""

from __future__ import annotations

import importlib.metadata
import sys
from typing import TYPE_CHECKING, Any

import my_ops  # type: ignore[import-not-found]  # the test builds and installs it
import torch
import torch_npu  # noqa: F401 - makes the device "npu"

if TYPE_CHECKING:
    from collections.abc import Callable

Tensors = tuple[torch.Tensor, ...]


def softcap(x: torch.Tensor, cap: float) -> Tensors:
    """Return the formula of the template functional."""
    return (cap * torch.tanh(x / cap),)


def ema(average: torch.Tensor, value: torch.Tensor, decay: float) -> Tensors:
    """Return the formula of the template in-place."""
    return (decay * average + (1 - decay) * value,)


def scaled_norm(x: torch.Tensor, weight: torch.Tensor, epsilon: float) -> Tensors:
    """Return the formula of the template multi-output."""
    rstd = 1 / torch.sqrt((x * x).mean(-1, keepdim=True) + epsilon)
    return x * rstd * weight, rstd.detach()


def attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None
) -> Tensors:
    """Return the formula of the template attention."""
    scores = query @ key.transpose(-1, -2) * 0.5
    if mask is not None:
        scores = torch.where(mask, scores, torch.tensor(-1e4))
    return torch.softmax(scores, -1) @ value, torch.logsumexp(scores, -1)


def run_ema(average: torch.Tensor, value: torch.Tensor) -> Tensors:
    """Call the in-place operator on a copy; what it returns is what it wrote."""
    copy = average.clone()
    returned = my_ops.ema_(copy, value, decay=0.75)
    assert returned is copy
    return (copy,)


def normal(*shape: int) -> torch.Tensor:
    """Return random values, always the same for a shape."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


MASK = torch.ones(3, 5, dtype=torch.bool).tril()
# Inputs; the operator of the package; the formula.
Check = tuple[Tensors, "Callable[..., Tensors]", "Callable[..., Tensors]"]
CHECKS: dict[str, Check] = {
    "softcap": (
        (normal(4, 8),),
        lambda x: (my_ops.softcap(x, cap=2.0),),
        lambda x: softcap(x, 2.0),
    ),
    "ema_": (
        (normal(4, 8), normal(8, 4).T),
        run_ema,
        lambda average, value: ema(average, value, 0.75),
    ),
    "scaled_norm": (
        (normal(2, 3, 8), normal(8)),
        lambda x, weight: my_ops.scaled_norm(x, weight, epsilon=1e-3),
        lambda x, weight: scaled_norm(x, weight, 1e-3),
    ),
    "attention": (
        (normal(2, 4, 3, 8), normal(2, 4, 5, 8), normal(2, 4, 5, 6)),
        lambda q, k, v: my_ops.attention(q, k, v, mask=MASK.to(q.device), scale=0.5),
        lambda q, k, v: attention(q, k, v, MASK),
    ),
    "attention without mask": (
        (normal(2, 4, 3, 8), normal(2, 4, 5, 8), normal(2, 4, 5, 6)),
        lambda q, k, v: my_ops.attention(q, k, v, scale=0.5),
        lambda q, k, v: attention(q, k, v, None),
    ),
}


def close(got: Tensors, want: Tensors) -> None:
    """Raise unless tensors agree."""
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        torch.testing.assert_close(one.detach().cpu(), other.detach(), rtol=1e-4, atol=1e-5)


def gradients(
    function: Callable[..., Tensors], inputs: Tensors, device: str
) -> tuple[Tensors, Tensors]:
    """Return results and gradients of a function on a device."""
    leaves = tuple(each.to(device).requires_grad_() for each in inputs)
    results = tuple(function(*leaves))
    floating = [each for each in results if each.requires_grad]
    seeds = [
        torch.linspace(-1, 1, each.numel(), device=device).view(each.shape) for each in floating
    ]
    return results, torch.autograd.grad(floating, leaves, seeds)


def check_device(name: str, device: str, *, compiled: bool) -> None:
    """Compare results and gradients, eager and perhaps compiled."""
    inputs, run, formula = CHECKS[name]
    want, want_gradients = gradients(formula, inputs, "cpu")
    placed = tuple(each.to(device) for each in inputs)
    close(tuple(run(*placed)), want)
    functions = [run]
    if compiled:
        functions.append(torch.compile(run, backend="aot_eager", fullgraph=True))
    for function in functions:
        got, got_gradients = gradients(function, inputs, device)
        close(got, want)
        close(got_gradients, want_gradients)


def check_meta(name: str) -> None:
    """Compare shapes, dtypes and strides of the results."""
    inputs, run, _ = CHECKS[name]
    on_meta, on_cpu = run(*(each.to("meta") for each in inputs)), run(*inputs)
    for one, other in zip(on_meta, on_cpu, strict=True):
        assert one.is_meta
        assert (one.shape, one.dtype, one.stride()) == (other.shape, other.dtype, other.stride())


def check_opcheck() -> None:
    """Run torch.library.opcheck on every operator, on the CPU."""
    q, k, v = (each.requires_grad_() for each in CHECKS["attention"][0])
    x, weight = normal(2, 3, 8).requires_grad_(), normal(8).requires_grad_()
    calls: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
        "softcap": ((normal(4, 8).requires_grad_(),), {"cap": 2.0}),
        "ema_": ((normal(4, 8), normal(4, 8)), {"decay": 0.75}),
        "scaled_norm": ((x, weight), {}),
        "attention": ((q, k, v), {"mask": MASK, "scale": 0.5}),
    }
    for name, (args, kwargs) in calls.items():
        torch.library.opcheck(getattr(torch.ops.my_ops, name).default, args, kwargs)


def main(devices: list[str]) -> None:
    """Check everything."""
    for name in CHECKS:
        for device in devices:
            check_device(name, device, compiled=device == devices[-1])
        check_meta(name)
    if "npu" in devices:
        check_opcheck()
    # A function of CANN itself, so it runs on the NPU without a reference.
    x, y = normal(2, 3), normal(3)
    close((my_ops.times(x.to("npu"), y.to("npu")),), (x * y,))
    version = importlib.metadata.version("my_ops")
    print("my_ops", version, "on", *devices, "opwright" if "opwright" in sys.modules else "alone")  # noqa: T201 - read by the test


main(sys.argv[1:])
