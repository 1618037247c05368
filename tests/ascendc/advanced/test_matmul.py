"""Matmul of the high-level API against torch."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.ascendc import kernels
from tests.ascendc.advanced import tilings

SOURCE = Path(__file__).with_name("matmul.cpp")
MIX = 5  # KernelKind::kMix12


def _run(name: str, arguments: list[object], *, blocks: int = 1) -> None:
    kernels.run(SOURCE, name, arguments, blocks=blocks, kind=MIX)


def _random(shape: tuple[int, ...], dtype: torch.dtype, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    if dtype.is_floating_point:
        return torch.rand(shape, generator=generator).sub_(0.5).to(dtype)
    return torch.randint(-8, 8, shape, generator=generator).to(dtype)


_TYPES = {
    "half_to_float": (torch.float16, torch.float32, torch.float32),
    "half_to_half": (torch.float16, torch.float16, torch.float16),
    "bfloat16_to_bfloat16": (torch.bfloat16, torch.bfloat16, torch.float32),
    "float_to_float": (torch.float32, torch.float32, torch.float32),
    "int8_to_int32": (torch.int8, torch.int32, torch.int32),
}


@pytest.mark.parametrize("name", _TYPES)
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
def test_types_and_transposes(name: str, turned: tuple[bool, bool]) -> None:
    source, result, bias_type = _TYPES[name]
    m, n, k = 77, 51, 130
    a, b = _random((m, k), source, 1), _random((k, n), source, 2)
    bias = _random((n,), bias_type, 3)
    # 3 x 2 parts, the last ones cut; two vector cores for each block
    tiling = tilings.cube(m, n, k, single=(32, 32), base=(16, 32), bias=True)
    c = torch.zeros((m, n), dtype=result)
    _run(
        name,
        [
            a.t().contiguous() if turned[0] else a,
            b.t().contiguous() if turned[1] else b,
            bias,
            c,
            tiling,
            *turned,
        ],
        blocks=3,
    )
    wide = torch.float64 if source.is_floating_point else torch.int64
    expected = (a.to(wide) @ b.to(wide) + bias.to(wide)).to(result)
    tolerance = {torch.float16: 1e-3, torch.bfloat16: 1e-2}.get(result, 1e-5)
    torch.testing.assert_close(c, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("order", [0, 1])
def test_blocks_in_local_memory(order: int) -> None:
    m, n, k = 64, 64, 48
    a, b = _random((m, k), torch.float16, 1), _random((k, n), torch.float16, 2)
    c = torch.zeros((m, n))
    tiling = tilings.cube(m, n, k, single=(32, 64), base=(16, 64 if order else 32), order=order)
    _run("leaky", [a, b, c, torch.zeros(m * n), tiling], blocks=1)
    expected = torch.nn.functional.leaky_relu(a.float() @ b.float(), 0.5)
    torch.testing.assert_close(c, expected, rtol=1e-5, atol=1e-5)


def test_parts_of_k_added_in_global_memory() -> None:
    m, n, k = 40, 24, 256
    a, b = _random((m, k), torch.float16, 1), _random((k, n), torch.float16, 2)
    c = torch.zeros((m, n))
    tiling = tilings.cube(m, n, k, single=(m, n, 64), base=(32, 16))
    _run("split_k", [a, b, c, tiling], blocks=2)
    torch.testing.assert_close(c, a.float() @ b.float(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("kind", "left"), [(0, 0.0), (1, 3.0)], ids=["vector", "cube"])
def test_a_cube_core_does_not_fill_global_memory(kind: int, left: float) -> None:
    c = torch.full((64,), 3.0)
    kernels.run(SOURCE, "clear", [c, 64], kind=kind)
    assert torch.equal(c, torch.full((64,), left))


def test_columns_are_dequantised() -> None:
    m, n, k = 20, 36, 64
    a, b = _random((m, k), torch.int8, 1), _random((k, n), torch.int8, 2)
    scales = (torch.arange(n) + 1) * 0.125
    words = scales.view(torch.int32).to(torch.int64) | 1 << 46
    c = torch.zeros((m, n), dtype=torch.float16)
    tiling = tilings.cube(m, n, k, single=(m, n), base=(16, 16))
    kernels.run(SOURCE, "dequantised", [a, b, words, c, tiling], kind=4)
    expected = ((a.int() @ b.int()).float() * scales).half()
    torch.testing.assert_close(c, expected, rtol=0, atol=0)


@pytest.mark.parametrize("checks", [False, True])
def test_too_few_words_of_quantisation_are_refused(*, checks: bool) -> None:
    a, b = torch.zeros((16, 32), dtype=torch.int8), torch.zeros((32, 48), dtype=torch.int8)
    c = torch.zeros((16, 48), dtype=torch.float16)
    tiling = tilings.cube(16, 48, 32, single=(16, 48), base=(16, 16))
    words = torch.zeros(47, dtype=torch.int64)
    with pytest.raises(kernels.KernelError, match="quantTensor") as caught:
        kernels.run(SOURCE, "dequantised", [a, b, words, c, tiling], kind=4, checks=checks)
    assert "of 376" in str(caught.value)


def test_fractals() -> None:
    m, n, k = 48, 40, 80
    a, b = _random((m, k), torch.float16, 1), _random((k, n), torch.float16, 2)
    tiling = tilings.cube(m, n, k, single=(m, n), base=(16, 32))
    c = torch.zeros((48 // 16, m, 16))
    kernels.run(SOURCE, "fractals", [tilings.to_fractals(a), b, c, tiling], kind=4)
    rows = c.permute(1, 0, 2).reshape(m, 48)[:, :n]
    torch.testing.assert_close(rows, a.float() @ b.float(), rtol=1e-5, atol=1e-5)


def test_batches_share_the_right_matrix() -> None:
    m, n, k = 32, 16, 48
    a, b = _random((4, m, k), torch.float16, 1), _random((2, n, k), torch.float16, 2)
    c = torch.zeros((4, m, n))
    tiling = tilings.cube(m, n, k, single=(m, n), base=(16, 16))
    kernels.run(SOURCE, "batches", [a, b, c, tiling, 4, 2], kind=4)
    expected = a.float() @ b.float().transpose(1, 2).repeat_interleave(2, 0)
    torch.testing.assert_close(c, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("dtype", "checks"), [(torch.float16, False), (torch.float16, True), (torch.float32, False)]
)
def test_a_transpose_that_the_type_rules_out(dtype: torch.dtype, *, checks: bool) -> None:
    """16 bits are computed as on the device, and reported with the checks on."""
    a, b = _random((16, 32), dtype, 1), _random((16, 32), dtype, 2)
    c = torch.zeros((16, 16))
    tiling = tilings.cube(16, 16, 32, single=(16, 16), base=(16, 16))
    name = "turned_half" if dtype is torch.float16 else "turned_float"
    arguments = [a, b, c, tiling]
    if dtype is torch.float16 and not checks:
        kernels.run(SOURCE, name, arguments, kind=MIX)
        torch.testing.assert_close(c, a.float() @ b.float().T, rtol=1e-5, atol=1e-5)
    else:
        with pytest.raises(kernels.KernelError, match="ISTRANS = true"):
            kernels.run(SOURCE, name, arguments, kind=MIX, checks=checks)


@pytest.mark.parametrize("upper", [True, False])
def test_blocks_of_a_triangle(*, upper: bool) -> None:
    m, n, k = 80, 96, 32
    a, b = _random((m, k), torch.float16, 1), _random((k, n), torch.float16, 2)
    bias = _random((n,), torch.float32, 3)
    c = torch.full((m, n), 7.0)
    tiling = tilings.cube(m, n, k, single=(m, n), base=(16, 32), bias=True)
    _run("upper_triangle" if upper else "lower_triangle", [a, b, bias, c, tiling])
    rows, columns = torch.arange(m)[:, None] // 16, torch.arange(n)[None] // 32
    computed = rows <= columns if upper else rows >= columns
    expected = torch.where(computed, a.float() @ b.float() + bias, 7.0)
    torch.testing.assert_close(c, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("checks", [False, True])
def test_matrices_that_the_kernel_moves(*, checks: bool) -> None:
    m, n, k, base_k = 72, 48, 128, 32
    a, b = _random((m, k), torch.float16, 1), _random((k, n), torch.float16, 2)
    order = torch.tensor([2, 0, 3, 1], dtype=torch.int32)
    c = torch.zeros((m, n))
    tiling = tilings.cube(m, n, k, single=(m, n), base=(32, 32, base_k))
    arguments = [a, b, order, c, tiling]
    kernels.run(SOURCE, "moved_by_the_kernel", arguments, kind=MIX, checks=checks)
    moved = a.view(m, k // base_k, base_k)[:, order].reshape(m, k)
    torch.testing.assert_close(c, moved.float() @ b.float(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("checks", [False, True])
def test_b_with_two_numbers_of_four(*, checks: bool) -> None:
    m, n, k = 40, 96, 128
    generator = torch.Generator().manual_seed(0)
    a = _random((m, k), torch.int8, 1)
    b = torch.randint(1, 127, (n, k // 4, 4), generator=generator).to(torch.int8)
    kept = torch.rand(b.shape, generator=generator).argsort(-1)[..., :2].sort(-1).values
    dense = torch.zeros_like(b).scatter(-1, kept, b.gather(-1, kept)).view(n, k)
    places = (kept - torch.tensor([0, 1])).view(n, k // 8, 4)
    packed = (places << torch.tensor([0, 2, 4, 6])).sum(-1).to(torch.uint8)
    index = packed.view(n, k // 64, 8).permute(1, 0, 2).contiguous()
    c = torch.zeros((m, n), dtype=torch.int32)
    tiling = tilings.cube(m, n, k, single=(32, 48), base=(16, 32))
    arguments = [a, b.gather(-1, kept).view(n, k // 2), index, c, tiling]
    kernels.run(SOURCE, "sparse_b", arguments, blocks=2, kind=MIX, checks=checks)
    assert torch.equal(c, a.int() @ dense.int().T)
