"""TransData, Transpose with a tiling, and SoftmaxFlashV3 of the high-level API against torch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from tests.ascendc import kernels

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCE = Path(__file__).with_name("formats.cpp")


@pytest.mark.parametrize("fractal", [False, True])
@pytest.mark.parametrize("shape", [(2, 16, 2, 3, 5), (3, 20, 1, 2, 8)])
def test_formats_of_volumes(shape: tuple[int, ...], *, fractal: bool) -> None:
    n, c, d, h, w = shape
    c1, n1, row = -(-c // 16), -(-n // 16), -(-h * w // 16) * 16
    x = torch.arange(n * c * d * h * w).reshape(n, c, d, h * w).half() % 1999
    padded = torch.nn.functional.pad(x, (0, row - h * w), value=123)
    images = n1 * 16 if fractal else n
    whole = torch.zeros((images, c1 * 16, d, h * w), dtype=torch.float16)
    whole[:n, :c] = x
    split = whole.reshape(images, c1, 16, d, h * w)
    expected = split.permute(3, 1, 4, 0, 2) if fractal else split.permute(0, 3, 1, 4, 2)
    blocks = torch.zeros(expected.numel(), dtype=torch.float16)
    back = torch.zeros((n, c, d, row), dtype=torch.float16)
    sizes = (padded.numel(), blocks.numel(), int(fractal))
    kernels.run(SOURCE, "transform", [padded, blocks, back, *shape, *sizes])
    assert torch.equal(blocks, expected.flatten())
    assert torch.equal(back[..., : h * w], x)


def _nz(x: torch.Tensor) -> torch.Tensor:
    """Return matrices, the last two axes, in fractals of 16 x 16."""
    *outer, rows, columns = x.shape
    split = x.reshape(*outer, rows // 16, 16, columns // 16, 16)
    return split.movedim(-2, -4).contiguous()


@pytest.mark.parametrize(
    ("number", "source", "target"),
    [
        (1, _nz, lambda x: x.transpose(1, 2)),
        (2, _nz, lambda x: _nz(x.transpose(1, 2))),
        (3, lambda x: _nz(x.transpose(1, 2).flatten(2)), _nz),
        (4, lambda x: _nz(x.transpose(1, 2).flatten(2)), lambda x: x),
        (5, _nz, lambda x: x.transpose(1, 2).flatten(2)),
        (6, _nz, lambda x: _nz(x.transpose(1, 2).flatten(2))),
    ],
)
def test_axes_of_heads(
    number: int,
    source: Callable[[torch.Tensor], torch.Tensor],
    target: Callable[[torch.Tensor], torch.Tensor],
) -> None:
    shape = (2, 16, 32, 16) if number == 2 else (2, 3, 32, 32)
    x = (torch.arange(torch.Size(shape).numel()) % 2000).reshape(shape).half()
    given, wanted = source(x).contiguous(), target(x).contiguous()
    y = torch.zeros(x.numel(), dtype=torch.float16)
    kernels.run(SOURCE, "transpose", [given, y, number, 4, *shape])
    assert torch.equal(y, wanted.flatten())


def test_a_matrix_is_transposed() -> None:
    x = torch.arange(32 * 48).reshape(32, 48).half() % 1000
    y = torch.zeros((48, 32), dtype=torch.float16)
    kernels.run(SOURCE, "transpose", [x, y, 7, 2, 32, 48, 1, 1])
    assert torch.equal(y, x.T)


@pytest.mark.parametrize(
    ("number", "shape", "message"),
    [
        (8, (1, 1, 16, 16), "allowed: 1 to 7"),
        (1, (1, 1, 16, 8), "S and H/N in sixteens"),
        (2, (1, 3, 16, 16), "for type 2 also N"),
    ],
)
def test_what_transpose_does_not_do_is_refused(
    number: int, shape: tuple[int, ...], message: str
) -> None:
    x = torch.zeros(shape, dtype=torch.float16)
    with pytest.raises(kernels.KernelError, match=message):
        kernels.run(SOURCE, "transpose", [x, x.clone(), number, 4, *shape])


def _means(x: torch.Tensor) -> torch.Tensor:
    """Return the means of eight parts of rows, as the documentation's formula has them."""
    rows, columns = x.shape
    sums = x[:, :512].reshape(rows, 64, 8).sum(2) + x[:, 512:].reshape(rows, -1, 64).sum(1)
    return sums.reshape(rows, 8, 8).sum(2) / (columns // 8)


def test_parts_of_rows_are_softmax_of_the_whole() -> None:
    rows, columns, scale = 8, 1024, 0.9375 / (1 - 0.9375)
    generator = torch.Generator().manual_seed(0)
    first, second = torch.randn((2, rows, columns), generator=generator).half()
    mean, total, maximum = torch.zeros((3, rows, 8))
    factor = torch.zeros((rows, 16), dtype=torch.float16)
    before = None
    for loop, x in enumerate((first, second), 1):
        y = torch.zeros_like(x)
        operands = [x, mean, total, maximum, y, factor, rows, columns, loop]
        kernels.run(SOURCE, "flash", operands)
        parts = _means(x.float())
        global_mean = parts.mean(1, keepdim=True)
        shifted = x.float() - ((global_mean - parts) * scale).repeat_interleave(columns // 8, 1)
        if before is None:
            new_mean, new_maximum = global_mean, shifted.amax(1, keepdim=True)
            exponentials = (shifted - new_maximum).exp()
            new_total = exponentials.sum(1, keepdim=True)
        else:
            old_mean, old_total, old_maximum = before
            new_mean = (global_mean + old_mean * (loop - 1)) / loop
            shift, shift_before = (global_mean - new_mean) * scale, (old_mean - new_mean) * scale
            both = torch.cat((shift + shifted.amax(1, keepdim=True), shift_before + old_maximum), 1)
            new_maximum = both.amax(1, keepdim=True)
            exponentials = (shifted - (new_maximum - shift)).exp()
            old_factor = (old_maximum - new_maximum + shift_before).exp()
            new_total = old_factor * old_total + exponentials.sum(1, keepdim=True)
            torch.testing.assert_close(factor.float(), old_factor.expand(-1, 16), rtol=2e-3, atol=0)
        torch.testing.assert_close(y.float(), exponentials, rtol=2e-3, atol=1e-6)
        torch.testing.assert_close(mean, new_mean.expand(-1, 8), rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(maximum, new_maximum.expand(-1, 8), rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(total, new_total.expand(-1, 8), rtol=1e-3, atol=0)
        before = (mean[:, :1].clone(), total[:, :1].clone(), maximum[:, :1].clone())
