"""FlashAttentionScore and its gradient: heads that share keys, and no keys at all."""

from __future__ import annotations

from typing import Any

import torch

from opwright.graph_engine.kernels.attention import (
    flash_attention_score,
    flash_attention_score_grad,
)


def test_heads_that_share_keys() -> None:
    generator = torch.Generator().manual_seed(0)

    def drawn(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator)

    leaves = drawn(2, 4, 6, 16), drawn(2, 2, 10, 16), drawn(2, 2, 10, 16)
    grad = drawn(2, 4, 6, 16)
    options: dict[str, Any] = {"scale_value": 0.3, "head_num": 4, "input_layout": "BNSD"}
    highest, total, _, _ = flash_attention_score(*leaves, **options)
    got = flash_attention_score_grad(
        *leaves, grad, softmax_max=highest, softmax_sum=total, **options
    )
    for leaf in leaves:
        leaf.requires_grad_()
    out = torch.nn.functional.scaled_dot_product_attention(*leaves, scale=0.3, enable_gqa=True)
    want = torch.autograd.grad(out, leaves, grad)
    torch.testing.assert_close(got[:3], want, rtol=1e-4, atol=1e-5)


def test_queries_without_keys_have_zeros() -> None:
    query, nothing = torch.ones(2, 4, 6, 16), torch.ones(2, 4, 0, 16)
    options: dict[str, Any] = {"head_num": 4, "input_layout": "BNSD"}
    highest, total, _, out = flash_attention_score(query, nothing, nothing, **options)
    assert not out.count_nonzero()
    got = flash_attention_score_grad(
        query, nothing, nothing, query, softmax_max=highest, softmax_sum=total, **options
    )
    assert not got[0].count_nonzero()
    assert got[1].shape == nothing.shape
