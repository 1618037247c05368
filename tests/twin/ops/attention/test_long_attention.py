"""Attention that is computed in blocks: forward, statistics and gradients of longer sequences."""

from __future__ import annotations

from typing import NamedTuple

import pytest
import torch
import torch_npu

SCALE, BAND = 0.2, 100


class Case(NamedTuple):
    """Sizes, and what hides keys from queries."""

    batch: int
    heads: int
    key_heads: int
    queries: int
    keys: int
    mode: int | None  # sparse_mode; None is without a mask
    position: bool = False


CASES = [
    Case(2, 4, 2, 300, 300, 2),
    Case(1, 4, 4, 500, 700, 3, position=True),
    Case(2, 2, 1, 600, 600, 0),
    Case(1, 4, 1, 513, 1030, None),
    Case(1, 2, 2, 700, 400, 3),  # the first 300 queries see nothing
    Case(1, 2, 2, 700, 700, 4),
    Case(3, 6, 3, 40, 130, 2),  # several heads in a block
    Case(2, 8, 8, 256, 256, 2),
    Case(2, 6, 2, 40, 130, 0, position=True),
]


def hidden_keys(case: Case) -> torch.Tensor | None:
    """Return where scores do not count."""
    distance = torch.arange(case.keys) - torch.arange(case.queries)[:, None]
    shift = case.keys - case.queries
    match case.mode:
        case 0:
            return torch.rand(case.batch, 1, case.queries, case.keys) < 0.3
        case 2:
            return distance > 0
        case 3:
            return distance > shift
        case 4:
            return (distance > shift) | (distance < shift - BAND)
        case _:
            return None


@pytest.mark.parametrize("case", CASES, ids=str)
def test_fusion_attention(case: Case) -> None:
    torch.manual_seed(0)
    sizes = (case.queries, case.heads), (case.keys, case.key_heads), (case.keys, case.key_heads)
    q, k, v = (torch.randn(case.batch, n, s, 16, requires_grad=True) for s, n in sizes)
    shape = (case.batch, case.heads, case.queries, case.keys)
    position = torch.randn(shape) if case.position else None
    hidden = hidden_keys(case)

    shared = case.heads // case.key_heads
    scores = q @ k.repeat_interleave(shared, 1).mT
    scores = (scores if position is None else scores + position) * SCALE
    if hidden is not None:
        scores = scores.masked_fill(hidden, float("-inf"))
    expected = scores.softmax(-1).nan_to_num() @ v.repeat_interleave(shared, 1)
    upstream = torch.randn(expected.shape)
    expected.backward(upstream)  # type: ignore[no-untyped-call]

    compressed = torch.ones(2048, 2048, dtype=torch.bool).triu(1)
    mask = hidden if case.mode == 0 else compressed
    operands = [x.detach().to("npu").requires_grad_() for x in (q, k, v)]
    out, highest, total, *_ = torch_npu.npu_fusion_attention(
        *operands,
        case.heads,
        "BNSD",
        pse=None if position is None else position.to("npu"),
        atten_mask=None if mask is None or hidden is None else mask.to("npu"),
        sparse_mode=case.mode or 0,
        pre_tockens=BAND if case.mode == 4 else 2147483647,
        next_tockens=0 if case.mode == 4 else 2147483647,
        scale=SCALE,
    )
    out.backward(upstream.to("npu"))

    torch.testing.assert_close(out.cpu(), expected, rtol=1e-4, atol=1e-5)
    seen = scores.detach().amax(-1, keepdim=True)
    blind = seen.isinf()
    seen = seen.masked_fill(blind, 0)
    sums = (scores.detach() - seen).exp().sum(-1, keepdim=True).masked_fill(blind, 1)
    torch.testing.assert_close(highest.cpu(), seen.expand(highest.shape), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(total.cpu(), sums.expand(total.shape), rtol=1e-4, atol=1e-4)
    for got, wanted in zip(operands, (q, k, v), strict=True):
        assert got.grad is not None
        torch.testing.assert_close(got.grad.cpu(), wanted.grad, rtol=1e-3, atol=1e-4)
