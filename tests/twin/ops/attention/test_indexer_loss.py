"""The training of an indexer: native/opapi/ops/attention/indexer_loss.cpp, against autograd."""

from __future__ import annotations

import math

import pytest
import torch
import torch_npu

from tests.twin.ops.attention.inference import SCALE, ends
from tests.twin.ops.compare import HALVES, rejects, run_on_npu
from tests.twin.ops.samples import normal

BATCH, HEADS, KEY_HEADS, WIDTH, ROPE = 2, 4, 2, 16, 8
INDEX_HEADS, INDEX_WIDTH = 3, 8
QUERIES, KEYS = 20, 24  # more than are computed at once


def tensors(dtype: torch.dtype, key_heads: int = KEY_HEADS) -> dict[str, torch.Tensor]:
    shapes = {
        "query": (QUERIES, HEADS, WIDTH),
        "key": (KEYS, key_heads, WIDTH),
        "query_index": (QUERIES, INDEX_HEADS, INDEX_WIDTH),
        "key_index": (KEYS, 1, INDEX_WIDTH),
        "weights": (QUERIES, INDEX_HEADS),
        "query_rope": (QUERIES, HEADS, ROPE),
        "key_rope": (KEYS, key_heads, ROPE),
    }
    return {
        name: normal(BATCH, *shape, dtype=dtype, seed=i) / 2
        for i, (name, shape) in enumerate(shapes.items())
    }


def causal() -> torch.Tensor:
    return torch.arange(KEYS) > torch.arange(QUERIES).unsqueeze(1) + KEYS - QUERIES


