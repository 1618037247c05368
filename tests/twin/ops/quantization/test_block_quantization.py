"""Scales for rectangles of a matrix: native/opapi/ops/quantization/block_quantization.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.ops.compare import agree, near_integers, rejects
from tests.twin.ops.low_bits import (
    E4M3,
    E5M2,
    HIFLOAT8,
    Format,
    hifloat8,
    nearest_hifloat8,
    nearly,
    on_grid,
    stored,
)
from tests.twin.ops.samples import some

INT8 = 1


def block_scales(x: torch.Tensor, rows: int, columns: int, highest: float) -> torch.Tensor:
    largest = [
        torch.stack([part.abs().amax((-1, -2)) for part in torch.split(band, columns, -1)], -1)
        for band in torch.split(x.float(), rows, -2)
    ]
    return torch.stack(largest, -2) / highest


def spread(scales: torch.Tensor, rows: int, columns: int, shape: torch.Size) -> torch.Tensor:
    each = scales.repeat_interleave(rows, -2).repeat_interleave(columns, -1)
    return each[..., : shape[-2], : shape[-1]]


@pytest.mark.parametrize("shape", [(5, 200), (2, 3, 130), (1, 64)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_int8(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    x = some(shape, dtype)
    y, scale = torch_npu.npu_dynamic_block_quant(x.to("npu"), dst_type=INT8)
    scales = block_scales(x, 1, 128, 127)
    agree(scale, scales)
    values = (x.float() / spread(scales, 1, 128, x.shape)).round().to(torch.int8)
    near_integers(y, values)


@pytest.mark.parametrize("to", [E4M3, E5M2])
def test_eight_bit_floats_with_a_smallest_scale(to: Format) -> None:
    x = some((130, 200), torch.float16)
    y, scale = torch_npu.npu_dynamic_block_quant(
        x.to("npu"), min_scale=300.0, dst_type=to.code, row_block_size=128, col_block_size=128
    )
    scales = block_scales(x, 128, 128, to.highest).clamp_max(1 / 300)
    agree(scale, scales)
    expected = on_grid(x.float() / spread(scales, 128, 128, x.shape), to)
    nearly(stored(y, to), expected, to)


def test_hifloat8() -> None:
    x = some((3, 64), torch.bfloat16)
    y, scale = torch_npu.npu_dynamic_block_quant(
        x.to("npu"), round_mode="round", dst_type=HIFLOAT8, col_block_size=64, dst_type_max=224.0
    )
    scales = block_scales(x, 1, 64, 224)
    agree(scale, scales)
    numbers = [hifloat8(int(code)) for code in y.cpu().view(torch.uint8).flatten()]
    nearly(torch.tensor(numbers).view(3, 64), nearest_hifloat8(x.float() / scales), None)


def test_zeros() -> None:
    y, scale = torch_npu.npu_dynamic_block_quant(torch.zeros(2, 64).half().to("npu"), dst_type=INT8)
    assert not y.cpu().any()
    assert not scale.cpu().any()


def test_groups() -> None:
    x, ends = some((300, 130), torch.bfloat16), [100, 100, 270, 300]
    y, scale = torch_npu.npu_grouped_dynamic_block_quant(
        x.to("npu"),
        torch.tensor(ends, dtype=torch.int32).to("npu"),
        dst_type=E5M2.code,
        row_block_size=128,
    )
    found = scale.cpu()
    assert found.shape == (300 // 128 + 4, 2)
    begin = 0
    for index, end in enumerate(ends):
        if end > begin:
            part = x[begin:end]
            scales = block_scales(part, 128, 128, E5M2.highest)
            first = begin // 128 + index
            agree(found[first : first + scales.size(0)], scales)
            expected = on_grid(part.float() / spread(scales, 128, 128, part.shape), E5M2)
            nearly(stored(y, E5M2)[begin:end], expected, E5M2)
        begin = end


@pytest.mark.parametrize("to", [E4M3, E5M2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_quant_max(dtype: torch.dtype, to: Format) -> None:
    x, scale = some((4, 3, 8), dtype), torch.tensor([3.0])
    y, largest = torch_npu.npu_quant_max(x.to("npu"), scale.to("npu"), dst_dtype=to.code)
    agree(stored(y, to), on_grid(x.float() * 3, to))
    agree(largest, x.abs().amax().view(1))


@pytest.mark.parametrize("to", [E4M3, E5M2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_quant_max_by_group(dtype: torch.dtype, to: Format) -> None:
    x, scale = some((4, 3, 8), dtype), torch.tensor([3.0, 500.0])
    ends = torch.tensor([1, 4])
    y, largest = torch_npu.npu_quant_max(
        x.to("npu"), scale.to("npu"), dst_dtype=to.code, group_list=ends.to("npu")
    )
    agree(stored(y, to), on_grid(x.float() * scale[[0, 1, 1, 1], None, None], to))
    agree(largest, torch.stack([x[:1].abs().amax(), x[1:].abs().amax()]))


def test_block_quantization_refuses_wrong_calls() -> None:
    x = some((4, 64), torch.float16)
    rejects("roundModeOptional", torch_npu.npu_dynamic_block_quant, x, round_mode="hybrid")
    rejects("scale", torch_npu.npu_quant_max, x, torch.ones(2))
