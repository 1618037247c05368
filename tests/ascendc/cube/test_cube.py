"""The cube instructions against torch."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from tests.ascendc import kernels
from tests.ascendc.advanced.tilings import to_fractals

SOURCE = Path(__file__).with_name("cube.cpp")
CUBE = 1  # KernelKind::kCube


def _run(name: str, arguments: list[object]) -> None:
    kernels.run(SOURCE, name, arguments, kind=CUBE)


def _random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed)) - 0.5


def test_ways_out_of_the_results() -> None:
    m, n, k, used = 48, 32, 64, 40
    a, b = _random(m, k).half(), _random(k, n, seed=1).half()
    rows, halves = torch.zeros((m, n)), torch.zeros((m, n), dtype=torch.float16)
    fractals, quantised = torch.zeros((n // 16, m, 16)), torch.zeros((m, n), dtype=torch.int8)
    scale = int(torch.tensor([8.0]).view(torch.int32)) | 1 << 46
    _run(
        "ways_out",
        [to_fractals(a), to_fractals(b), rows, halves, fractals, quantised, m, n, k, used, scale],
    )
    expected = a.float() @ b.float()
    torch.testing.assert_close(rows[:used], expected[:used])
    assert not rows[used:].any()
    torch.testing.assert_close(halves[:used], (2 * expected).half()[:used])
    assert torch.equal(fractals.permute(1, 0, 2).reshape(m, n), rows)
    assert torch.equal(quantised[:used], (rows * 8).relu().round().to(torch.int8)[:used])


@pytest.mark.parametrize("checks", [False, True])
def test_copies_out_of_the_results(*, checks: bool) -> None:
    m, n, k = 48, 32, 64
    a, b = _random(m, k).half(), _random(k, n, seed=1).half()
    rows, quantised = torch.zeros((m, n)), torch.zeros((m, n), dtype=torch.int8)
    halves = torch.zeros((n // 16, m, 16), dtype=torch.float16)
    scales = torch.arange(n) * 0.5 + 1
    words = scales.view(torch.int32).to(torch.int64) | 1 << 46
    arguments = [to_fractals(a), to_fractals(b), words, rows, quantised, halves, m, n, k]
    kernels.run(SOURCE, "copied_out", arguments, kind=CUBE, checks=checks)
    expected = a.float() @ b.float()
    torch.testing.assert_close(rows, expected)
    assert torch.equal(quantised, (rows.relu() * scales).round().to(torch.int8))
    assert torch.equal(halves.permute(1, 0, 2).reshape(m, n), rows.half())


def test_rows_that_a_matrix_does_not_have_may_be_unwritten() -> None:
    """L0A holds whole fractals; what Mmad does not use of them is no part of its result."""
    m, n, k = 36, 64, 64
    a, b = _random(m, k).half(), _random(k, n, seed=1).half()
    c = torch.zeros((m, n))
    kernels.run(SOURCE, "rows_to_spare", [a, b, c, m, n, k], kind=CUBE, checks=True)
    torch.testing.assert_close(c, a.float() @ b.float())


def test_bytes_turned_in_squares() -> None:
    m, n, k = 32, 64, 96
    generator = torch.Generator().manual_seed(0)
    a = torch.randint(-128, 127, (m, k), generator=generator).to(torch.int8)
    b = torch.randint(-128, 127, (k, n), generator=generator).to(torch.int8)
    c = torch.zeros((m, n), dtype=torch.int32)
    _run("bytes", [to_fractals(a), to_fractals(b), c, m, n, k])
    assert torch.equal(c, a.int() @ b.int())


def test_floats_turned_by_loading_an_image() -> None:
    m, n, k = 32, 16, 48
    a, b = _random(k, m), _random(k, n, seed=1)
    c = torch.zeros((m, n))
    _run("turned_floats", [to_fractals(a), to_fractals(b), c, m, n, k])
    torch.testing.assert_close(c, a.t() @ b)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("channels", [16, 32])
def test_convolution(stride: int, channels: int) -> None:
    height, width, filters = 7, 6, 16
    image, weight = (
        _random(1, channels, height, width).half(),
        _random(filters, channels, 3, 3, seed=1).half(),
    )
    expected = torch.nn.functional.conv2d(image.float(), weight.float(), stride=stride, padding=1)
    pixels = math.prod(expected.shape[2:])
    # K runs over C1, the filter's rows and columns, C0; L0B holds fractals [k1, n1, n0, k0].
    k = weight.reshape(filters, channels // 16, 16, 9).permute(1, 3, 0, 2)
    by_blocks = image.reshape(channels // 16, 16, height, width).permute(0, 2, 3, 1)
    c = torch.zeros((pixels, filters))
    _run(
        "convolution",
        [
            by_blocks.contiguous(),
            k.contiguous(),
            c,
            height,
            width,
            channels,
            filters,
            stride,
            pixels,
        ],
    )
    torch.testing.assert_close(c.t().reshape(expected.shape), expected)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("left_in_the_wrong_memory", "fm is at TPosition::B2; allowed: A2"),
        ("wrong_mode", "quantPre is 0.*allowed: F322F16"),
        ("copied_as_it_is", "src lies in the L0C; allowed: .* or DataCopyCO12DstParams"),
        ("copied_without_words", "takes a word for each channel, and there is no tensor of SetFix"),
        ("rows_to_l1", "nz2ndEn to L1; allowed: to global memory"),
    ],
)
def test_refuses(name: str, text: str) -> None:
    with pytest.raises(kernels.KernelError, match=text):
        _run(name, [torch.zeros(256, dtype=torch.float16)])


@pytest.mark.parametrize("checks", [False, True])
def test_two_of_four_numbers(*, checks: bool) -> None:
    m, n, k = 32, 48, 128
    generator = torch.Generator().manual_seed(0)
    a = torch.randint(-128, 127, (m, k), generator=generator).to(torch.int8)
    b = torch.randint(1, 127, (n, k // 4, 4), generator=generator).to(torch.int8)
    kept = torch.rand(b.shape, generator=generator).argsort(-1)[..., :2].sort(-1).values
    dense = torch.zeros_like(b).scatter(-1, kept, b.gather(-1, kept)).view(n, k)
    stored = b.gather(-1, kept).view(n, k // 2)
    # The second number's place counts from the group's second row.
    places = (kept - torch.tensor([0, 1])).view(n, k // 8, 4)
    packed = (places << torch.tensor([0, 2, 4, 6])).sum(-1).to(torch.uint8)
    fractals = packed.view(n, k // 64, 8).permute(1, 0, 2).contiguous()
    c = torch.zeros((m, n), dtype=torch.int32)
    arguments = [to_fractals(a), to_fractals(stored), fractals, c, m, n, k]
    kernels.run(SOURCE, "sparse", arguments, kind=CUBE, checks=checks)
    assert torch.equal(c, a.int() @ dense.int().T)
