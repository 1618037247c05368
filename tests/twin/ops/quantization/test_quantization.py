"""Quantization and its inverse: native/opapi/ops/quantization/quantization.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.aclnn_calls import CODES, call
from tests.twin.ops.compare import HALVES, agree, copied, rejects, run_on_npu
from tests.twin.ops.low_bits import pack_int4, unpack_int4
from tests.twin.ops.samples import some

# scale and offset


@pytest.mark.parametrize("dtype", [torch.float32, *HALVES])
def test_quantize_by_multiplication(dtype: torch.dtype) -> None:
    x = some((4, 6, 8), dtype)
    for scale, offset in (
        (some((8,), dtype, 1, 60), some((8,), dtype)),
        (some((1,), dtype, 1, 60), None),
    ):
        actual = run_on_npu(
            torch_npu.npu_quantize, x, scale, offset, torch.qint8, -1, div_mode=False
        )
        values = x.float() * scale.float() + (0 if offset is None else offset.float())
        agree(actual, values.round().clamp(-128, 127).to(torch.int8))


def test_quantize_along_another_axis() -> None:
    x, scale = some((4, 6, 8), torch.float32), some((6,), torch.float32, 1, 60)
    actual = run_on_npu(torch_npu.npu_quantize, x, scale, None, torch.qint8, -2, div_mode=False)
    agree(actual, (x * scale[:, None]).round().clamp(-128, 127).to(torch.int8))


def test_quantize_to_four_bits() -> None:
    x, scale = some((3, 16), torch.float32), some((16,), torch.float32, 1, 3)
    actual = run_on_npu(torch_npu.npu_quantize, x, scale, None, torch.quint4x2, -1, div_mode=False)
    assert isinstance(actual, torch.Tensor)
    agree(unpack_int4(actual), (x * scale).round().clamp(-8, 7).int())


ROUNDINGS = {"round": torch.round, "ceil": torch.ceil, "floor": torch.floor, "trunc": torch.trunc}


@pytest.mark.parametrize("mode", ROUNDINGS)
@pytest.mark.parametrize("sqrt", [False, True])
def test_ascend_quant(sqrt: bool, mode: str) -> None:  # noqa: FBT001 - a parameter of the test
    x, scale = some((4, 8), torch.float32), some((8,), torch.float32, 1, 4)
    out = torch.zeros(4, 8, dtype=torch.int8, device="npu")
    call("aclnnAscendQuant", x.to("npu"), scale.to("npu"), None, sqrt, mode, 2, out)
    values = x * scale * (scale if sqrt else 1)
    agree(out, ROUNDINGS[mode](values).clamp(-128, 127).to(torch.int8))


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_ascend_quant_to_eight_bit_floats(dtype: torch.dtype) -> None:
    x = some((4, 8), torch.float32) * 200
    out = torch.zeros(4, 8, dtype=torch.uint8).view(dtype).to("npu")
    one, code = torch.ones(1).to("npu"), CODES[dtype]
    call("aclnnAscendQuant", x.to("npu"), one, None, False, "round", code, out)  # noqa: FBT003
    bound = torch.finfo(dtype).max
    assert torch.equal(
        out.cpu().view(torch.uint8), x.clamp(-bound, bound).to(dtype).view(torch.uint8)
    )


@pytest.mark.parametrize("dtype", [torch.qint8, torch.quint8, torch.qint32])
def test_quantize_by_division(dtype: torch.dtype) -> None:
    target = {torch.qint8: torch.int8, torch.quint8: torch.uint8}.get(dtype, torch.int32)
    bounds = torch.iinfo(target)
    x = some((4, 6), torch.float32) * 100
    for axis, size in ((1, 6), (0, 4)):
        scales, zero_points = some((size,), torch.float32, 1, 3), some((size,), torch.int32, 0, 4)
        shape = (1, 6) if axis == 1 else (4, 1)
        whole = (x / scales.view(shape)).round().double() + zero_points.view(shape)
        actual = run_on_npu(torch_npu.npu_quantize, x, scales, zero_points, dtype, axis)
        agree(actual, whole.clamp(bounds.min, bounds.max).to(target))


@pytest.mark.parametrize("target", HALVES)
def test_anti_quant(target: torch.dtype) -> None:
    x = some((4, 16), torch.int8, -100, 100)
    scale, offset = some((16,), torch.float32, 0, 3), some((16,), torch.float32)
    for shift in (None, offset):
        expected = ((x.float() + (0 if shift is None else shift)) * scale).to(target)
        agree(
            run_on_npu(torch_npu.npu_anti_quant, x, scale, offset=shift, dst_dtype=target), expected
        )
    small = some((4, 16), torch.int32, -8, 8)
    actual = run_on_npu(
        torch_npu.npu_anti_quant,
        pack_int4(small),
        scale,
        dst_dtype=target,
        src_dtype=torch.quint4x2,
    )
    agree(actual, (small * scale).to(target))
    by_row = some((4,), torch.float32, 1, 3)
    out = torch.zeros(4, 16, dtype=target, device="npu")
    call("aclnnAscendAntiQuant", x.to("npu"), by_row.to("npu"), None, CODES[target], True, out)  # noqa: FBT003
    agree(out, (x * by_row[:, None] ** 2).to(target))


# dynamic: the scale comes from the values


def scaled(values: torch.Tensor, dims: tuple[int, ...], bound: int) -> list[torch.Tensor]:
    scale = values.abs().amax(dims, keepdim=True) / bound
    return [(values / scale).round(), scale]


@pytest.mark.parametrize("dtype", HALVES)
def test_dynamic_quant(dtype: torch.dtype) -> None:
    x, smooth = some((3, 4, 16), dtype), some((16,), dtype, 1, 3)
    for factor in (None, smooth):
        wide = x.float() if factor is None else x.float() * factor.float()
        values, scale = scaled(wide, (-1,), 127)
        actual = run_on_npu(torch_npu.npu_dynamic_quant, x, smooth_scales=factor)
        agree(actual, (values.to(torch.int8), scale.squeeze(-1)))
    view = some((16, 6), dtype).t()[::2]
    values, scale = scaled(view.float(), (-1,), 127)
    agree(run_on_npu(torch_npu.npu_dynamic_quant, view), (values.to(torch.int8), scale.squeeze(-1)))


def test_dynamic_quant_with_a_scale_for_each_expert() -> None:
    x, smooth = some((6, 8), torch.float16), some((3, 8), torch.float16, 1, 3)
    ends = torch.tensor([2, 2, 6], dtype=torch.int32)
    wide = x.float() * smooth.float()[[0, 0, 2, 2, 2, 2]]
    values, scale = scaled(wide, (-1,), 127)
    actual = run_on_npu(torch_npu.npu_dynamic_quant, x, smooth_scales=smooth, group_index=ends)
    agree(actual, (values.to(torch.int8), scale.squeeze(-1)))


@pytest.mark.parametrize(
    ("mode", "dims", "shape"), [("pertensor", (0, 1), (1,)), ("perchannel", (0,), (8,))]
)
def test_dynamic_quant_modes(mode: str, dims: tuple[int, ...], shape: tuple[int, ...]) -> None:
    x = some((6, 8), torch.float16)
    values, scale = scaled(x.float(), dims, 127)
    actual = run_on_npu(torch_npu.npu_dynamic_quant, x, quant_mode=mode)
    agree(actual, (values.to(torch.int8), scale.view(shape)))


def test_dynamic_quant_to_four_bits() -> None:
    x = some((6, 16), torch.float16)
    values, scale = scaled(x.float(), (-1,), 7)
    actual = run_on_npu(torch_npu.npu_dynamic_quant, x, dst_type=torch.quint4x2)
    assert isinstance(actual, tuple)
    agree(unpack_int4(actual[0]), values.int())
    agree(actual[1], scale.squeeze(-1))


@pytest.mark.parametrize("mode", ["pertoken", "pertensor", "perchannel"])
def test_asymmetric_dynamic_quant_uses_the_whole_range(mode: str) -> None:
    x = some((6, 8), torch.float16, 1, 7)
    result = run_on_npu(torch_npu.npu_dynamic_quant_asymmetric, x, quant_mode=mode)
    assert isinstance(result, tuple)
    values, scale, offset = (t.cpu().float() for t in result)
    assert values.max() == 127
    assert values.min() == -128
    if mode == "pertoken":
        scale, offset = scale[:, None], offset[:, None]
    assert ((values - offset) * scale - x.float()).abs().max() <= scale.max() / 2 + 1e-4


def test_zeros_stay_zero() -> None:
    x = torch.zeros(2, 8, dtype=torch.float16)
    agree(
        run_on_npu(torch_npu.npu_dynamic_quant, x),
        (torch.zeros(2, 8, dtype=torch.int8), torch.zeros(2)),
    )


def test_first_and_third_form() -> None:
    x = some((6, 8), torch.float16)
    values, scale = scaled(x.float(), (-1,), 127)
    for name, options in (("", ()), ("V3", (None, 2, True, "pertoken"))):
        out = torch.zeros(6, 8, dtype=torch.int8, device="npu")
        scales = torch.zeros(6, device="npu")
        offset = (None,) if options else ()
        call(f"aclnnDynamicQuant{name}", copied(x, "npu"), None, *options, out, scales, *offset)
        agree([out, scales], [values.to(torch.int8), scale.squeeze(-1)])


def test_wrong_arguments_are_refused() -> None:
    x = torch.ones(2, 8, dtype=torch.float16)
    rejects("DynamicQuant", torch_npu.npu_dynamic_quant, x, quant_mode="perhaps")
    ends = torch.tensor([9], dtype=torch.int32)
    smooth = torch.ones(1, 8, dtype=torch.float16)
    rejects("group", torch_npu.npu_dynamic_quant, x, smooth_scales=smooth, group_index=ends)
