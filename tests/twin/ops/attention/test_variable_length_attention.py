"""Attention of packed sequences: native/opapi/ops/attention/variable_length_attention.cpp."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu

from tests.twin.ops.attention.inference import SCALE, ends, hidden_keys
from tests.twin.ops.compare import agree, rejects
from tests.twin.ops.gradients import check_gradients, leaf
from tests.twin.ops.samples import some

if TYPE_CHECKING:
    from collections.abc import Callable

    Attention = Callable[..., object]

HEADS, WIDTH = 4, 8
QUERIES, KEYS = [3, 0, 6, 5], [8, 4, 6, 2]
COMPRESSED = torch.ones(2048, 2048, dtype=torch.bool).triu(1)


def by_sequence(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    hidden: Callable[[int, int], torch.Tensor],
    sink: torch.Tensor | None = None,
) -> torch.Tensor:
    """The reference: each sequence on its own."""
    results = []
    for q, k, v in zip(*map(torch.split, (query, key, value), (QUERIES, KEYS, KEYS)), strict=True):
        groups = q.size(1) // k.size(1)
        k, v = (tensor.repeat_interleave(groups, 1) for tensor in (k, v))  # noqa: PLW2901
        scores = torch.einsum("qnd,knd->nqk", q, k) * SCALE
        scores = scores.masked_fill(hidden(q.size(0), k.size(0)), -math.inf)
        if sink is not None:
            extra = sink.view(-1, 1, 1).expand(-1, q.size(0), 1)
            weights = torch.cat((scores, extra), 2).softmax(2)[..., :-1]
        else:
            weights = scores.softmax(2).nan_to_num(0)
        results.append(torch.einsum("nqk,knd->qnd", weights, v))
    return torch.cat(results)


def attention(version: int, **options: object) -> Attention:
    """npu_fusion_attention, or its third version; of its results the first."""
    operator = {1: torch_npu.npu_fusion_attention, 3: torch_npu.npu_fusion_attention_v3}[version]
    lengths: list[object] = [ends(QUERIES), ends(KEYS)]
    if version == 3:
        lengths = [torch.tensor(length) for length in lengths]  # on the host

    def run(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, **more: object) -> object:
        return operator(
            query,
            key,
            value,
            HEADS,
            "TND",
            scale=SCALE,
            actual_seq_qlen=lengths[0],
            actual_seq_kvlen=lengths[1],
            **options,
            **more,
        )[0]

    return run


def tensors(key_heads: int = HEADS) -> list[torch.Tensor]:
    return [
        leaf((sum(QUERIES), HEADS, WIDTH)),
        *(leaf((sum(KEYS), key_heads, WIDTH), seed=seed) for seed in (4, 5)),
    ]


def on_both(version: int, mode: int = 0, **options: object) -> Attention:
    """The operator on the device, the reference on the CPU."""
    operator = attention(version, sparse_mode=mode, **options)

    def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, **more: torch.Tensor) -> object:
        if q.device.type == "npu":
            return operator(q, k, v, **more)
        return by_sequence(q, k, v, partial(hidden_keys, mode), **more)

    return run


@pytest.mark.parametrize("version", [1, 3])
@pytest.mark.parametrize("key_heads", [HEADS, 2, 1])
@pytest.mark.parametrize("softmax_layout", ["", "TND"])
def test_results_and_gradients(version: int, key_heads: int, softmax_layout: str) -> None:
    check_gradients(on_both(version, softmax_layout=softmax_layout), *tensors(key_heads))


@pytest.mark.parametrize("mode", [2, 3, 4, 6])
def test_sparse_modes(mode: int) -> None:
    """The corner that a mask starts from is that of each sequence."""
    options = {"prefix": [3] * len(QUERIES)} if mode == 6 else {}
    run = on_both(
        1,
        mode,
        atten_mask=COMPRESSED.to("npu"),
        pre_tockens=2,
        next_tockens=1,
        **options,
    )
    check_gradients(run, *tensors())


@pytest.mark.parametrize("mode", [0, 1])
def test_whole_masks(mode: int) -> None:
    """One mask, as large as the longest sequences; each takes its upper left part."""
    mask = some((max(QUERIES), max(KEYS)), torch.bool)
    operator = attention(1, sparse_mode=mode, atten_mask=mask.to("npu"))

    def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> object:
        if q.device.type == "npu":
            return operator(q, k, v)
        return by_sequence(q, k, v, lambda queries, keys: mask[:queries, :keys])

    check_gradients(run, *tensors())


@pytest.mark.parametrize("softmax_layout", ["", "TND"])
def test_sink(softmax_layout: str) -> None:
    run = on_both(3, softmax_layout=softmax_layout)
    check_gradients(run, *tensors(), sink=leaf((HEADS,), seed=6))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision(dtype: torch.dtype) -> None:
    query, key, value = (tensor.detach().to(dtype) for tensor in tensors())
    result = attention(1)(*(tensor.to("npu") for tensor in (query, key, value)))
    hidden = partial(hidden_keys, 0)
    expected = by_sequence(query.double(), key.double(), value.double(), hidden)
    agree(result, expected.to(dtype))


@pytest.mark.parametrize("softmax_layout", ["", "TND"])
def test_statistics(softmax_layout: str) -> None:
    """Maxima and sums: in the order of the tokens, or head by head within each sequence."""
    query, key, value = (tensor.detach() for tensor in tensors())
    _, highest, total, *_ = torch_npu.npu_fusion_attention(
        *(tensor.to("npu") for tensor in (query, key, value)),
        HEADS,
        "TND",
        scale=SCALE,
        actual_seq_qlen=ends(QUERIES),
        actual_seq_kvlen=ends(KEYS),
        softmax_layout=softmax_layout,
    )
    wanted = []
    for q, k in zip(*map(torch.split, (query, key), (QUERIES, KEYS)), strict=True):
        scores = torch.einsum("qnd,knd->nqk", q, k) * SCALE
        top = scores.amax(2)
        both = torch.stack((top, (scores - top.unsqueeze(2)).exp().sum(2)))  # [2, N, S]
        wanted.append((both.transpose(1, 2) if softmax_layout else both).flatten(1))
    expected = torch.cat(wanted, 1).view(2, sum(QUERIES), HEADS, 1).expand(-1, -1, -1, 8)
    agree([highest, total], list(expected))


def test_dropout() -> None:
    """The share of zeros, the scale of the rest, and the same mask in the gradient."""
    torch.manual_seed(0)
    lengths = [64, 128]
    tokens = sum(lengths)
    query = torch.zeros(tokens, 2, 16, device="npu")
    value = torch.eye(tokens, device="npu").unsqueeze(1).expand(-1, 2, -1).contiguous()
    value.requires_grad_()
    weights = torch_npu.npu_fusion_attention(
        query,
        query,
        value,
        2,
        "TND",
        keep_prob=0.75,
        actual_seq_qlen=ends(lengths),
        actual_seq_kvlen=ends(lengths),
    )[0]
    start = 0
    for length in lengths:
        own = weights[start : start + length, :, start : start + length].detach()
        kept = own > 0
        assert abs(kept.float().mean().item() - 0.75) < 0.03
        assert torch.allclose(own[kept], torch.tensor(1 / length / 0.75, device="npu"))
        start += length
    (grad,) = torch.autograd.grad(weights.sum(), value)
    assert torch.allclose(grad[:, :, 0], weights.detach().sum(0).T, atol=1e-6)


def test_sequences_that_do_not_take_part() -> None:
    """Zeros at the end of the lengths; their rows get zeros."""
    query, key, value = (tensor.detach().to("npu") for tensor in tensors())
    result = torch_npu.npu_fusion_attention(
        query,
        key,
        value,
        HEADS,
        "TND",
        scale=SCALE,
        actual_seq_qlen=[3, 0, 0],
        actual_seq_kvlen=[8, 0, 0],
    )[0].cpu()
    scores = torch.einsum("qnd,knd->nqk", query[:3].cpu(), key[:8].cpu()) * SCALE
    agree(result[:3], torch.einsum("nqk,knd->qnd", scores.softmax(2), value[:8].cpu()))
    assert not result[3:].any()


def test_out_with_workspace() -> None:
    """As captured graphs call it: forward and gradient with a workspace and given results."""
    query, key, value = (tensor.detach().to("npu") for tensor in tensors())
    lengths = {
        "actual_seq_qlen": torch.tensor(ends(QUERIES)),
        "actual_seq_kvlen": torch.tensor(ends(KEYS)),
    }
    arguments = (query, key, value, HEADS, "TND")
    options = {"scale": SCALE, **lengths}
    workspace = torch_npu._npu_fusion_attention_v3_get_max_workspace(*arguments, **options)  # noqa: SLF001
    outputs = [
        torch.empty_like(query),
        *(torch.empty(sum(QUERIES), HEADS, 8, device="npu") for _ in range(2)),
        torch.empty(0, device="npu"),
        *(torch.empty(1, dtype=torch.int64, device="npu") for _ in range(2)),
    ]
    torch_npu.npu_fusion_attention_v3.out(*arguments, **options, workspace=workspace, out=outputs)
    agree(outputs[0], attention(3)(query, key, value).cpu())  # type: ignore[attr-defined]


def test_variable_length_attention_refuses_wrong_calls() -> None:
    query, key, value = (tensor.detach() for tensor in tensors())
    with_term = attention(1, pse=torch.zeros(1, HEADS, 1024, 8, device="npu"))
    rejects("a position term (pse, realShift) is given", with_term, query, key, value)
    long = attention(1, sparse_mode=7, atten_mask=COMPRESSED.to("npu"))
    rejects("parameter 'sparseMode' is 7", long, query, key, value)
    rejects("nor exceed the 5 tokens", attention(1), query[:5], key, value)
