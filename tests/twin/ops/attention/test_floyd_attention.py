"""Attention on triangles: native/opapi/ops/attention/floyd_attention.cpp."""

from __future__ import annotations

import math

import pytest
import torch
import torch_npu

from tests.twin.ops.attention.inference import SCALE
from tests.twin.ops.compare import HALVES, agree, rejects, run_on_npu
from tests.twin.ops.samples import normal

BATCH, HEADS, ROWS, COLUMNS, KEYS, WIDTH = 2, 2, 4, 5, 6, 8


def operands(dtype: torch.dtype) -> list[torch.Tensor]:
    """Query, key and value along rows, key and value along columns."""
    return [
        normal(BATCH, HEADS, ROWS, COLUMNS, WIDTH, dtype=dtype),
        normal(BATCH, HEADS, ROWS, KEYS, WIDTH, dtype=dtype, seed=1),
        normal(BATCH, HEADS, ROWS, KEYS, WIDTH, dtype=dtype, seed=2),
        normal(BATCH, HEADS, KEYS, COLUMNS, WIDTH, dtype=dtype, seed=3),
        normal(BATCH, HEADS, KEYS, COLUMNS, WIDTH, dtype=dtype, seed=4),
    ]


def attended(tensors: list[torch.Tensor], mask: torch.Tensor) -> torch.Tensor:
    query, key1, value1, key2, value2 = tensors
    scores = torch.einsum("bhikc,bhijc->bhikj", query, key1)
    scores = (scores + torch.einsum("bhikc,bhjkc->bhikj", query, key2)) * SCALE
    weights = scores.masked_fill(mask, -math.inf).softmax(4)
    out = torch.einsum("bhikj,bhijc->bhikc", weights, value1)
    return out + torch.einsum("bhikj,bhjkc->bhikc", weights, value2)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("masked", [True, False])
def test_attention(dtype: torch.dtype, *, masked: bool) -> None:
    """Forward and backward."""
    tensors = operands(dtype)
    mask = torch.rand(BATCH, 1, ROWS, 1, KEYS, generator=torch.Generator().manual_seed(0)) > 0.7
    mask[..., 0] = False
    mask &= masked
    host = [tensor.double().requires_grad_() for tensor in tensors]
    expected = attended(host, mask)
    grad = normal(*expected.shape, dtype=dtype, seed=5)
    torch.autograd.backward(expected, grad.double())
    device = [tensor.to("npu").requires_grad_() for tensor in tensors]
    _, _, out = torch_npu.npu_fused_floyd_attention(
        *device, atten_mask=mask.to("npu") if masked else None, scale_value=SCALE
    )
    agree(out.detach(), expected.detach().to(dtype))
    torch.autograd.backward(out, grad.to("npu"))
    for one, other in zip(device, host, strict=True):
        assert one.grad is not None
        assert other.grad is not None
        torch.testing.assert_close(one.grad.cpu(), other.grad.to(dtype), rtol=2e-2, atol=5e-3)


def test_refuses_other_shapes() -> None:
    tensors = operands(torch.float16)
    tensors[3] = tensors[3][:, :, :-1]
    rejects("key2", torch_npu.npu_fused_floyd_attention, *tensors)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("masked", [True, False])
def test_softmax_of_windows(dtype: torch.dtype, *, masked: bool) -> None:
    """A mask for each window and a bias for each head."""
    x = normal(2, 3, 4, 5, 5, dtype=dtype)
    bias, mask = normal(1, 1, 4, 5, 5, dtype=dtype, seed=1), normal(1, 3, 1, 5, 5, dtype=dtype)
    given = mask if masked else None
    scores = x.float() * 0.5 + bias.float() + (mask.float() if masked else 0)
    softmax = torch_npu.npu_masked_softmax_with_rel_pos_bias
    agree(run_on_npu(softmax, x, given, bias, 0.5), scores.softmax(-1).to(dtype))
