"""Filtering, sampling, and the step to the next token: native/opapi/ops/random/sampling.cpp."""

from __future__ import annotations

import math

import pytest
import torch
import torch_npu

from tests.twin.ops.compare import agree, rejects, run_on_npu
from tests.twin.ops.samples import normal

ROWS, WORDS = 6, 40
DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
K = torch.tensor([1, 5, 40, 7, 20, 3], dtype=torch.int32)
P = torch.tensor([0.5, 0.9, 1.0, 0.1, 0.75, 0.0])


def filtered(row: torch.Tensor, k: int | None, p: float | None) -> torch.Tensor:
    """The remaining values of a row; the rest is -inf."""
    row = row.clone()
    if k is not None:
        row[row < row.sort().values[-k]] = -math.inf
    if p is not None:
        order = row.sort(stable=True).indices
        below = row.float().softmax(0)[order].cumsum(0)
        dropped = below <= 1 - p
        dropped[-1] = False
        row[order[dropped]] = -math.inf
    return row


@DTYPES
@pytest.mark.parametrize("given", ["kp", "k", "p", ""])
def test_top_k_top_p(dtype: torch.dtype, given: str) -> None:
    logits, p = normal(ROWS, WORDS, dtype=dtype), P.to(dtype)
    expected = torch.stack(
        [
            filtered(
                logits[i],
                int(K[i]) if "k" in given else None,
                p[i].item() if "p" in given else None,
            )
            for i in range(ROWS)
        ]
    )
    actual = run_on_npu(
        torch_npu.npu_top_k_top_p,
        logits,
        p if "p" in given else None,
        K if "k" in given else None,
    )
    agree(actual, expected)


def candidates(
    row: torch.Tensor, k: int, p: float, min_p: float, most: int
) -> list[tuple[int, float]]:
    """The tokens that may be sampled with their probabilities, in the order of sampling."""
    tokens = list(range(len(row)))
    by_k, by_p = 1 <= k <= min(most, len(row)), p < 1
    if by_k or by_p or min_p >= 1:
        tokens.sort(key=lambda token: -row[token].item())
    if by_k:
        tokens = tokens[:k]
    shares = row[tokens].softmax(0).tolist()
    left = list(zip(tokens, shares, strict=True))
    if by_p:
        kept: list[tuple[int, float]] = []
        before = 0.0
        for token, share in left:
            if before < p or not kept:
                kept.append((token, share))
            before += share
        left = kept if p > 0 else [(left[0][0], 1.0)]
    if min_p >= 1:
        left = left[:1]
    elif min_p > 0:
        highest = max(share for _, share in left)
        left = [(token, share) for token, share in left if share >= highest * min_p]
    return left


@DTYPES
@pytest.mark.parametrize("min_p", [None, 0.2, 1.0])
@pytest.mark.parametrize("sampled", [True, False])
def test_sample(dtype: torch.dtype, min_p: float | None, *, sampled: bool) -> None:
    logits = (normal(ROWS, WORDS, dtype=torch.float32) * 3).to(dtype)
    k = torch.tensor([1, 5, 0, 7, 50, 3], dtype=torch.int32)
    p = torch.tensor([0.5, 0.9, 0.75, 1.0, 1.0, 0.0], dtype=dtype)
    q = torch.empty(ROWS, WORDS).exponential_(generator=torch.Generator().manual_seed(2))
    index, selected = [], torch.full((ROWS, WORDS), -math.inf)
    for i in range(ROWS):
        left = candidates(logits[i].float(), int(k[i]), p[i].item(), min_p or 0, 1024)
        scores = [s / (q[i, j].item() + 1e-8) if sampled else s for j, (_, s) in enumerate(left)]
        index.append(left[max(range(len(left)), key=scores.__getitem__)][0])
        for token, _ in left:
            selected[i, token] = logits[i, token].float()
    actual = run_on_npu(
        torch_npu.npu_top_k_top_p_sample,
        logits,
        k,
        p,
        q if sampled else None,
        is_need_logits=True,
        min_ps=None if min_p is None else torch.full((ROWS,), min_p, dtype=dtype),
        post_sample="qSample" if sampled else "None",
    )
    agree(actual, (torch.tensor(index), selected))


def test_multinomial() -> None:
    """The tokens that are drawn are those that may be, not always the best."""
    logits = normal(ROWS, WORDS, dtype=torch.float32) * 3
    p = torch.full((ROWS,), 0.8)
    drawn: list[set[int]] = [set() for _ in range(ROWS)]
    for _ in range(40):
        index, _ = torch_npu.npu_top_k_top_p_sample(
            logits.to("npu"), K.to("npu"), p.to("npu"), post_sample="multiNomial"
        )
        for tokens, token in zip(drawn, index.tolist(), strict=True):
            tokens.add(token)
    for i, tokens in enumerate(drawn):
        allowed = {token for token, _ in candidates(logits[i], int(K[i]), 0.8, 0, 1024)}
        assert tokens <= allowed
        assert len(tokens) > 1 or len(allowed) == 1


def int64(*values: int) -> torch.Tensor:
    return torch.tensor(values)


def test_step() -> None:
    """Two sequences go on, the others are padding, of which the kernel writes one for all cores."""
    tables = torch.arange(10, 26).view(4, 4)
    state = [int64(5, 6, 7, 8), int64(1, 2, 3, 4), int64(4, 9, 3, 2), int64(0, 0, 0, 5)]
    on_npu = [tensor.to("npu") for tensor in state]
    tokens, positions, lengths, slots = on_npu
    sampled = int64(21, 22).view(2, 1).to("npu")
    torch_npu.npu_advance_step_flashattn(
        tokens, sampled, positions, lengths, slots, tables.to("npu"), 4, 2, 4
    )
    agree(tokens, int64(21, 22, 0, 8))
    agree(positions, int64(4, 9, 0, 4))
    agree(lengths, int64(5, 10, 3, 2))
    # The kernel adds stride * sequence to the number of the block.
    agree(slots, int64((11 + 0) * 4 + 0, (12 + 4) * 4 + 1, -1, 5))


def test_speculative_step() -> None:
    tables = torch.arange(10, 22).view(2, 6)
    positions, sampled = int64(3, 4, 7, 8), int64(31, 32, 33, -1).view(2, 2)
    accepted, speculative = int64(1, 0), int64(41, 42).view(2, 1)
    on_npu = [torch.zeros(4, dtype=torch.int64).to("npu") for _ in range(3)]
    tokens, lengths, slots = on_npu
    moved = positions.to("npu")
    torch_npu.npu_advance_step_flashattn(
        tokens,
        sampled.to("npu"),
        moved,
        lengths,
        slots,
        tables.to("npu"),
        2,
        2,
        4,
        spec_token=speculative.to("npu"),
        accepted_num=accepted.to("npu"),
    )
    expected = int64(5, 6, 8, 9)
    agree(tokens, int64(32, 41, 33, 42))
    agree(moved, expected)
    agree(lengths, expected + 1)
    rows = torch.tensor([0, 0, 1, 1])
    agree(slots, tables[rows, expected // 4] * 4 + expected % 4)


def test_sampling_refuses_wrong_calls() -> None:
    logits = normal(ROWS, WORDS, dtype=torch.float32)
    too_many = torch.full((ROWS,), WORDS + 1, dtype=torch.int32)
    rejects("'k'", torch_npu.npu_top_k_top_p, logits, P, too_many)
    rejects("'p'", torch_npu.npu_top_k_top_p, logits, P[:2], K)
    rejects("ksMax", torch_npu.npu_top_k_top_p_sample, logits, K, P, ks_max=2000)
