"""SoftMax and normalization of the high-level API against torch."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch.nn import functional

from tests.ascendc import kernels

SOURCE = Path(__file__).with_name("rows.cpp")
EPSILON = 1e-3
_TOLERANCE = {torch.float32: 2e-6, torch.float16: 2e-3}


def _random(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return (torch.rand(shape, generator=torch.Generator().manual_seed(seed)) * 6 - 3).to(dtype)


def _close(result: torch.Tensor, expected: torch.Tensor) -> None:
    tolerance = _TOLERANCE[result.dtype]
    torch.testing.assert_close(result, expected.to(result.dtype), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("name", "dtype", "sums"),
    [
        ("softmax_float", torch.float32, torch.float32),
        ("softmax_half", torch.float16, torch.float16),
        ("softmax_mixed", torch.float16, torch.float32),
    ],
)
@pytest.mark.parametrize("columns", [48, 41])
def test_softmax(name: str, dtype: torch.dtype, sums: torch.dtype, columns: int) -> None:
    rows, stride = 9, 48
    x = _random(rows, stride, dtype=dtype)
    y = torch.full_like(x, 7)
    block = 32 // sums.itemsize
    total, largest = torch.zeros((2, rows, block), dtype=sums)
    kernels.run(SOURCE, name, [x, y, total, largest, rows, stride, columns])
    valid = x[:, :columns].double()
    _close(y[:, :columns], valid.softmax(-1))
    assert (y[:, columns:] == 7).all()  # what is behind the row stays
    peak = valid.amax(-1, keepdim=True)
    _close(largest, peak.expand(rows, block))
    _close(total, (valid - peak).exp().sum(-1, keepdim=True).expand(rows, block))


def test_softmax_in_parts() -> None:
    rows, columns = 5, 32
    first, second = _random(rows, columns), _random(rows, columns, seed=1) + 1
    y0, y1 = torch.zeros((2, rows, columns))
    total, largest, factor = torch.zeros((3, rows, 8))
    kernels.run(SOURCE, "flash", [first, second, y0, y1, total, largest, factor, rows, columns])
    whole = torch.cat([y0 * factor[:, :1], y1], 1) / total[:, :1]
    _close(whole, torch.cat([first, second], 1).double().softmax(-1))
    assert torch.equal(largest[:, 0], torch.cat([first, second], 1).amax(-1))


def test_softmax_backward() -> None:
    rows, columns = 5, 40
    x = _random(rows, columns).requires_grad_()
    y = x.softmax(-1)
    grad = _random(rows, columns, seed=1)
    torch.autograd.backward(y, grad)
    dx = torch.zeros((rows, columns))
    kernels.run(SOURCE, "softmax_backward", [grad, y.detach(), dx, rows, columns])
    assert x.grad is not None
    _close(dx, x.grad)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_layer_norm(dtype: torch.dtype) -> None:
    rows, columns = 6, 64
    x, gamma, beta = (
        _random(*s, seed=i, dtype=dtype)
        for i, s in enumerate([(rows, columns), (columns,), (columns,)])
    )
    y = torch.zeros_like(x)
    mean, variance = torch.zeros((2, rows), dtype=dtype)
    name = f"layer_norm_{'half' if dtype == torch.float16 else 'float'}"
    kernels.run(SOURCE, name, [x, gamma, beta, y, mean, variance, rows, columns, EPSILON])
    wide = x.double()
    _close(y, functional.layer_norm(wide, (columns,), gamma.double(), beta.double(), EPSILON))
    _close(mean, wide.mean(-1))
    _close(variance, wide.var(-1, unbiased=False))


def test_layer_norm_backward() -> None:
    rows, columns = 6, 48
    x = _random(rows, columns).requires_grad_()
    gamma = _random(columns, seed=1).requires_grad_()
    beta = _random(columns, seed=2).requires_grad_()
    dy = _random(rows, columns, seed=3)
    torch.autograd.backward(functional.layer_norm(x, (columns,), gamma, beta, EPSILON), dy)
    data = x.detach()
    dx = torch.zeros_like(data)
    d_gamma, d_beta = torch.zeros((2, columns))
    kernels.run(
        SOURCE,
        "layer_norm_backward",
        [
            dy,
            data,
            data.var(-1, unbiased=False),
            data.mean(-1),
            gamma.detach(),
            dx,
            d_gamma,
            d_beta,
            rows,
            columns,
            EPSILON,
        ],
    )
    for result, expected in [(dx, x.grad), (d_gamma, gamma.grad), (d_beta, beta.grad)]:
        torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_rms_norm(dtype: torch.dtype) -> None:
    rows, columns = 7, 96
    x, gamma = _random(rows, columns, dtype=dtype), _random(columns, seed=1, dtype=dtype)
    y = torch.zeros_like(x)
    name = f"rms_norm_{'half' if dtype == torch.float16 else 'float'}"
    kernels.run(SOURCE, name, [x, gamma, y, rows, columns, EPSILON])
    _close(y, functional.rms_norm(x.double(), (columns,), gamma.double(), EPSILON))


def test_group_norm() -> None:
    n, channels, pixels, groups = 2, 8, 24, 4
    x, gamma, beta = (
        _random(n, channels, pixels),
        _random(channels, seed=1),
        _random(channels, seed=2),
    )
    y = torch.zeros_like(x)
    kernels.run(SOURCE, "group_norm", [x, gamma, beta, y, n, channels, pixels, groups, EPSILON])
    _close(y, functional.group_norm(x.double(), groups, gamma.double(), beta.double(), EPSILON))


def test_batch_norm() -> None:
    batches, columns = 8, 32
    x, gamma, beta = _random(batches, columns), _random(batches, seed=1), _random(batches, seed=2)
    y = torch.zeros_like(x)
    kernels.run(SOURCE, "batch_norm", [x, gamma, beta, y, batches, columns, EPSILON])
    wide = x.double()
    normal = (wide - wide.mean(0)) / (wide.var(0, unbiased=False) + EPSILON).sqrt()
    _close(y, normal * gamma[:, None] + beta[:, None])