def attention(given: dict[str, torch.Tensor], hidden: torch.Tensor) -> torch.Tensor:
    """Scores [B, N, S, keys] of the model's attention."""
    query = torch.cat([given["query"], given["query_rope"]], -1).double()
    key = torch.cat([given["key"], given["key_rope"]], -1).double()
    key = key.repeat_interleave(HEADS // key.size(2), 2)
    scores = torch.einsum("bsnd,bknd->bnsk", query, key) * SCALE
    return scores.masked_fill(hidden, -math.inf)


def indexer(given: dict[str, torch.Tensor], hidden: torch.Tensor) -> torch.Tensor:
    """Scores [B, S, keys] of the indexer."""
    products = torch.einsum("bsnd,bkod->bnsk", given["query_index"], given["key_index"])
    weighted = torch.einsum("bnsk,bsn->bsk", products.relu(), given["weights"])
    return weighted.masked_fill(hidden, -math.inf)


def loss_of(
    given: dict[str, torch.Tensor], hidden: torch.Tensor
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """The divergence, and its gradients by the three operands of the indexer."""
    wanted = attention(given, hidden).softmax(3).mean(1)
    names = ("query_index", "key_index", "weights")
    leaves = {name: given[name].double().requires_grad_() for name in names}
    shares = indexer(leaves, hidden if hidden.dim() < 4 else hidden.squeeze(1)).softmax(2)
    least = 1e-8
    loss = (wanted * (wanted.clamp(min=least).log() - shares.clamp(min=least).log())).sum()
    torch.autograd.backward(loss)
    gradients = {name: leaf.grad for name, leaf in leaves.items() if leaf.grad is not None}
    return loss.detach(), gradients


def statistics(scores: torch.Tensor, heads: int) -> list[torch.Tensor]:
    """Maximum and sum as attention answers them, [B, N2, S, G]."""
    highest = scores.amax(3)
    both = (highest, (scores - highest.unsqueeze(3)).exp().sum(3))
    shape = (BATCH, heads, HEADS // heads, QUERIES)
    return [one.view(shape).transpose(2, 3).float().contiguous() for one in both]


def packed(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.flatten(0, 1)


def packed_statistics(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.transpose(0, 1).flatten(1, 2).contiguous()


LENGTHS = {
    "actual_seq_qlen": ends([QUERIES] * BATCH),
    "actual_seq_klen": ends([KEYS] * BATCH),
    "layout": "TND",
}


def compare(results: object, gradients: list[torch.Tensor], loss: torch.Tensor) -> None:
    """Compare what the operators answer: three gradients and the loss."""
    assert isinstance(results, tuple)
    *actual, total = results
    for one, wanted in zip(actual, gradients, strict=True):
        torch.testing.assert_close(one.cpu(), wanted, rtol=3e-2, atol=5e-3)
    torch.testing.assert_close(total.cpu().double(), loss.view(1), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("layout", ["BSND", "TND"])
def test_dense(dtype: torch.dtype, layout: str) -> None:
    """The indexer's statistics, then loss and gradients from them."""
    given, hidden = tensors(dtype), causal()
    scores = indexer({name: tensor.double() for name, tensor in given.items()}, hidden)
    highest = scores.amax(2)
    expected = [highest, (scores - highest.unsqueeze(2)).exp().sum(2)]
    form = packed if layout == "TND" else torch.clone
    options: dict[str, object] = dict(LENGTHS) if layout == "TND" else {}
    names = ("query_index", "key_index", "weights")
    actual = run_on_npu(
        torch_npu.npu_dense_lightning_indexer_softmax_lse,
        *(form(given[name]) for name in names),
        **options,
    )
    assert isinstance(actual, tuple)
    for one, other in zip(actual, expected, strict=True):
        wanted = other.float().reshape(one.shape)
        torch.testing.assert_close(one.cpu(), wanted, rtol=1e-4, atol=1e-4)
    saved = statistics(attention(given, hidden), KEY_HEADS)
    saved = [packed_statistics(one) for one in saved] if layout == "TND" else saved
    loss, gradients = loss_of(given, hidden)
    results = run_on_npu(
        torch_npu.npu_dense_lightning_indexer_grad_kl_loss,
        *(form(given[name]) for name in ("query", "key", *names)),
        *saved,
        *(one.cpu() for one in actual),
        SCALE,
        query_rope=form(given["query_rope"]),
        key_rope=form(given["key_rope"]),
        **options,
    )
    compare(results, [form(gradients[name]).to(dtype) for name in names], loss)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("layout", ["BSND", "TND"])
def test_sparse(dtype: torch.dtype, layout: str) -> None:
    """Over the keys that were selected; -1 and keys behind the query do not count."""
    given = tensors(dtype, key_heads=1)
    generator = torch.Generator().manual_seed(4)
    order = torch.rand(BATCH, QUERIES, KEYS, generator=generator).argsort(2)[..., :10]
    order[..., 0] = 0  # every query sees something
    order[..., 1:][order[..., 1:] == 0] = -1
    seen = torch.zeros(BATCH, QUERIES, KEYS + 1, dtype=torch.bool)
    seen.scatter_(2, torch.where(order < 0, KEYS, order), value=True)
    hidden = ~seen[..., :KEYS] | causal()
    loss, gradients = loss_of(given, hidden.unsqueeze(1))
    saved = statistics(attention(given, hidden.unsqueeze(1)), 1)
    form = packed if layout == "TND" else torch.clone
    saved = [packed_statistics(one) for one in saved] if layout == "TND" else saved
    options: dict[str, object] = dict(LENGTHS) if layout == "TND" else {}
    names = ("query_index", "key_index", "weights")
    results = run_on_npu(
        torch_npu.npu_sparse_lightning_indexer_grad_kl_loss,
        *(form(given[name]) for name in ("query", "key", *names)),
        form(order.unsqueeze(2).int()),
        *saved,
        SCALE,
        query_rope=form(given["query_rope"]),
        key_rope=form(given["key_rope"]),
        **options,
    )
    compare(results, [form(gradients[name]).to(dtype) for name in names], loss)


def test_indexer_loss_refuses_wrong_calls() -> None:
    given = tensors(torch.float16)
    operands = [given[name] for name in ("query_index", "key_index", "weights")]
    statistic = torch_npu.npu_dense_lightning_indexer_softmax_lse
    rejects("sparseMode", statistic, *operands, sparse_mode=0)
    rejects("pre_tokens", statistic, *operands, pre_tokens=5)
