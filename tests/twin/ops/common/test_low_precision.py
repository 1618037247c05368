"""Formats that torch has no dtype for: native/opapi/ops/common/low_precision.cpp."""

from __future__ import annotations

import ctypes

import pytest
import torch
import torch_npu

from tests.twin.aclnn_calls import call
from tests.twin.ops.compare import agree, rejects, run_on_npu
from tests.twin.ops.low_bits import (
    E1M2,
    E2M1,
    HIFLOAT8,
    Format,
    float4,
    hifloat8,
    nearest_hifloat8,
    stored,
)
from tests.twin.ops.samples import some

CODES = torch.arange(256, dtype=torch.uint8)


def test_every_number_of_hifloat8() -> None:
    numbers = torch.tensor([hifloat8(int(code)) for code in CODES])
    finite = CODES[numbers.isfinite()].view(1, -1)
    count = finite.numel()
    # the product with the unit matrix is the matrix itself; 8 stands for 1
    one, zero = next(code for code in range(256) if hifloat8(code) == 1), 0
    unit = torch.full((count, count), zero, dtype=torch.uint8).fill_diagonal_(one)
    actual = torch_npu.npu_quant_matmul(
        finite.to("npu"),
        unit.to("npu"),
        torch.ones(1).to("npu"),
        pertoken_scale=torch.ones(1).to("npu"),
        output_dtype=torch.float32,
        x1_dtype=HIFLOAT8,
        x2_dtype=HIFLOAT8,
    )
    agree(actual, numbers[numbers.isfinite()].view(1, -1))


def test_rounding_to_hifloat8() -> None:
    table = torch.tensor([hifloat8(code) for code in range(128)], dtype=torch.float64)
    table = table[table.isfinite()].sort().values
    between = (table[1:] + table[:-1]) / 2
    nearly = [between * (1 - 1e-6), between, between * (1 + 1e-6), table, table * 1.01]
    values = torch.cat([*nearly, torch.tensor([1e-30, 60000.0])]).float().clamp_max(1e5)
    values = torch.cat([values, -values])
    y, largest = torch_npu.npu_quant_max(
        values.to("npu"), torch.ones(1).to("npu"), round_mode="round", dst_dtype=HIFLOAT8
    )
    found = torch.tensor([hifloat8(int(code)) for code in y.cpu().view(torch.uint8)])
    expected = nearest_hifloat8(values)
    agree(found, torch.where(expected == 0, 0, expected))
    agree(largest, values.abs().amax().view(1))


def test_output_in_blocks() -> None:
    """npu_quantize gives its result the storage format of its input."""
    x, scale = some((20, 40), torch.float16), torch.tensor([3.0])
    torch_npu.npu.config.allow_internal_format = True
    try:
        cast = torch_npu.npu_format_cast(x.to("npu"), 29)
        actual = torch_npu.npu_quantize(cast, scale.to("npu"), None, torch.qint8, div_mode=False)
        assert torch_npu.get_npu_format(actual) == 29
        found = torch_npu.npu_format_cast(actual, 2).cpu()
    finally:
        torch_npu.npu.config.allow_internal_format = False
    agree(found, (x.float() * 3).round().to(torch.int8))


@pytest.mark.parametrize("to", [E2M1, E1M2])
def test_four_bit_floats_in_views(to: Format) -> None:
    x = torch.linspace(-6, 6, 128).view(4, 32).half()
    y, scale = torch_npu.npu_dynamic_mx_quant(x.to("npu"), dst_type=to.code)
    rows = torch_npu.npu_anti_mx_quant(y[::2], scale[::2], dst_type=6, src_type=to.code)
    factors = torch.exp2(scale.cpu().view(torch.uint8)[..., 0].float() - 127)
    agree(rows, (stored(y, to) * factors)[::2])


def test_every_code_of_four_bits() -> None:
    codes = (CODES[:16:2] + 16 * CODES[1:16:2]).view(1, 8)
    for to in (E2M1, E1M2):
        padded = torch.cat([codes, torch.zeros(1, 8, dtype=torch.uint8)], -1)
        scale = torch.full((1, 1, 2), 127, dtype=torch.uint8)
        actual = run_on_npu(
            torch_npu.npu_anti_mx_quant, padded, scale, dst_type=6, src_type=to.code
        )
        agree(actual, float4(padded, to))


def typed(code: int, dtype: torch.dtype = torch.int8) -> dict[str, tuple[object, ...]]:
    """Calls whose parameter for the type of the output is `code`, and whose output has `dtype`."""
    x, one, pair = torch.ones(4, 64).half(), torch.ones(1), torch.ones(4)
    y, ends = torch.zeros(4, 64).to(dtype), torch.tensor([4])
    int32 = torch.ones(4, 64, dtype=torch.int32)
    return {
        "AscendQuant": (x, one, None, False, "round", ctypes.c_int32(code), y),
        "AscendQuantV3": (x, one, None, False, "round", *map(ctypes.c_int32, (code, -1)), y),
        "GroupQuant": (x, torch.ones(1, 64), ends, None, ctypes.c_int32(code), y),
        "DynamicQuantV2": (x, None, None, code, y, pair, None),
        "DynamicQuantV3": (x, None, None, code, True, "pertoken", y, pair, None),
        "DynamicBlockQuant": (x, 0.0, "rint", code, 1, 128, y, torch.ones(4, 1)),
        "QuantMax": (x, one, "rint", code, y, one),
        "GeluQuant": (x, one, None, "none", "static", "rint", code, y, None),
        "SwiGluQuantV2": (torch.ones(4, 128), None, None, None, True, "dynamic", 1, code, y, pair),
        "AscendAntiQuant": (y, one, None, code, False, x),
        "DequantBias": (int32, torch.ones(64), None, None, code, x),
    }


@pytest.mark.parametrize("function", typed(0))
def test_type_of_the_output(function: str) -> None:
    """The descriptor of the output decides; a parameter that says otherwise is refused."""
    right = 1 if function in {"AscendAntiQuant", "DequantBias"} else 2
    run_on_npu(call, f"aclnn{function}", *typed(right)[function])
    rejects(
        "but the output is" if right == 1 else " is ",
        call,
        f"aclnn{function}",
        *typed(27)[function],
    )
