"""RMS normalisation with quantized results: native/opapi/ops/quantization/norm_quantization.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.aclnn_calls import call
from tests.twin.ops.compare import HALVES, agree, near_integers, rejects
from tests.twin.ops.low_bits import (
    E2M1,
    E4M3,
    E5M2,
    Format,
    microscaled,
    nearly,
    pairs,
    stored,
    unpack_int4,
)
from tests.twin.ops.samples import some

EPS = 1e-6


def normalized(x: torch.Tensor, gamma: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    wide = x.float()
    rstd = (wide.pow(2).mean(-1, keepdim=True) + EPS).rsqrt()
    return wide * rstd * gamma.float(), rstd


def int8(values: torch.Tensor) -> torch.Tensor:
    return values.round().clamp(-128, 127).to(torch.int8)


@pytest.mark.parametrize("divide", [True, False])
@pytest.mark.parametrize("dtype", HALVES)
def test_add_rms_norm_quant(dtype: torch.dtype, divide: bool) -> None:  # noqa: FBT001 - as above
    x1, x2 = some((3, 5, 24), dtype), some((3, 5, 24), dtype, 0, 3)
    gamma, beta = some((24,), dtype, 1, 3), some((24,), dtype)
    scales = some((24,), torch.float32, 1, 9) / 64 if divide else some((24,), torch.float32, 1, 9)
    offset = some((24,), torch.int32)
    y1, y2, x = torch_npu.npu_add_rms_norm_quant(
        x1.to("npu"),
        x2.to("npu"),
        gamma.to("npu"),
        scales.to("npu"),
        offset.to("npu"),
        beta.to("npu"),
        scales2=scales[:1].to("npu"),
        zero_points2=None,
        epsilon=EPS,
        div_mode=divide,
    )
    values = normalized(x1 + x2, gamma)[0] + beta.float()
    scaled = values / scales if divide else values * scales
    near_integers(y1, int8(scaled + offset))
    near_integers(y2, int8(values / scales[:1] if divide else values * scales[:1]))
    agree(x, x1 + x2)


def test_rms_norm_quant() -> None:
    x, gamma, beta = (some(shape, torch.float16) for shape in ((4, 32), (32,), (32,)))
    scale, offset = torch.tensor([0.03]).half(), torch.tensor([3], dtype=torch.int8)
    values = normalized(x, gamma)[0] + beta.float()
    expected = values / scale.float() + 3
    args = [tensor.to("npu") for tensor in (x, gamma, beta, scale, offset)]
    near_integers(torch_npu.npu_rms_norm_quant(*args, EPS), int8(expected))
    vector = [args[0][0], *(tensor.view(1, -1) for tensor in args[1:])]
    near_integers(torch_npu.npu_rms_norm_quant(*vector, EPS), int8(expected[0]))
    packed = torch_npu.npu_rms_norm_quant(
        x.to("npu"),
        gamma.to("npu"),
        beta.to("npu"),
        (scale * 30).to("npu"),
        offset.to("npu"),
        EPS,
        dst_dtype=torch.quint4x2,
    )
    four = (values / (scale * 30).float() + 3).round().clamp(-8, 7).to(torch.int8)
    near_integers(unpack_int4(packed), four)


def test_rms_norm_quant_of_nan_is_zero() -> None:
    x = torch.ones(1, 16).half()
    scale, offset = torch.tensor([float("nan")]).half(), torch.tensor([3], dtype=torch.int8)
    args = [tensor.to("npu") for tensor in (x, x[0], x[0], scale, offset)]
    assert not torch_npu.npu_rms_norm_quant(*args, EPS).cpu().any()


@pytest.mark.parametrize("to", [None, E4M3, E5M2])
def test_rms_norm_quant_v2(to: Format | None) -> None:
    x, gamma = some((4, 32), torch.bfloat16), some((32,), torch.bfloat16)
    scale = torch.tensor([3.0])
    values = normalized(x, gamma)[0] * 3
    y, _ = torch_npu.npu_rms_norm_quant_v2(
        x.to("npu"),
        gamma.to("npu"),
        scale.to("npu"),
        epsilon=EPS,
        div_mode=False,
        dst_dtype=None if to is None else to.code,
    )
    if to is None:
        near_integers(y, int8(values))
    else:
        dtype = torch.float8_e4m3fn if to is E4M3 else torch.float8_e5m2
        torch.testing.assert_close(y.cpu().float(), values.to(dtype).float(), rtol=0.13, atol=0)


@pytest.mark.parametrize("mask", [None, (True, True), (False, True), (True, False)])
def test_add_rms_norm_dynamic_quant(mask: tuple[bool, bool] | None) -> None:
    x1, x2 = some((2, 3, 16), torch.float16), some((2, 3, 16), torch.float16, 0, 3)
    gamma, smooth = some((16,), torch.float16, 1, 3), some((16,), torch.float16, 1, 3)
    first, second = mask or (True, True)
    result = torch_npu.npu_add_rms_norm_dynamic_quant(
        x1.to("npu"),
        x2.to("npu"),
        gamma.to("npu"),
        smooth_scale1=smooth.to("npu") if first else None,
        smooth_scale2=(smooth * 2).to("npu") if second else None,
        epsilon=EPS,
        output_mask=mask,
    )
    values = normalized(x1 + x2, gamma)[0]
    for wanted, y, scale, factor in ((first, 0, 3, smooth), (second, 1, 4, smooth * 2)):
        if wanted:
            smoothed = values * factor.float()
            expected = smoothed.abs().amax(-1) / 127
            torch.testing.assert_close(result[scale].cpu(), expected)
            near_integers(result[y], int8(smoothed / expected.unsqueeze(-1)))
    agree(result[2], x1 + x2)


def test_add_rms_norm_dynamic_quant_to_four_bits() -> None:
    x, gamma = some((4, 16), torch.bfloat16), torch.ones(16).bfloat16()
    result = torch_npu.npu_add_rms_norm_dynamic_quant(
        x.to("npu"), x.to("npu"), gamma.to("npu"), epsilon=EPS, y_dtype=torch_npu.int4
    )
    values = normalized(x + x, gamma)[0]
    scale = values.abs().amax(-1, keepdim=True) / 7
    near_integers(unpack_int4(result[0]), (values / scale).round())


@pytest.mark.parametrize("to", [E2M1, E4M3])
def test_rms_norm_dynamic_mx_quant(to: Format) -> None:
    x, gamma, beta = (some(shape, torch.bfloat16) for shape in ((3, 70), (70,), (70,)))
    y, scale, _ = torch_npu.npu_rms_norm_dynamic_mx_quant(
        x.to("npu"), gamma.to("npu"), beta=beta.to("npu"), epsilon=EPS, dst_type=to.code
    )
    values, _ = normalized(x, gamma)
    numbers, codes = microscaled(values + beta.float(), -1, to)
    nearly(stored(y, to), numbers, to)
    agree(scale.cpu().view(torch.uint8), pairs(codes, -1))
    y, total, scale, _ = torch_npu.npu_add_rms_norm_dynamic_mx_quant(
        x.to("npu"),
        torch.zeros_like(x).to("npu"),
        gamma.to("npu"),
        beta=beta.to("npu"),
        epsilon=EPS,
        dst_type=to.code,
    )
    nearly(stored(y, to), numbers, to)
    agree(total, x)


def test_rms_norm_backward_quant() -> None:
    x, dy = some((6, 16), torch.float32), some((6, 16), torch.float32, 1, 4)
    gamma = some((16,), torch.float32, 1, 3).requires_grad_()
    leaf = x.clone().requires_grad_()
    value, rstd = normalized(leaf, gamma)
    grads = torch.autograd.grad(value, (leaf, gamma), dy)
    scale, offset = torch.tensor([0.02]), torch.tensor([2], dtype=torch.int32)
    dx, dgamma = torch.ops.npu._npu_rms_norm_backward_quant(  # noqa: SLF001 - as torch_npu calls it
        dy.to("npu"),
        x.to("npu"),
        rstd.detach().to("npu"),
        gamma.detach().to("npu"),
        scale.to("npu"),
        offset_x=offset.to("npu"),
    )
    near_integers(dx, int8(grads[0] / 0.02 + 2))
    torch.testing.assert_close(dgamma.cpu(), grads[1])


@pytest.mark.parametrize("wanted", [False, True])
def test_a_statistic_is_written_if_it_is_wanted(wanted: bool) -> None:  # noqa: FBT001 - a parameter of the test
    x, gamma = some((4, 32), torch.float16), torch.ones(32).half()
    y = torch.zeros(4, 32, dtype=torch.uint8).to("npu").view(torch.float8_e4m3fn)
    scale = torch.zeros(4, 1, 2, dtype=torch.uint8).to("npu").view(torch.float8_e8m0fnu)
    rstd = torch.zeros(4).to("npu")
    inputs = (x.to("npu"), gamma.to("npu"), None, 1e-6, 0, "rint", 36, wanted)
    call("aclnnRmsNormDynamicMxQuant", *inputs, y, scale, rstd)
    expected = x.float().square().mean(-1).add(1e-6).rsqrt()
    agree(rstd, expected if wanted else torch.zeros(4))


def test_norm_quantization_refuses_wrong_calls() -> None:
    x, gamma = some((4, 16), torch.float16), torch.ones(16).half()
    quant = torch_npu.npu_add_rms_norm_dynamic_quant
    rejects(
        "smoothScale2Optional", quant, x, x, gamma, smooth_scale2=gamma, output_mask=(True, False)
    )
