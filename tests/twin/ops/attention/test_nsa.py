"""Native sparse attention: native/opapi/ops/attention/nsa_*.cpp, query by query, block by block."""

from __future__ import annotations

import math

import pytest
import torch
import torch_npu

from tests.twin.ops.attention.inference import SCALE, ends
from tests.twin.ops.compare import HALVES, agree, rejects, run_on_npu
from tests.twin.ops.samples import normal

# ---- compressed tokens

LENGTHS = [9, 2, 16, 5]
SIZE, STRIDE, HEADS, WIDTH = 4, 2, 2, 6


def starts_of_blocks(length: int) -> list[int]:
    return list(range(0, length - SIZE + 1, STRIDE))


def compressed(tokens: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    out, start = [], 0
    for length in LENGTHS:
        for first in starts_of_blocks(length):
            block = tokens[start + first : start + first + SIZE]
            out.append((block * weight.unsqueeze(2)).sum(0))
        start += length
    return torch.stack(out)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_compress(dtype: torch.dtype) -> None:
    """Forward and backward; blocks overlap, and short sequences have none."""
    tokens, weight = normal(sum(LENGTHS), HEADS, WIDTH, dtype=dtype), normal(SIZE, HEADS, seed=1)
    weight = weight.to(dtype)
    host = [tensor.float().requires_grad_() for tensor in (tokens, weight)]
    expected = compressed(*host)
    options = {"actual_seq_len": ends(LENGTHS)}
    actual = run_on_npu(torch_npu.npu_nsa_compress, tokens, weight, SIZE, STRIDE, **options)
    agree(actual, expected.detach().to(dtype))
    grad = normal(*expected.shape, dtype=dtype, seed=2)
    torch.autograd.backward(expected, grad.float())
    actual = run_on_npu(
        torch_npu.npu_nsa_compress_grad, grad, tokens, weight, SIZE, STRIDE, **options
    )
    assert isinstance(actual, tuple)
    for one, other in zip(actual, host, strict=True):
        assert other.grad is not None
        agree(one, other.grad.to(dtype))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_compress_into_cache(dtype: torch.dtype) -> None:
    """The last block of those sequences whose last token ends one."""
    page, lengths = 5, [8, 9, 3, 4]
    pages = normal(9, page, HEADS, WIDTH, dtype=dtype)
    table = torch.tensor([[3, 1], [0, 7], [2, -1], [8, -1]], dtype=torch.int32)
    weight, cache = normal(SIZE, HEADS, dtype=dtype, seed=1), normal(6, HEADS, WIDTH, dtype=dtype)
    slots = torch.tensor([4, 5, 0, 2], dtype=torch.int32)
    expected = cache.clone()
    for i, length in enumerate(lengths):
        if length < SIZE or (length - SIZE) % STRIDE:
            continue
        rows = torch.cat([pages[number] for number in table[i].tolist() if number >= 0])
        block = rows[length - SIZE : length].float() * weight.float().unsqueeze(2)
        expected[slots[i]] = block.sum(0).to(dtype)
    on_npu = cache.to("npu")
    torch_npu.npu_nsa_compress_infer(
        pages.to("npu"),
        weight.to("npu"),
        slots.to("npu"),
        SIZE,
        STRIDE,
        page,
        block_table=table.to("npu"),
        actual_seq_len=lengths,
        cache=on_npu,
    )
    agree(on_npu, expected)


# ---- attention to compressed keys

QUERIES, KEYS, BLOCKS = [5, 3], [9, 14], [4, 6]
QUERY_HEADS, KEY_HEADS, VALUE = 4, 2, 8
GROUP = QUERY_HEADS // KEY_HEADS
COMPRESSED, STEP, BLOCK, COUNT = 4, 2, 6, 3


def split(tensor: torch.Tensor, lengths: list[int]) -> list[torch.Tensor]:
    return list(tensor.split_with_sizes(lengths))


def weights_of(query: torch.Tensor, key: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Probabilities of [S, N, D] over [K, N, D]: [N, S, K], in float64."""
    key = key.double().repeat_interleave(query.size(1) // key.size(1), 1)
    scores = torch.einsum("snd,knd->nsk", query.double(), key) * SCALE
    return scores.masked_fill(mask, -math.inf).softmax(2).nan_to_num(0)


def importance(weights: torch.Tensor, blocks: int) -> torch.Tensor:
    """The scores of each block, [N, S, blocks]; heads of a group together."""
    shares = weights.view(KEY_HEADS, GROUP, *weights.shape[1:]).sum(1)
    result = torch.zeros(*shares.shape[:2], blocks, dtype=torch.float64)
    for block in range(blocks):
        for m in range(BLOCK // STEP):
            for n in range(COMPRESSED // STEP):
                key = BLOCK // STEP * (block + 1) - m - n
                if 0 <= key < shares.size(2):
                    result[..., block] += shares[..., key]
    return result


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("masked", [True, False])
def test_compress_attention(dtype: torch.dtype, *, masked: bool) -> None:
    query = normal(sum(QUERIES), QUERY_HEADS, WIDTH, dtype=dtype)
    key = normal(sum(KEYS), KEY_HEADS, WIDTH, dtype=dtype, seed=1)
    value = normal(sum(KEYS), KEY_HEADS, VALUE, dtype=dtype, seed=2)
    generator = torch.Generator().manual_seed(0)
    mask = torch.rand(5, 14, generator=generator) > (0.6 if masked else 2)
    mask[:, 0] = False
    wanted = torch.eye(5, 6, dtype=torch.bool) if masked else torch.zeros(5, 6, dtype=torch.bool)
    outs, choices = [], []
    parts = zip(split(query, QUERIES), split(key, KEYS), split(value, KEYS), BLOCKS, strict=True)
    for q, k, v, blocks in parts:
        weights = weights_of(q, k, mask[: len(q), : len(k)])
        values = v.double().repeat_interleave(GROUP, 1)
        outs.append(torch.einsum("nsk,knd->snd", weights, values))
        scores = importance(weights, blocks).masked_fill(wanted[: len(q), :blocks], 1e4)
        choices.append(scores.sort(dim=2, descending=True, stable=True).indices[..., :COUNT])
    options: dict[str, object] = {"atten_mask": mask, "topk_mask": wanted} if masked else {}
    actual = run_on_npu(
        torch_npu.npu_nsa_compress_attention,
        query,
        key,
        value,
        SCALE,
        QUERY_HEADS,
        COMPRESSED,
        STEP,
        BLOCK,
        COUNT,
        actual_seq_qlen=ends(QUERIES),
        actual_cmp_seq_kvlen=ends(KEYS),
        actual_sel_seq_kvlen=ends(BLOCKS),
        **options,
    )
    assert isinstance(actual, tuple)
    agree(actual[0], torch.cat(outs).to(dtype))
    agree(actual[1], torch.cat([one.transpose(0, 1) for one in choices]).int())


PAGE = 16


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("layout", ["TND", "BSND"])
def test_compress_attention_of_one_query(dtype: torch.dtype, layout: str) -> None:
    """Keys lie in pages; the first block and the last two are chosen first."""
    lengths, count = [14, 20], 5
    query = normal(2, QUERY_HEADS, WIDTH, dtype=dtype)
    key = normal(4, PAGE, KEY_HEADS * WIDTH, dtype=dtype, seed=1)
    value = normal(4, PAGE, KEY_HEADS * VALUE, dtype=dtype, seed=2)
    table = torch.tensor([[3, -1], [0, 2]], dtype=torch.int32)
    outs, choices = [], []
    for i, length in enumerate(lengths):
        pages = [number for number in table[i].tolist() if number >= 0]
        k, v = (torch.cat(list(cache[pages]))[:length] for cache in (key, value))
        k, v = k.view(length, KEY_HEADS, WIDTH), v.view(length, KEY_HEADS, VALUE)
        weights = weights_of(query[i : i + 1], k, torch.zeros((), dtype=torch.bool))
        outs.append(torch.einsum("nsk,knd->snd", weights, v.double().repeat_interleave(GROUP, 1)))
        blocks = math.ceil(((length - 1) * STEP + COMPRESSED) / BLOCK)
        scores = importance(weights, blocks)
        scores[..., [0, blocks - 2, blocks - 1]] = math.inf
        choices.append(scores.sort(dim=2, descending=True, stable=True).indices[:, 0, :count])
    out, chosen = torch.cat(outs).to(dtype), torch.stack(choices).int()
    if layout == "BSND":
        query, out, chosen = query.unsqueeze(1), out.unsqueeze(1), chosen.unsqueeze(1)
    actual = run_on_npu(
        torch_npu.npu_nsa_compress_attention_infer,
        query,
        key,
        value,
        SCALE,
        QUERY_HEADS,
        KEY_HEADS,
        BLOCK,
        count,
        PAGE,
        COMPRESSED,
        STEP,
        layout=layout,
        block_table=table,
        actual_cmp_seq_kvlen=lengths,
    )
    agree(actual, (out, chosen))


# ---- attention to chosen blocks

CHOSEN, CHOSEN_KEYS = 4, [12, 10]


def chosen_blocks() -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    rows = []
    for queries, keys in zip(QUERIES, CHOSEN_KEYS, strict=True):
        blocks = math.ceil(keys / CHOSEN)
        picks = range(queries * KEY_HEADS)
        rows += [torch.randperm(blocks, generator=generator)[:2] for _ in picks]
    return torch.stack(rows).view(sum(QUERIES), KEY_HEADS, 2).int()


def hidden_keys(chosen: torch.Tensor, queries: int, keys: int, *, causal: bool) -> torch.Tensor:
    """For [S, N, blocks] what queries may not see, [query heads, S, keys]."""
    seen = torch.zeros(KEY_HEADS, queries, keys, dtype=torch.bool)
    for query in range(queries):
        for head in range(KEY_HEADS):
            for block in chosen[query, head].tolist():
                seen[head, query, block * CHOSEN : (block + 1) * CHOSEN] = True
    if causal:
        seen &= torch.arange(keys) <= torch.arange(queries).unsqueeze(1)
    return ~seen.repeat_interleave(GROUP, 0)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("causal", [True, False])
def test_selected_attention(dtype: torch.dtype, *, causal: bool) -> None:
    """Forward and backward."""
    tensors = [
        normal(sum(QUERIES), QUERY_HEADS, WIDTH, dtype=dtype),
        normal(sum(CHOSEN_KEYS), KEY_HEADS, WIDTH, dtype=dtype, seed=1),
        normal(sum(CHOSEN_KEYS), KEY_HEADS, VALUE, dtype=dtype, seed=2),
    ]
    chosen = chosen_blocks()
    chosen[..., 0] = 0  # so that every query sees something
    chosen[..., 1] = chosen[..., 1].clamp(min=1)
    host = [tensor.double().requires_grad_() for tensor in tensors]
    query, key, value = host
    outs = []
    parts = zip(
        split(query, QUERIES),
        split(key, CHOSEN_KEYS),
        split(value, CHOSEN_KEYS),
        split(chosen, QUERIES),
        strict=True,
    )
    for q, k, v, blocks in parts:
        weights = weights_of(q, k, hidden_keys(blocks, len(q), len(k), causal=causal))
        outs.append(torch.einsum("nsk,knd->snd", weights, v.repeat_interleave(GROUP, 1)))
    expected = torch.cat(outs)
    lengths = {"actual_seq_qlen": ends(QUERIES), "actual_seq_kvlen": ends(CHOSEN_KEYS)}
    options = {**lengths, "atten_mask": torch.ones(12, 12, dtype=torch.bool) if causal else None}
    sizes = (SCALE, QUERY_HEADS, CHOSEN, 2)
    actual = run_on_npu(torch_npu.npu_nsa_select_attention, *tensors, chosen, *sizes, **options)
    assert isinstance(actual, tuple)
    agree(actual[0], expected.detach().to(dtype))
    grad = normal(*expected.shape, dtype=dtype, seed=5)
    torch.autograd.backward(expected, grad.double())
    out, highest, total = (tensor.cpu() for tensor in actual)
    saved = (grad, *tensors, out, highest, total, chosen)
    actual = run_on_npu(torch_npu.npu_nsa_select_attention_grad, *saved, *sizes, **options)
    assert isinstance(actual, tuple)
    for one, other in zip(actual, host, strict=True):
        assert other.grad is not None
        torch.testing.assert_close(one.cpu(), other.grad.to(dtype), rtol=2e-2, atol=5e-3)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("layout", ["BSND", "BSH", "TND"])
def test_selected_attention_of_one_query(dtype: torch.dtype, layout: str) -> None:
    """-1 stands for no block; the last block is shorter."""
    lengths = [14, 20]
    query = normal(2, 1, QUERY_HEADS, WIDTH, dtype=dtype)
    key = normal(4, PAGE, KEY_HEADS * WIDTH, dtype=dtype, seed=1)
    value = normal(4, PAGE, KEY_HEADS * VALUE, dtype=dtype, seed=2)
    table = torch.tensor([[3, -1], [0, 2]], dtype=torch.int32)
    chosen = torch.tensor([[[3, 0, -1], [1, -1, -1]], [[4, 2, 1], [0, 3, -1]]], dtype=torch.int32)
    outs = []
    for i, length in enumerate(lengths):
        pages = [number for number in table[i].tolist() if number >= 0]
        k, v = (torch.cat(list(cache[pages]))[:length] for cache in (key, value))
        k, v = k.view(length, KEY_HEADS, WIDTH), v.view(length, KEY_HEADS, VALUE)
        seen = torch.zeros(KEY_HEADS, 1, length, dtype=torch.bool)
        for head in range(KEY_HEADS):
            for block in chosen[i, head].tolist():
                if block >= 0:
                    seen[head, 0, block * CHOSEN : (block + 1) * CHOSEN] = True
        weights = weights_of(query[i], k, ~seen.repeat_interleave(GROUP, 0))
        outs.append(torch.einsum("nsk,knd->snd", weights, v.double().repeat_interleave(GROUP, 1)))
    out = torch.cat(outs).to(dtype)
    forms = {
        "BSND": (query, out.unsqueeze(1)),
        "BSH": (query.flatten(2), out.flatten(1).unsqueeze(1)),
        "TND": (query.squeeze(1), out),
    }
    given, expected = forms[layout]
    if layout == "BSND":  # the layout of the caches as well
        key, value = (one.view(4, PAGE, KEY_HEADS, -1) for one in (key, value))
    actual = run_on_npu(
        torch_npu.npu_nsa_select_attention_infer,
        given,
        key,
        value,
        chosen,
        SCALE,
        QUERY_HEADS,
        KEY_HEADS,
        CHOSEN,
        3,
        PAGE,
        layout=layout,
        block_table=table,
        actual_seq_kvlen=lengths,
    )
    agree(actual, expected)


def test_nsa_refuses_wrong_calls() -> None:
    tokens, weight = normal(sum(LENGTHS), HEADS, WIDTH), normal(SIZE, HEADS)
    compress = torch_npu.npu_nsa_compress
    options = {"actual_seq_len": ends(LENGTHS)}
    rejects("weight", compress, tokens, weight[:-1], SIZE, STRIDE, **options)


COMPRESS = torch_npu.npu_nsa_compress_attention
SIZES = (SCALE, QUERY_HEADS, COMPRESSED, STEP, BLOCK, COUNT)
SEQUENCES = {
    "actual_seq_qlen": ends(QUERIES),
    "actual_cmp_seq_kvlen": ends(KEYS),
    "actual_sel_seq_kvlen": ends(BLOCKS),
}


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        ("'attenMask' has shape [5, 13]", {"atten_mask": torch.zeros(5, 13).bool()}),
        ("'attenMask' has shape [1, 14]", {"atten_mask": torch.zeros(1, 14).bool()}),
        ("'topkMask' has shape [4, 6]", {"topk_mask": torch.zeros(4, 6).bool()}),
        ("'actualSelSeqKvLen' is [4, 3]", {"actual_sel_seq_kvlen": [4, 3]}),
    ],
)
def test_masks_that_are_too_small(words: str, wrong: dict[str, object]) -> None:
    query = normal(sum(QUERIES), QUERY_HEADS, WIDTH)
    key, value = (normal(sum(KEYS), KEY_HEADS, width) for width in (WIDTH, VALUE))
    rejects(words, COMPRESS, query, key, value, *SIZES, **SEQUENCES | wrong)


def paged() -> tuple[torch.Tensor, ...]:
    query = normal(2, QUERY_HEADS, WIDTH)
    return query, normal(4, PAGE, KEY_HEADS * WIDTH), normal(4, PAGE, KEY_HEADS * VALUE)


TABLE = torch.tensor([[3, -1], [0, 2]], dtype=torch.int32)


def test_lengths_of_one_query() -> None:
    """A 1 for each query, and lengths of which the compressed keys are all, change nothing."""
    attend, sizes = torch_npu.npu_nsa_compress_attention_infer, (SCALE, QUERY_HEADS, KEY_HEADS)
    given = (*paged(), *sizes, BLOCK, 5, PAGE, COMPRESSED, STEP)
    options = {"layout": "TND", "block_table": TABLE, "actual_cmp_seq_kvlen": [14, 20]}
    whole = [(length - 1) * STEP + COMPRESSED for length in (14, 20)]
    said = {"actual_seq_qlen": [1, 1], "actual_sel_seq_kvlen": whole}
    expected = run_on_npu(attend, *given, **options)
    actual = run_on_npu(attend, *given, **options, **said)
    assert isinstance(expected, tuple)
    agree(actual, tuple(each.cpu() for each in expected))
    rejects("'actualQSeqLen' is [2, 2]", attend, *given, **options, actual_seq_qlen=[2, 2])
    rejects("'actualQSeqLen' is [1]", attend, *given, **options, actual_seq_qlen=[1])
    short = [whole[0] - BLOCK, whole[1]]
    rejects("of 5 blocks", attend, *given, **options, actual_sel_seq_kvlen=short)
    rejects("for each of 2", attend, *given, **options, actual_sel_seq_kvlen=whole[:1])


def test_blocks_of_one_query_agree_with_their_number() -> None:
    attend, sizes = torch_npu.npu_nsa_select_attention_infer, (SCALE, QUERY_HEADS, KEY_HEADS)
    chosen = torch.zeros(2, KEY_HEADS, 3, dtype=torch.int32)
    options = {"layout": "TND", "block_table": TABLE, "actual_seq_kvlen": [14, 20]}
    given = (*paged(), chosen, *sizes)
    rejects("selectBlockCount 2", attend, *given, CHOSEN, 2, PAGE, **options)
    rejects("selectBlockSize is 0", attend, *given, 0, 3, PAGE, **options)
    several = options | {"actual_seq_qlen": [2, 1]}
    rejects("'actualQSeqLen' is [2, 1]", attend, *given, CHOSEN, 3, PAGE, **several)
