"""Quantisation, reductions, sorting and transforms of the high-level API against torch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from tests.ascendc import kernels

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCE = Path(__file__).with_name("more.cpp")


def _random(*shape: int, seed: int = 0, low: float = -3, high: float = 3) -> torch.Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed)) * (high - low) + low


def test_quantise() -> None:
    count, channels = 256, 32
    x = _random(count).half()
    scale, offset = (
        _random(channels, seed=1, low=1, high=20).half(),
        _random(channels, seed=2).half(),
    )
    whole, by_channel = torch.zeros((2, count), dtype=torch.int8)
    kernels.run(SOURCE, "quantise", [x, scale, offset, whole, by_channel, count, channels])
    assert torch.equal(whole, (x * 2.0 + 0.9).round().to(torch.int8))
    repeated = count // channels
    expected = (x * scale.repeat(repeated) + offset.repeat(repeated)).round().clamp(-128, 127)
    assert torch.equal(by_channel, expected.to(torch.int8))


def test_dequantise() -> None:
    rows, columns = 6, 24
    x = torch.randint(-99, 99, (rows, columns), generator=torch.Generator().manual_seed(0)).int()
    scale = _random(columns)
    y = torch.zeros((rows, columns))
    kernels.run(SOURCE, "dequantise", [x, scale, y, rows, columns])
    assert torch.equal(y, x.float() * scale)


def test_antiquantise() -> None:
    k, n = 8, 64
    x = torch.randint(-99, 99, (k, n), generator=torch.Generator().manual_seed(0)).to(torch.int8)
    scale, offset = _random(n).half(), _random(n, seed=1).half()
    y = torch.zeros((k, n), dtype=torch.float16)
    kernels.run(SOURCE, "antiquantise", [x, scale, offset, y, k, n])
    assert torch.equal(y, (x.half() + offset) * scale)


_REDUCTIONS: list[Callable[[torch.Tensor], torch.Tensor]] = [
    lambda x: x.sum(1),
    lambda x: x.sum(0),
    lambda x: x.amax(1),
    lambda x: x.amin(0),
    lambda x: x.mean(1),
    lambda x: x.prod(0),
    lambda x: x.bool().any(1),
    lambda x: x.bool().all(0),
    lambda x: x[:, :-3].sum(1),
    lambda x: x[:, :-3].mean(1),
]


@pytest.mark.parametrize("which", range(len(_REDUCTIONS)))
def test_reduce(which: int) -> None:
    rows, columns = 5, 24
    x = _random(rows, columns)
    x[2] = 0
    expected = _REDUCTIONS[which](x).float()
    y = torch.zeros_like(expected)
    kernels.run(SOURCE, "reduce", [x, y, rows, columns, which])
    torch.testing.assert_close(y, expected)


def test_running_sums() -> None:
    rows, columns = 7, 16
    x = _random(rows, columns)
    along, down, last = (
        torch.zeros((rows, columns)),
        torch.zeros((rows, columns)),
        torch.zeros(columns),
    )
    kernels.run(SOURCE, "running_sums", [x, along, down, last, rows, columns])
    torch.testing.assert_close(along, x.cumsum(1))
    torch.testing.assert_close(down, x.cumsum(0))
    assert torch.equal(last, down[-1])


@pytest.mark.parametrize("largest", [True, False])
def test_topk(*, largest: bool) -> None:
    rows, columns, count, k = 3, 64, 50, 5
    x = _random(rows, columns).round(decimals=1)  # with equal ones
    values, indices = torch.zeros((rows, 8)), torch.zeros((rows, 8), dtype=torch.int32)
    kernels.run(SOURCE, "topk", [x, values, indices, rows, columns, count, k, largest])
    order = x[:, :count].sort(dim=1, descending=largest, stable=True)
    assert torch.equal(values[:, :k], order.values[:, :k])
    assert torch.equal(indices[:, :k].long(), order.indices[:, :k])


def test_sort() -> None:
    count = 96
    x = _random(count).half()
    index = torch.randperm(count, generator=torch.Generator().manual_seed(3)).int()
    values, indices = torch.zeros_like(x), torch.zeros_like(index)
    kernels.run(SOURCE, "sort", [x, index, values, indices, count])
    order = x.sort(descending=True, stable=True)
    assert torch.equal(values, order.values)
    assert torch.equal(indices, index[order.indices])


def test_shapes() -> None:
    rows = 4
    x = _random(rows, 8)
    broad, again, padded, cut, numbers = (
        torch.zeros((rows, 16)),
        torch.zeros((rows, 16)),
        torch.zeros((rows, 8)),
        torch.zeros((rows, 5)),
        torch.zeros(10),
    )
    kernels.run(SOURCE, "shapes", [x, broad, again, padded, cut, numbers, rows])
    assert torch.equal(broad, x.flatten()[:rows, None].expand(rows, 16))
    assert torch.equal(again, x.flatten()[:16].expand(rows, 16))
    assert torch.equal(padded, torch.nn.functional.pad(x[:, :6], (0, 2), value=5))
    assert torch.equal(cut, x[:, 1:6])
    assert torch.equal(numbers, 3 + 0.5 * torch.arange(10))


def test_masks() -> None:
    rows, columns = 2, 256
    x = _random(rows, columns)
    mask = torch.randint(0, 2, (rows, columns), generator=torch.Generator().manual_seed(0)).to(
        torch.uint8
    )
    bits = (mask.reshape(-1, 8) << torch.arange(8)).sum(1).to(torch.uint8)
    chosen, by_byte, by_bit = torch.zeros((3, rows, columns))
    kernels.run(SOURCE, "masks", [x, mask, bits, chosen, by_byte, by_bit, rows, columns])
    assert torch.equal(chosen, torch.where(mask.bool(), 1.5, x))
    assert torch.equal(by_byte, x * mask * 2)
    assert torch.equal(by_bit, by_byte)
