"""Microscaling formats: native/opapi/ops/quantization/mx_quantization.cpp, microscaling.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.ops.compare import HALVES, agree, rejects, run_on_npu
from tests.twin.ops.low_bits import (
    E1M2,
    E2M1,
    E4M3,
    E5M2,
    FORMATS,
    Format,
    microscaled,
    on_grid,
    pairs,
    stored,
)


def spread(shape: tuple[int, ...], dtype: torch.dtype = torch.float16) -> torch.Tensor:
    """Numbers whose magnitudes differ by many powers of two."""
    generator = torch.Generator().manual_seed(5)
    values = torch.randn(shape, generator=generator)
    return (values * torch.exp2(torch.randint(-8, 6, shape, generator=generator))).to(dtype)


def agree_mx(result: object, x: torch.Tensor, axis: int, to: Format, *args: object) -> None:
    assert isinstance(result, tuple)
    numbers, codes = microscaled(x, axis, to, *args)  # type: ignore[arg-type]
    agree(stored(result[0], to), numbers)
    agree(result[1].cpu().view(torch.uint8), pairs(codes, axis))


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("dtype", HALVES)
def test_along_an_axis(to: Format, dtype: torch.dtype) -> None:
    for shape, axis in (((3, 70), -1), ((70, 6), 0), ((2, 33, 4), 1)):
        quantize_and_compare(shape, axis, to, dtype)


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("dtype", HALVES)
def test_a_row_of_one_byte(to: Format, dtype: torch.dtype) -> None:
    quantize_and_compare((1, 2), -1, to, dtype)


def quantize_and_compare(shape: tuple[int, ...], axis: int, to: Format, dtype: torch.dtype) -> None:
    x = spread(shape, dtype)
    result = run_on_npu(torch_npu.npu_dynamic_mx_quant, x, axis=axis, dst_type=to.code)
    agree_mx(result, x, axis, to)


@pytest.mark.parametrize("mode", ["floor", "round"])
@pytest.mark.parametrize("to", [E2M1, E1M2])
def test_rounding_of_four_bits(to: Format, mode: str) -> None:
    x = torch.arange(-64, 64).view(2, 64).half() / 8
    result = run_on_npu(torch_npu.npu_dynamic_mx_quant, x, round_mode=mode, dst_type=to.code)
    agree_mx(result, x, -1, to, mode)


def test_largest_number_fits() -> None:
    x = spread((4, 64))
    for to in (E4M3, E5M2):
        numbers, codes = microscaled(x, -1, to, algorithm=1)
        y, scale = torch_npu.npu_dynamic_mx_quant(x.to("npu"), dst_type=to.code, scale_alg=1)
        agree(stored(y, to), numbers)
        agree(scale.cpu().view(torch.uint8), pairs(codes, -1))


@pytest.mark.parametrize("highest", [0.0, 6.0, 7.0, 9.5])
def test_chosen_largest_number(highest: float) -> None:
    x = spread((4, 64), torch.bfloat16)
    numbers, codes = microscaled(x, -1, E2M1, algorithm=2, highest=highest)
    y, scale = torch_npu.npu_dynamic_mx_quant(
        x.to("npu"), dst_type=E2M1.code, scale_alg=2, dst_type_max=highest
    )
    agree(stored(y, E2M1), numbers)
    agree(scale.cpu().view(torch.uint8), pairs(codes, -1))


def test_zeros_and_numbers_without_scale() -> None:
    x = torch.zeros(3, 32, dtype=torch.bfloat16)
    x[1, 3], x[2, 4] = float("inf"), float("nan")
    y, scale = torch_npu.npu_dynamic_mx_quant(x.to("npu"), dst_type=E4M3.code)
    assert not stored(y, E4M3).any()
    assert scale.cpu().view(torch.uint8)[:, 0, 0].tolist() == [0, 255, 255]


def test_larger_blocks() -> None:
    x = spread((2, 200))
    numbers, codes = microscaled(x, -1, E5M2, block=64)
    y, scale = torch_npu.npu_dynamic_mx_quant(x.to("npu"), dst_type=E5M2.code, block_size=64)
    agree(stored(y, E5M2), numbers)
    agree(scale.cpu().view(torch.uint8), pairs(codes, -1))


@pytest.mark.parametrize("to", [E2M1, E4M3])
def test_both_axes(to: Format) -> None:
    x = spread((2, 40, 70), torch.bfloat16)
    y1, scale1, y2, scale2 = torch_npu.npu_dynamic_mx_quant_with_dual_axis(
        x.to("npu"), dst_type=to.code
    )
    agree_mx((y1, scale1), x, -1, to)
    agree_mx((y2, scale2), x, -2, to)


@pytest.mark.parametrize("to", [E2M1, E5M2])
def test_square_blocks(to: Format) -> None:
    x = spread((40, 70))
    full = torch.unflatten(torch.nn.functional.pad(x.double(), (0, 26, 0, 24)), 1, (3, 32))
    largest = torch.unflatten(full, 0, (2, 32)).abs().amax((1, 3))
    codes = torch.frexp(largest).exponent - 1 - to.exponent + 127
    by_row, by_column = (
        codes.repeat_interleave(32, 0)[:40],
        codes.repeat_interleave(32, 1)[:, :70],
    )
    each = by_row.repeat_interleave(32, 1)[:, :70]
    y, scale1, scale2 = torch_npu.npu_dynamic_block_mx_quant(x.to("npu"), dst_type=to.code)
    agree(stored(y, to), on_grid(x.double() / torch.exp2(each.double() - 127), to))
    agree(scale1.cpu().view(torch.uint8), pairs(by_row.to(torch.uint8), 1))
    agree(scale2.cpu().view(torch.uint8), pairs(by_column.to(torch.uint8), 0))


def test_groups_of_rows() -> None:
    x, ends = spread((150, 5)), [40, 40, 130, 150]
    y, scale = torch_npu.npu_grouped_dynamic_mx_quant(
        x.to("npu"), torch.tensor(ends, dtype=torch.int32).to("npu"), dst_type=E5M2.code
    )
    scales = torch.zeros(150 // 64 + 4, 5, 2, dtype=torch.uint8)
    begin = 0
    for index, end in enumerate(ends):
        numbers, codes = microscaled(x[begin:end], 0, E5M2)
        agree(stored(y, E5M2)[begin:end], numbers)
        part = pairs(codes, 0)
        scales[begin // 64 + index :][: part.size(0)] = part
        begin = end
    agree(scale.cpu().view(torch.uint8), scales)


@pytest.mark.parametrize("smooth", [False, True])
def test_two_levels(smooth: bool) -> None:  # noqa: FBT001 - a parameter of the test
    x = spread((3, 600), torch.bfloat16)
    factors = torch.rand(600, generator=torch.Generator().manual_seed(1)).bfloat16()
    y, level0, level1 = torch_npu.npu_dynamic_dual_level_mx_quant(
        x.to("npu"), smooth_scale=factors.to("npu") if smooth else None
    )
    wide = x.float() * (factors.float() if smooth else 1)
    scale = torch.stack([part.abs().amax(-1) for part in torch.split(wide, 512, -1)], -1) / 6
    between = (wide / scale.repeat_interleave(512, -1)[:, :600]).bfloat16()
    agree(level0, scale)
    agree_mx((y, level1), between, -1, E2M1)


@pytest.mark.parametrize("to", FORMATS)
def test_and_back(to: Format) -> None:
    x = spread((4, 64))
    y, scale = torch_npu.npu_dynamic_mx_quant(x.to("npu"), dst_type=to.code)
    numbers, codes = microscaled(x, -1, to)
    back = torch_npu.npu_anti_mx_quant(y, scale, dst_type=6, src_type=to.code)
    agree(back, numbers * torch.exp2(codes.float() - 127).repeat_interleave(32, -1))


def test_mx_quantization_refuses_wrong_calls() -> None:
    x = spread((2, 64))
    quant = torch_npu.npu_dynamic_mx_quant
    rejects("scaleAlg", quant, x, dst_type=E4M3.code, scale_alg=2)
    rejects("scaleAlg", quant, x, dst_type=E2M1.code, scale_alg=1)
    rejects("roundMode", quant, x, dst_type=E4M3.code, round_mode="floor")
    rejects("dstTypeMax", quant, x, dst_type=E2M1.code, dst_type_max=6.0)
