"""Functions of the high-level API that work element by element, against torch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from torch.nn import functional

from tests.ascendc import kernels

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCE = Path(__file__).with_name("math.cpp")
LIMIT = 0.25

# In the order of math.cpp: the function, and where its arguments come from.
_UNARY: list[tuple[Callable[[torch.Tensor], torch.Tensor], float, float]] = [
    (torch.acos, -1, 1),
    (torch.acosh, 1, 9),
    (torch.asin, -1, 1),
    (torch.asinh, -9, 9),
    (torch.atan, -9, 9),
    (torch.atanh, -0.99, 0.99),
    (torch.ceil, -9, 9),
    (torch.cos, -9, 9),
    (torch.cosh, -5, 5),
    (torch.digamma, 0.1, 9),
    (torch.erf, -4, 4),
    (torch.erfc, -3, 3),
    (torch.exp, -9, 9),
    (torch.floor, -9, 9),
    (torch.frac, -9, 9),
    (torch.lgamma, 0.1, 9),
    (torch.log, 0.01, 9),
    (torch.log2, 0.01, 9),
    (torch.log10, 0.01, 9),
    (torch.round, -9, 9),
    (torch.sigmoid, -9, 9),
    (torch.sign, -2, 2),
    (torch.sin, -9, 9),
    (torch.sinh, -5, 5),
    (torch.tan, -1.5, 1.5),
    (torch.tanh, -4, 4),
    (torch.trunc, -9, 9),
    (lambda x: functional.gelu(x, approximate="tanh"), -5, 5),
    (lambda x: x * torch.sigmoid(1.702 * x), -5, 5),
    (
        lambda x: (
            x
            * (
                torch.sign(x) * (0.5 - 0.1444 * ((0.7071 * x).abs().clamp(max=1.769) - 1.769) ** 2)
                + 0.5
            )
        ),
        -5,
        5,
    ),
    (functional.silu, -5, 5),
    (lambda x: x * torch.sigmoid(LIMIT * x), -5, 5),
    (lambda x: x.clamp(max=LIMIT), -2, 2),
    (lambda x: x.clamp(min=LIMIT), -2, 2),
    (lambda x: x**LIMIT, 0, 9),
    (lambda x: torch.pow(torch.tensor(LIMIT, dtype=x.dtype), x), -3, 3),
]
_BINARY: list[Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = [
    torch.pow,
    torch.fmod,
    lambda x, y: x * functional.gelu(y, approximate="tanh"),
    lambda x, y: x * functional.relu(y),
    lambda x, y: x * y * torch.sigmoid(1.5 * y),
]
COUNT = 300  # more than a step of the functions, and no multiple of it
_TOLERANCE = {torch.float32: 2e-6, torch.float16: 1e-3}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("which", range(len(_UNARY)))
def test_unary(which: int, dtype: torch.dtype) -> None:
    function, low, high = _UNARY[which]
    x = torch.rand(COUNT, generator=torch.Generator().manual_seed(which)) * (high - low) + low
    x = x.to(dtype)
    y = torch.zeros_like(x)
    kernels.run(SOURCE, "unary", [x, y, COUNT, which, int(dtype == torch.float16)])
    expected = function(x.double()).to(dtype)
    tolerance = _TOLERANCE[dtype]
    torch.testing.assert_close(y, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("which", range(len(_BINARY)))
def test_binary(which: int, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(which)
    a = (torch.rand(COUNT, generator=generator) * 4 + 0.1).to(dtype)
    b = (torch.rand(COUNT, generator=generator) * 4 - 2).to(dtype)
    y = torch.zeros_like(a)
    kernels.run(SOURCE, "binary", [a, b, y, COUNT, which, int(dtype == torch.float16), 1.5])
    expected = _BINARY[which](a.double(), b.double()).to(dtype)
    tolerance = _TOLERANCE[dtype]
    torch.testing.assert_close(y, expected, rtol=tolerance, atol=tolerance)


def test_exclusive_or() -> None:
    generator = torch.Generator().manual_seed(0)
    a, b = torch.randint(-32768, 32767, (2, 64), generator=generator).to(torch.int16)
    y = torch.zeros_like(a)
    kernels.run(SOURCE, "exclusive_or", [a, b, y, 64])
    assert torch.equal(y, a ^ b)
