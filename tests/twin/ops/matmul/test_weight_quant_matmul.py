"""Products with a quantized weight: native/opapi/ops/matmul/weight_quant_matmul.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.ops.compare import HALVES, close, near_integers, rejects, run_on_npu
from tests.twin.ops.low_bits import pack_int4
from tests.twin.ops.samples import some

matmul = torch_npu.npu_weight_quant_batchmatmul


def expected(
    x: torch.Tensor, weight: torch.Tensor, scale: torch.Tensor, offset: torch.Tensor
) -> torch.Tensor:
    values = ((weight.float() + offset.float()) * scale.float()).to(x.dtype)
    return x.double() @ values.double()


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("shape", [(1,), (24,), (1, 24), (2, 24)])
def test_scales(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    x, weight = some((5, 64), dtype), some((64, 24), torch.int8, -99, 99)
    scale, offset = some(shape, dtype, 1, 3) / 64, some(shape, dtype).round()
    bias = some((24,), dtype if dtype == torch.float16 else torch.float32)
    groups = 32 if shape == (2, 24) else 0
    actual = run_on_npu(
        matmul,
        x,
        weight,
        scale,
        antiquant_offset=offset,
        bias=bias,
        antiquant_group_size=groups,
    )
    full, shift = (
        values.repeat_interleave(32, 0) if groups else values for values in (scale, offset)
    )
    close(actual, expected(x, weight, full, shift) + bias)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("precise", [0, 1])
def test_four_bits(transposed: bool, precise: int) -> None:  # noqa: FBT001
    x, weight = some((5, 64), torch.float16), some((64, 24), torch.int8, -8, 8)
    scale = some((24,), torch.float16, 1, 3) / 8
    # torch_npu looks at the storage to see that an operand is transposed
    rows = pack_int4(weight.t() if transposed else weight).contiguous().to("npu")
    second = rows.t() if transposed else rows
    actual = matmul(x.to("npu"), second, scale.to("npu"), inner_precise=precise)
    close(actual, expected(x, weight, scale, torch.zeros(1)))


def test_transposed_operands() -> None:
    x, weight = some((64, 5), torch.bfloat16).t(), some((24, 64), torch.int8, -99, 99).t()
    scale = torch.tensor([0.02]).bfloat16()
    close(run_on_npu(matmul, x, weight, scale), expected(x, weight, scale, torch.zeros(1)))


def test_quantized_result() -> None:
    x, weight = some((5, 64), torch.float16), some((64, 24), torch.int8, -99, 99)
    scale = some((24,), torch.float16, 1, 3) / 640
    factor, offset = torch.full((24,), 4.0), torch.full((24,), 3.0)
    actual = run_on_npu(matmul, x, weight, scale, quant_scale=factor, quant_offset=offset)
    wanted = expected(x, weight, scale, torch.zeros(1)) * 4 + 3
    assert isinstance(actual, torch.Tensor)
    assert actual.dtype == torch.int8
    near_integers(actual, wanted.round().clamp(-128, 127))


def test_eight_bit_floats() -> None:
    x = some((5, 64), torch.bfloat16)
    weight = some((64, 24), torch.float32).to(torch.float8_e4m3fn)
    scale = some((24,), torch.bfloat16, 1, 3)
    device = weight.view(torch.uint8).to("npu").view(torch.float8_e4m3fn)
    actual = matmul(x.to("npu"), device, scale.to("npu"))
    close(actual, expected(x, weight.float(), scale, torch.zeros(1)))


def test_weight_quant_matmul_refuses_wrong_calls() -> None:
    x, weight = some((5, 64), torch.float16), some((64, 24), torch.int8)
    rejects("antiquantScale", matmul, x, weight, torch.ones(2, 24).half())
