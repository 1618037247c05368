"""Attention as torch_npu calls it on Ascend950: native/opapi/ops/attention/attention.cpp."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu

if TYPE_CHECKING:
    from collections.abc import Iterable

pytestmark = pytest.mark.isolated(OPWRIGHT_SOC="Ascend950")


def gradients_of(leaves: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    return [leaf.grad for leaf in leaves if leaf.grad is not None]


def test_forward_and_backward_with_a_mask() -> None:
    generator = torch.Generator().manual_seed(0)
    host = [torch.randn(2, 4, 5, 16, generator=generator).half() for _ in range(3)]
    mask = torch.ones(5, 5, dtype=torch.bool).triu(1)
    leaves = [one.double().requires_grad_() for one in host]
    scores = (leaves[0] @ leaves[1].transpose(2, 3) * 0.3).masked_fill(mask, -torch.inf)
    expected = scores.softmax(3) @ leaves[2]
    torch.autograd.backward(expected.sum())
    device = [one.to("npu").requires_grad_() for one in host]
    out = torch_npu.npu_fusion_attention(*device, 4, "BNSD", scale=0.3, atten_mask=mask.to("npu"))[
        0
    ]
    torch.autograd.backward(out.sum())
    torch.testing.assert_close(out.cpu(), expected.half(), rtol=1e-2, atol=2e-3)
    wanted = gradients_of(leaves)
    assert len(wanted) == 3
    for got, want in zip(gradients_of(device), wanted, strict=True):
        torch.testing.assert_close(got.cpu(), want.half(), rtol=2e-2, atol=5e-3)


def test_dropout_whose_mask_is_made_from_a_seed() -> None:
    identity = torch.eye(64).expand(1, 1, 64, 64).contiguous()
    inputs = [torch.zeros(1, 1, 64, 64).half().to("npu") for _ in range(2)]
    value = identity.half().to("npu").requires_grad_()
    weights = torch_npu.npu_fusion_attention(*inputs, value, 1, "BNSD", keep_prob=0.75)[0]
    torch.autograd.backward(weights.sum())
    kept = weights.detach().cpu().float() * 64 * 0.75  # each weight is 1 / 64 of keep_prob
    assert 0.7 < kept.mean() < 0.8
    columns = weights.detach().sum(2).view(1, 1, 64, 1).expand(1, 1, 64, 64)
    (gradient,) = gradients_of([value])
    torch.testing.assert_close(gradient.cpu(), columns.cpu(), rtol=1e-2, atol=1e-2)


def test_packed_sequences() -> None:
    generator = torch.Generator().manual_seed(1)
    host = [torch.randn(6, 2, 16, generator=generator).half() for _ in range(3)]
    leaves = [one.double().requires_grad_() for one in host]
    rows = []
    for begin, end in ((0, 2), (2, 6)):
        query, key, value = (one[begin:end].transpose(0, 1) for one in leaves)
        rows.append(((query @ key.mT * 0.3).softmax(-1) @ value).transpose(0, 1))
    expected = torch.cat(rows)
    torch.autograd.backward(expected.square().sum())
    device = [one.to("npu").requires_grad_() for one in host]
    lengths = {"actual_seq_qlen": [2, 6], "actual_seq_kvlen": [2, 6]}
    out = torch_npu.npu_fusion_attention(*device, 2, "TND", scale=0.3, **lengths)[0]
    torch.autograd.backward(out.square().sum())
    torch.testing.assert_close(out.cpu(), expected.half(), rtol=1e-2, atol=2e-3)
    wanted = gradients_of(leaves)
    assert len(wanted) == 3
    for got, want in zip(gradients_of(device), wanted, strict=True):
        torch.testing.assert_close(got.cpu(), want.half(), rtol=2e-2, atol=1e-2)


def test_packed_sequences_take_no_dropout_from_a_seed() -> None:
    packed = [torch.zeros(6, 2, 16).half().to("npu") for _ in range(3)]
    lengths = {"actual_seq_qlen": [2, 6], "actual_seq_kvlen": [2, 6]}

    def attempt() -> None:
        torch_npu.npu_fusion_attention(*packed, 2, "TND", keep_prob=0.5, **lengths)
        torch_npu.npu.synchronize()

    with pytest.raises(RuntimeError, match=r"'keepProb' is 0\.5 without a mask"):
        attempt()
