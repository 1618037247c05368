"""PagedAttention by formula: native/atb/ops/paged_attention.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.atb.attention_problems import attention, causal, on_npu, packed, paged
from tests.twin.ops.compare import HALVES, agree
from tests.twin.ops.samples import normal

LENGTHS = [5, 16, 33, 1]
HEADS = 8
SIZE = 32
SCALE = 0.21


def int32(values: list[int]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("key_heads", [8, 2, 1])
def test_queries_at_the_end_of_their_sequences(key_heads: int, dtype: torch.dtype) -> None:
    query = normal(len(LENGTHS), HEADS, SIZE, dtype=dtype)
    caches = paged(LENGTHS, key_heads, SIZE, dtype, value_size=48)
    out = torch.empty(len(LENGTHS), HEADS, 48, dtype=dtype, device="npu")
    q, k, v, table = on_npu(query, caches.keys, caches.values, caches.table)
    torch_npu._npu_paged_attention(  # noqa: SLF001  # as models call it
        query=q,
        key_cache=k,
        value_cache=v,
        num_kv_heads=key_heads,
        num_heads=HEADS,
        scale_value=SCALE,
        block_table=table,
        context_lens=int32(LENGTHS),
        out=out,
    )
    expected = torch.cat(
        [
            attention(query[i : i + 1], caches.key(i), caches.value(i), SCALE)
            for i in range(len(LENGTHS))
        ]
    )
    agree(out, expected.to(dtype))


def test_a_sequence_without_keys_gives_zeros() -> None:
    query = normal(2, HEADS, SIZE)
    caches = paged([0, 20], HEADS, SIZE, torch.float16)
    out = torch.full_like(query, 7).to("npu")
    q, k, v, table = on_npu(query, caches.keys, caches.values, caches.table)
    lengths = int32([0, 20])
    torch_npu._npu_paged_attention(  # noqa: SLF001
        q, k, v, HEADS, HEADS, SCALE, table, lengths, out=out
    )
    assert out[0].count_nonzero().item() == 0
    agree(out[1:], attention(query[1:], caches.key(1), caches.value(1), SCALE).half())


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("rank", [0, 3, 4])
def test_masks_of_heads_and_positions(rank: int, dtype: torch.dtype) -> None:
    """The mask is added after the scale: [N, 1, keys] or [sequences, N, 1, keys]."""
    query = normal(len(LENGTHS), HEADS, SIZE, dtype=dtype)
    caches = paged(LENGTHS, 4, SIZE, dtype)
    most = max(LENGTHS)
    mask = normal(len(LENGTHS), HEADS, 1, most, dtype=dtype, seed=9)
    if rank == 3:
        mask = mask[0].contiguous()
    out = torch.empty_like(query).to("npu")
    q, k, v, table, m = on_npu(query, caches.keys, caches.values, caches.table, mask)
    torch_npu.atb._npu_paged_attention_v2(  # noqa: SLF001
        q,
        k,
        table,
        LENGTHS,
        value_cache=v,
        mask=m if rank else None,
        num_kv_heads=4,
        num_heads=HEADS,
        scale_value=SCALE,
        mask_type=2 if rank else 0,
        out=out,
    )
    expected = []
    for i, length in enumerate(LENGTHS):
        part = mask[i] if rank == 4 else mask
        added = part[..., :length].float() if rank else 0.0
        expected.append(attention(query[i : i + 1], caches.key(i), caches.value(i), SCALE, added))
    agree(out, torch.cat(expected).to(dtype))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_values_that_are_part_of_the_keys(dtype: torch.dtype) -> None:
    query = normal(len(LENGTHS), 4, 48, dtype=dtype)
    caches = paged(LENGTHS, 1, 48, dtype)
    out = torch.empty(len(LENGTHS), 4, 32, dtype=dtype, device="npu")
    q, k, table = on_npu(query, caches.keys, caches.table)
    lengths = int32(LENGTHS)
    torch_npu._npu_paged_attention_mla(q, k, 1, 4, SCALE, table, lengths, 32, out)  # noqa: SLF001
    expected = torch.cat(
        [
            attention(query[i : i + 1], caches.key(i), caches.key(i)[..., :32], SCALE)
            for i in range(len(LENGTHS))
        ]
    )
    agree(out, expected.to(dtype))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_several_queries_of_each_sequence(dtype: torch.dtype) -> None:
    """Prefill and decode in one call; each token has a row of the mask."""
    queries, keys = [7, 1, 20], [19, 34, 20]
    query = normal(sum(queries), HEADS, SIZE, dtype=dtype)
    caches = paged(keys, 2, SIZE, dtype)
    mask = torch.zeros(sum(queries), max(keys))
    start = 0
    for count, length in zip(queries, keys, strict=True):
        rows = causal(count, length, length - count)
        mask[start : start + count, :length] = rows.masked_fill(rows < 0, -10000)
        start += count
    out = torch.empty_like(query).to("npu")
    q, k, v, table, m = on_npu(query, caches.keys, caches.values, caches.table, mask.to(dtype))
    torch_npu._npu_paged_attention_splitfuse(  # noqa: SLF001
        query=q,
        key_cache=k,
        value_cache=v,
        mask=m,
        block_table=table,
        seq_len=int32(queries),
        context_lens=int32(keys),
        num_kv_heads=2,
        num_heads=HEADS,
        scale_value=SCALE,
        out=out,
    )
    expected = [
        attention(
            part, caches.key(i), caches.value(i), SCALE, causal(count, length, length - count)
        )
        for i, (part, count, length) in enumerate(
            zip(packed(query, queries), queries, keys, strict=True)
        )
    ]
    agree(out, torch.cat(expected).to(dtype))
