"""Linear, RmsNorm, Elewise by formula: native/atb/ops/products.cpp and quantization.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.atb.attention_problems import on_npu
from tests.twin.ops.compare import HALVES, agree, near_integers
from tests.twin.ops.samples import normal


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_a_product_is_added_in_float32(dtype: torch.dtype) -> None:
    x, weight = normal(12, 5, dtype=dtype), normal(12, 7, dtype=dtype, seed=1)
    total = normal(5, 7, dtype=torch.float32, seed=2)
    a, b, c = on_npu(x, weight, total)
    torch_npu._npu_matmul_add_fp32(a, b, c)  # noqa: SLF001  # as models call it
    agree(c, total + x.float().T @ weight.float())


def test_views_are_multiplied_as_they_are() -> None:
    x, weight = normal(12, 10), normal(12, 14, seed=1)
    a, b, c = on_npu(x, weight, torch.zeros(5, 7))
    torch_npu._npu_matmul_add_fp32(a[:, ::2], b[:, ::2], c)  # noqa: SLF001
    agree(c, x[:, ::2].float().T @ weight[:, ::2].float())


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_a_norm_is_quantized(dtype: torch.dtype) -> None:
    x, gamma, beta = normal(6, 32, dtype=dtype), normal(32, dtype=dtype, seed=1), normal(32, seed=2)
    scale, offset = torch.tensor([0.04]).to(dtype), torch.tensor([3], dtype=torch.int8)
    beta = beta.to(dtype)
    out = torch.empty(6, 32, dtype=torch.int8, device="npu")
    torch_npu._npu_quant_rms_norm(*on_npu(x, gamma, beta, scale, offset), out, 1e-6)  # noqa: SLF001
    wide = x.float()
    normed = wide * (wide.square().mean(-1, keepdim=True) + 1e-6).rsqrt()
    expected = (normed * gamma.float() + beta.float()) / scale.float() + 3
    near_integers(out, expected.round().clamp(-128, 127).to(torch.int8))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_channels_are_quantized(dtype: torch.dtype) -> None:
    x = normal(4, 16, dtype=dtype) * 30
    scale = normal(16, dtype=torch.float32, seed=1).abs().add(0.2).to(dtype)
    offset = torch.arange(-8, 8, dtype=torch.int8)
    out = torch.empty(4, 16, dtype=torch.int8, device="npu")
    torch_npu._npu_quantize_per_tensor(*on_npu(x, scale, offset), out)  # noqa: SLF001
    expected = (x.float() / scale.float()).round() + offset
    near_integers(out, expected.clamp(-128, 127).to(torch.int8))
