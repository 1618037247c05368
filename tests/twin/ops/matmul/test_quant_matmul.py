"""Products of quantized matrices: matmul/quant_matmul*.cpp, common/deq_scale.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.ops.compare import HALVES, agree, close, rejects, run_on_npu
from tests.twin.ops.low_bits import E2M1, E4M3, Format, hifloat8, microscaled, pack_int4
from tests.twin.ops.samples import some


def whole(shape: tuple[int, ...], low: int = -9, high: int = 10) -> torch.Tensor:
    return some(shape, torch.int8, low, high)


def product(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    return x1.double() @ x2.double()


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("bias", [None, torch.int32, torch.float32])
def test_scales_of_rows_and_columns(dtype: torch.dtype, bias: torch.dtype | None) -> None:
    x1, x2 = whole((5, 33)), whole((33, 7))
    columns, rows = some((7,), torch.float32, 1, 3) / 99, some((5,), torch.float32, 1, 3)
    add = None if bias is None else some((7,), bias, -9, 10)
    actual = run_on_npu(
        torch_npu.npu_quant_matmul,
        x1,
        x2,
        columns,
        pertoken_scale=rows,
        bias=add,
        output_dtype=dtype,
    )
    sums = product(x1, x2)
    if add is not None and bias == torch.int32:
        sums = sums + add
    expected = sums * columns * rows[:, None]
    close(actual, expected if add is None or bias == torch.int32 else expected + add)


def test_one_scale_and_transposed_operands() -> None:
    x1, x2 = whole((2, 33, 5)).transpose(1, 2), whole((7, 33)).t()
    scale = torch.tensor([0.125])
    actual = run_on_npu(torch_npu.npu_quant_matmul, x1, x2, scale, output_dtype=torch.bfloat16)
    close(actual, product(x1, x2) * 0.125)


@pytest.mark.parametrize("rounded", [0, 1])
def test_packed_scales(rounded: int) -> None:
    scale, offset = torch.rand(9) + 0.01, torch.linspace(-300, 300, 9)
    bits = scale.view(torch.int32).long()
    if rounded:
        bits = bits + 0xFFF + ((bits >> 13) & 1)
    expected = (bits & 0xFFFFE000) | (1 << 46)
    trans = torch_npu.npu_trans_quant_param
    agree(trans(scale.to("npu"), None, rounded), expected)
    shift = offset.round().clamp(-256, 255).long() & 0x1FF
    agree(trans(scale.to("npu"), offset.to("npu"), rounded), expected | (shift << 37))


def test_packed_scale_multiplies() -> None:
    x1, x2 = whole((4, 16)), whole((16, 8))
    scale, bias = torch.full((8,), 0.25), some((8,), torch.int32)
    deq = torch_npu.npu_trans_quant_param(scale.to("npu"))
    actual = torch_npu.npu_quant_matmul(
        x1.to("npu"), x2.to("npu"), deq, bias=bias.to("npu"), output_dtype=torch.float16
    )
    close(actual, (product(x1, x2) + bias) * 0.25)
    offset = torch.full((8,), 3.0)
    expected = (product(x1, x2) * 0.25 + 3).round().clamp(-128, 127).to(torch.int8)
    agree(
        torch_npu.npu_quant_matmul(x1.to("npu"), x2.to("npu"), deq, offset=offset.to("npu")),
        expected,
    )
    agree(
        torch_npu.npu_quant_matmul(
            x1.to("npu"),
            x2.to("npu"),
            torch_npu.npu_trans_quant_param(scale.to("npu"), offset.to("npu")),
        ),
        expected,
    )


def test_sums_alone() -> None:
    x1, x2 = whole((4, 1024), -128, 127), whole((1024, 8), -128, 127)
    actual = run_on_npu(torch_npu.npu_quant_matmul, x1, x2, torch.ones(1), output_dtype=torch.int32)
    agree(actual, product(x1, x2).int())


@pytest.mark.parametrize("by_row", [False, True])
def test_four_bits(by_row: bool) -> None:  # noqa: FBT001 - a parameter of the test
    x1, x2 = whole((5, 16), -8, 8), whole((16, 24), -8, 8)
    rows = some((5,), torch.float32, 1, 3)
    second = pack_int4(x2.t()).contiguous().t() if by_row else pack_int4(x2)
    scale = torch.tensor([0.5])
    actual = run_on_npu(
        torch_npu.npu_quant_matmul,
        pack_int4(x1),
        second,
        scale,
        pertoken_scale=rows,
        output_dtype=torch.float16,
    )
    close(actual, product(x1, x2) * 0.5 * rows[:, None])


def test_four_bits_with_offsets_of_groups() -> None:
    x1, x2 = whole((5, 512), -8, 8), whole((512, 8), -8, 8)
    rows, scale = some((5, 1), torch.float32, 1, 3), some((2, 8), torch.float32, 1, 3) / 64
    offset = some((2, 8), torch.float16, -3, 4).round()
    actual = run_on_npu(
        torch_npu.npu_quant_matmul,
        pack_int4(x1),
        pack_int4(x2),
        scale,
        offset=offset,
        pertoken_scale=rows,
        output_dtype=torch.bfloat16,
        group_sizes=[0, 0, 256],
    )
    weight = (x2.double() - offset.repeat_interleave(256, 0)) * scale.repeat_interleave(256, 0)
    close(actual, x1.double() @ weight * rows)


def test_eight_by_four_bits() -> None:
    x1, x2 = whole((5, 512)), whole((512, 8), -8, 8)
    rows, scale = some((5, 1), torch.float32, 1, 3), torch.full((2, 8), 0.125)
    scale[1] = 0.25
    weight = x2.double() * scale.repeat_interleave(256, 0)
    y_offset = 8 * weight.sum(0).float()  # what the documentation asks for
    deq = torch_npu.npu_trans_quant_param(scale.flatten().to("npu")).view(2, 8)
    actual = torch_npu.npu_quant_matmul(
        x1.to("npu"),
        pack_int4(x2).to("npu"),
        deq,
        offset=y_offset.to("npu"),
        pertoken_scale=rows.to("npu"),
        output_dtype=torch.bfloat16,
        group_sizes=[0, 0, 256],
    )
    close(actual, x1.double() @ weight * rows)


@pytest.mark.parametrize("block_rows", [1, 128])
def test_blocks(block_rows: int) -> None:
    x1, x2 = whole((256, 256)), whole((384, 256))
    scale1 = torch.rand(256 // block_rows, 2) + 0.5
    scale2 = torch.rand(3, 2) + 0.5
    actual = torch_npu.npu_quant_matmul(
        x1.to("npu"),
        x2.to("npu").t(),
        scale2.to("npu").t(),
        pertoken_scale=scale1.to("npu"),
        output_dtype=torch.bfloat16,
        group_sizes=[block_rows, 128, 128],
    )
    left = x1.double() * scale1.repeat_interleave(block_rows, 0).repeat_interleave(128, 1)
    right = x2.double() * scale2.repeat_interleave(128, 0).repeat_interleave(128, 1)
    close(actual, left @ right.t())


@pytest.mark.parametrize("to", [E4M3, E2M1])
def test_microscaled(to: Format) -> None:
    x1, x2 = torch.randn(6, 96).bfloat16(), torch.randn(10, 96).bfloat16()
    (y1, scale1), (y2, scale2) = (
        torch_npu.npu_dynamic_mx_quant(x.to("npu"), dst_type=to.code) for x in (x1, x2)
    )
    code = to.code if to.nibbles else None
    actual = torch_npu.npu_quant_matmul(
        y1,
        y2.t(),
        scale2.transpose(0, 1),
        pertoken_scale=scale1,
        output_dtype=torch.float32,
        x1_dtype=code,
        x2_dtype=code,
        pertoken_scale_dtype=torch_npu.float8_e8m0fnu,
        scale_dtype=torch_npu.float8_e8m0fnu,
        group_sizes=[1, 1, 32],
    )
    left, right = (
        numbers.double() * torch.exp2(codes.double() - 127).repeat_interleave(32, -1)
        for numbers, codes in (microscaled(x, -1, to) for x in (x1, x2))
    )
    close(actual, left @ right.t())


def test_hifloat8() -> None:
    codes = torch.arange(0, 96, dtype=torch.uint8).view(4, 24)
    values = torch.tensor([hifloat8(int(code)) for code in codes.flatten()]).view(4, 24)
    actual = torch_npu.npu_quant_matmul(
        codes.to("npu"),
        codes.to("npu").t(),
        torch.ones(1).to("npu"),
        pertoken_scale=torch.ones(1).to("npu"),
        output_dtype=torch.float32,
        x1_dtype=torch_npu.hifloat8,
        x2_dtype=torch_npu.hifloat8,
    )
    close(actual, values.double() @ values.double().t())


def test_quant_matmul_refuses_wrong_calls() -> None:
    x1, x2 = whole((4, 16)), whole((15, 8))
    quant = torch_npu.npu_quant_matmul
    rejects("rows", quant, x1, x2, torch.ones(1), output_dtype=torch.bfloat16)
    scale = torch.ones(5)
    rejects("x2Scale", quant, x1, whole((16, 8)), scale, output_dtype=torch.bfloat16)
