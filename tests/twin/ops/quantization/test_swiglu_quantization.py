"""SwiGLU and GELU, quantized: native/opapi/ops/quantization/swiglu_quantization.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.ops.compare import near_integers, rejects, run_on_npu
from tests.twin.ops.low_bits import E4M3, E5M2, Format, four_bits, nearly, on_grid, stored
from tests.twin.ops.samples import some

silu, gelu = torch.nn.functional.silu, torch.nn.functional.gelu


def halves(x: torch.Tensor, *, left: bool) -> torch.Tensor:
    first, second = x.float().chunk(2, -1)
    return silu(first) * second if left else silu(second) * first


def near(actual: object, expected: torch.Tensor) -> None:
    near_integers(actual, expected.round().clamp(-128, 127))


def by_rows(values: torch.Tensor, highest: float = 127) -> tuple[torch.Tensor, torch.Tensor]:
    scale = values.abs().amax(-1) / highest
    return values / scale.unsqueeze(-1), scale


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_swiglu_quant_dynamic(dtype: torch.dtype, left: bool) -> None:  # noqa: FBT001
    x, ends = some((7, 16), dtype), torch.tensor([3, 3, 7], dtype=torch.int32)
    smooth = some((3, 8), torch.float32, 1, 3)
    y, scale = torch_npu.npu_swiglu_quant(
        x.to("npu"),
        smooth_scales=smooth.to("npu"),
        group_index=ends.to("npu"),
        activate_left=left,
        quant_mode=1,
    )
    values = halves(x, left=left) * smooth[[0, 0, 0, 2, 2, 2, 2]]
    expected, factor = by_rows(values)
    near(y, expected)
    torch.testing.assert_close(scale.cpu(), 1 / factor)


def test_swiglu_quant_static_with_sizes() -> None:
    x, sizes = some((6, 16), torch.float32), torch.tensor([2, 4], dtype=torch.int32)
    smooth, offset = torch.tensor([3.0, 5.0]), torch.tensor([1.0, -2.0])
    y, _ = torch_npu.npu_swiglu_quant(
        x.to("npu"),
        smooth_scales=smooth.to("npu"),
        offsets=offset.to("npu"),
        group_index=sizes.to("npu"),
        activate_left=True,
        quant_mode=0,
        group_list_type=1,
    )
    rows = [0, 0, 1, 1, 1, 1]
    near(y, halves(x, left=True) * smooth[rows, None] + offset[rows, None])


def test_swiglu_quant_to_four_bits() -> None:
    x = some((3, 16), torch.float16)
    y, _ = torch_npu.npu_swiglu_quant(
        x.to("npu"), activate_left=True, quant_mode=1, dst_type=torch.quint4x2
    )
    codes = four_bits(y)
    signed = torch.where(codes > 7, codes - 16, codes)
    near(signed.to(torch.int8), by_rows(halves(x, left=True), 7)[0])


@pytest.mark.parametrize(
    ("groups", "rows"),
    [([4, 3], [0, 0, 0, 0, 1, 1, 1]), ([[2, 4], [0, 3]], [2, 2, 2, 2, 0, 0, 0])],
    ids=["sizes", "pairs"],
)
@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("bias", [None, torch.int32, torch.float32])
def test_dequant_swiglu_quant(
    mode: int, bias: torch.dtype | None, groups: list[object], rows: list[int]
) -> None:
    """Pairs name experts, of which some have no rows, in any order."""
    x, experts = some((7, 32), torch.int32, -99, 99), 3
    weight, activation = torch.rand(experts, 32) / 20, torch.rand(7) + 0.5
    quant = torch.rand(experts, 16) + 0.5
    add = None if bias is None else some((experts, 32), bias)
    actual = run_on_npu(
        torch_npu.npu_dequant_swiglu_quant,
        x,
        weight_scale=weight,
        activation_scale=activation,
        bias=add,
        quant_scale=quant,
        group_index=torch.tensor(groups),
        activate_left=True,
        quant_mode=1,
        swiglu_mode=mode,
        clamp_limit=2.0,
    )
    values = x.double() + (add[rows] if bias == torch.int32 and add is not None else 0)
    values = (values * weight[rows] * activation[:, None]).float()
    if bias == torch.float32 and add is not None:
        values = values + add[rows]
    if mode == 0:
        result = halves(values, left=True)
    else:
        gate, factor = (values[:, ::2], values[:, 1::2]) if mode == 1 else values.chunk(2, -1)
        gate = gate.clamp(max=2)
        result = gate * torch.sigmoid(1.702 * gate) * (factor.clamp(-2, 2) + 1)
    expected, factors = by_rows(result * quant[rows])
    assert isinstance(actual, tuple)
    near(actual[0], expected)
    torch.testing.assert_close(actual[1].cpu(), factors)


def test_dequant_swiglu_quant_static() -> None:
    x, scale, offset = some((2, 3, 16), torch.float16), torch.tensor([0.05]), torch.tensor([3.0])
    actual = run_on_npu(
        torch_npu.npu_dequant_swiglu_quant, x, quant_scale=scale, quant_offset=offset
    )
    assert isinstance(actual, tuple)
    near(actual[0], halves(x, left=False) / 0.05 + 3)


@pytest.mark.parametrize("approximate", ["none", "tanh"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_gelu_quant(dtype: torch.dtype, approximate: str) -> None:
    x, scale = some((3, 4, 16), dtype), some((16,), torch.float32, 1, 3)
    values = gelu(x.float(), approximate=approximate) * scale
    y, factor = torch_npu.npu_gelu_quant(
        x.to("npu"), input_scale=scale.to("npu"), approximate=approximate
    )
    expected, factors = by_rows(values)
    near(y, expected)
    torch.testing.assert_close(factor.cpu(), factors)
    y, _ = torch_npu.npu_gelu_quant(
        x.to("npu"),
        input_scale=scale.to("npu"),
        input_offset=scale.to("npu"),
        approximate=approximate,
        quant_mode="static",
    )
    near(y, values + scale)


@pytest.mark.parametrize("to", [E4M3, E5M2])
def test_gelu_quant_to_eight_bit_floats(to: Format) -> None:
    x = some((4, 16), torch.float32)
    y, scale = torch_npu.npu_gelu_quant(x.to("npu"), dst_type=to.code)
    values, factors = by_rows(gelu(x), to.highest)
    torch.testing.assert_close(scale.cpu(), factors)
    nearly(stored(y, to), on_grid(values, to), to)


def test_swiglu_quantization_refuses_wrong_calls() -> None:
    x = some((4, 16), torch.float16)
    rejects("weightScaleOptional", torch_npu.npu_dequant_swiglu_quant, x.int())
    ends = torch.tensor([3, 9], dtype=torch.int32)
    rejects("group 1", torch_npu.npu_swiglu_quant, x, group_index=ends, quant_mode=1)
    integers = some((3, 16), torch.int32)
    beyond = {"weight_scale": torch.rand(2, 16), "group_index": torch.tensor([[2, 3]])}
    rejects(
        "a row for each expert",
        torch_npu.npu_dequant_swiglu_quant,
        integers,
        **beyond,
        quant_mode=1,
    )
