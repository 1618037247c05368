"""Tokens into and out of caches in blocks: native/atb/ops/reshape_and_cache.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.atb.attention_problems import on_npu, paged
from tests.twin.ops.compare import HALVES, agree
from tests.twin.ops.samples import normal

BLOCKS, BLOCK, HEADS, SIZE = 5, 8, 3, 16
SLOTS = [31, -1, 0, 17, 8]  # out of order; the second token is not stored


def stored(cache: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    result = cache.clone()
    for token, slot in zip(tokens, SLOTS, strict=True):
        if slot >= 0:
            result[slot // BLOCK, slot % BLOCK] = token
    return result


@pytest.mark.parametrize("dtype", [*HALVES, torch.int8], ids=str)
def test_keys_and_values_go_to_their_slots(dtype: torch.dtype) -> None:
    key = (normal(len(SLOTS), HEADS, SIZE, dtype=torch.float32) * 20).to(dtype)
    value = (normal(len(SLOTS), HEADS, 24, dtype=torch.float32, seed=1) * 20).to(dtype)
    key_cache = torch.zeros(BLOCKS, BLOCK, HEADS, SIZE, dtype=dtype)
    value_cache = torch.ones(BLOCKS, BLOCK, HEADS, 24, dtype=dtype)
    k, v, k_cache, v_cache = on_npu(key, value, key_cache, value_cache)
    torch_npu._npu_reshape_and_cache(  # noqa: SLF001  # as models call it
        key=k,
        value=v,
        key_cache=k_cache,
        value_cache=v_cache,
        slot_indices=torch.tensor(SLOTS, dtype=torch.int32, device="npu"),
    )
    agree(k_cache, stored(key_cache, key))
    agree(v_cache, stored(value_cache, value))


def test_keys_alone() -> None:
    key, cache = normal(len(SLOTS), HEADS, SIZE), normal(BLOCKS, BLOCK, HEADS, SIZE, seed=1)
    k, k_cache = on_npu(key, cache)
    slots = torch.tensor(SLOTS, dtype=torch.int32, device="npu")
    torch_npu._npu_reshape_and_cache_siso(k, k_cache, slots)  # noqa: SLF001
    agree(k_cache, stored(cache, key))


@pytest.mark.parametrize("cumulative", [False, True])
def test_sequences_come_out_of_their_blocks(*, cumulative: bool) -> None:
    caches = paged([5, 20, 1], HEADS, SIZE, torch.float16, value_size=24)
    lengths = [0, 5, 25, 26] if cumulative else caches.lengths
    k_cache, v_cache, table = on_npu(caches.keys, caches.values, caches.table)
    key, value = torch_npu.atb.npu_paged_cache_load(
        k_cache,
        v_cache,
        table,
        torch.tensor(lengths, dtype=torch.int32, device="npu"),
        cumsum=cumulative,
    )
    agree(key, torch.cat([caches.key(i) for i in range(3)]))
    agree(value, torch.cat([caches.value(i) for i in range(3)]))
