"""Half precision computed in float32 and rounded once, where ATen's CPU rounds each step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from torch.nn import functional

from tests.twin.ops.compare import HALVES
from tests.twin.ops.samples import some

if TYPE_CHECKING:
    from collections.abc import Callable

# The largest relative distance of two neighbours.
SPACING = {torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}


def gradient(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Return the function whose result is the first argument's gradient of `function`."""

    def differentiate(x: torch.Tensor, *others: torch.Tensor) -> torch.Tensor:
        x = x.detach().requires_grad_()
        result = function(x, *others)
        # Exact in each dtype.
        weights = (torch.arange(result.numel()) % 17 - 8).div(8).reshape(result.shape)
        return torch.autograd.grad(result, x, weights.to(x.device, x.dtype))[0]

    return differentiate


def raise_each(x: torch.Tensor) -> torch.Tensor:
    powers = [3.0, -3.0, 7.1, 2.0]
    return torch.stack(torch._foreach_pow([x] * len(powers), powers))  # noqa: SLF001


def probability(x: torch.Tensor) -> torch.Tensor:
    return x.frac().abs()


CASES: dict[str, tuple[Callable[..., torch.Tensor], tuple[tuple[int, ...], ...]]] = {
    "add": (lambda x, y: torch.add(x, y, alpha=-3.125), ((40, 7), (40, 7))),
    "addbmm": (torch.addbmm, ((5, 6), (9, 5, 8), (9, 8, 6))),
    "addr": (lambda x, a, b: torch.addr(x, a, b, beta=0.6, alpha=0.2), ((7, 9), (7,), (9,))),
    "bce": (
        lambda x, y: functional.binary_cross_entropy(
            probability(x), probability(y), reduction="none"
        ),
        ((50,), (50,)),
    ),
    "conv_transpose2d": (
        lambda x, w: functional.conv_transpose2d(x, w, stride=2, padding=1, dilation=2),
        ((2, 4, 9, 9), (4, 4, 5, 5)),
    ),
    "linspace": (
        lambda x: torch.linspace(1, 50, 50, dtype=x.dtype, device=x.device) * torch.ones_like(x),
        ((50,),),
    ),
    "log_softmax": (lambda x: functional.log_softmax(x, dim=1), ((20, 50),)),
    "logit": (lambda x: torch.logit(probability(x)), ((200,),)),
    "mse_loss": (lambda x, y: functional.mse_loss(x, y, reduction="none"), ((90,), (90,))),
    "pool3d": (
        lambda x: functional.adaptive_avg_pool3d(x, (2, 3, 2)),
        ((2, 3, 9, 10, 7),),
    ),
    "powers": (raise_each, ((30, 7),)),
    "gradient of avg_pool2d": (
        gradient(lambda x: functional.avg_pool2d(x, 5, 1, 2)),
        ((2, 3, 12, 12),),
    ),
    "gradient of avg_pool3d": (
        gradient(lambda x: functional.avg_pool3d(x, 3, 1, 1)),
        ((2, 3, 8, 7, 6),),
    ),
    "gradient of embedding": (
        gradient(lambda w: functional.embedding(torch.arange(90, device=w.device) % 4, w)),
        ((4, 16),),
    ),
    "gradient of fold": (
        gradient(lambda x: functional.unfold(x, 5, padding=2)),
        ((2, 3, 9, 9),),
    ),
    "gradient of mse_loss": (gradient(functional.mse_loss), ((90,), (90,))),
    "gradient of pool3d": (
        gradient(lambda x: functional.adaptive_avg_pool3d(x, (5, 7, 5))),
        ((2, 3, 8, 8, 6),),
    ),
    "gradient of replication": (
        gradient(lambda x: functional.pad(x, (5, 5, 5, 5), mode="replicate")),
        ((2, 3, 6, 6),),
    ),
    "gradient of windows": (gradient(lambda x: x.unfold(0, 9, 1)), ((30, 3),)),
}


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_half_precision_is_rounded_once(name: str, dtype: torch.dtype) -> None:
    function, shapes = CASES[name]
    arguments = [some(shape, dtype) for shape in shapes]
    expected = function(*(argument.float() for argument in arguments)).to(dtype).float()
    actual = function(*(argument.to("npu") for argument in arguments))
    assert actual.dtype == dtype
    # A small sum of larger numbers is compared by these.
    cancelled = SPACING[dtype] / 64 * expected[expected.isfinite()].abs().max().item()
    torch.testing.assert_close(
        actual.cpu().float(), expected, rtol=SPACING[dtype], atol=cancelled, equal_nan=True
    )
