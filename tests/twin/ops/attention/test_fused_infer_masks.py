"""Masks of attention for inference: as given, compressed, for single queries."""

from __future__ import annotations

import pytest
import torch

from tests.twin.ops.attention.inference import (
    BATCH,
    CAUSAL,
    HEADS,
    KEYS,
    QUERIES,
    WIDTH,
    attend_all,
    ends,
    fused,
    hidden_keys,
    pack,
)
from tests.twin.ops.compare import agree
from tests.twin.ops.samples import normal, some


@pytest.mark.parametrize("mode", [2, 3, 4])
@pytest.mark.parametrize("layout", ["BNSD", "TND"])
def test_compressed_masks(layout: str, mode: int) -> None:
    """The corner that a mask starts from is that of each sequence's own length."""
    query_lengths, key_lengths = [6, 3, 5], [8, 8, 2]
    query, key, value = (normal(BATCH, HEADS, KEYS, WIDTH, seed=i) for i in range(3))
    packed = layout == "TND"
    tensors = [query, key, value]
    if packed:
        lengths = (query_lengths, key_lengths, key_lengths)
        tensors = list(map(pack, tensors, lengths, [layout] * 3))
    out, lse = fused(
        *tensors,
        num_heads=HEADS,
        input_layout=layout,
        atten_mask=CAUSAL,
        sparse_mode=mode,
        pre_tokens=2,
        next_tokens=1,
        actual_seq_lengths=ends(query_lengths) if packed else query_lengths,
        actual_seq_lengths_kv=ends(key_lengths) if packed else key_lengths,
    )
    hidden = [
        hidden_keys(mode, queries, keys)
        for queries, keys in zip(query_lengths, key_lengths, strict=True)
    ]
    expected, expected_lse = attend_all(query, key, value, query_lengths, key_lengths, hidden)
    if packed:
        expected, expected_lse = (
            pack(tensor, query_lengths, layout) for tensor in (expected, expected_lse)
        )
    agree(out, expected.half())
    agree(lse, expected_lse)


@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize(
    "shape",
    [(QUERIES, KEYS), (1, QUERIES, KEYS), (BATCH, 1, QUERIES, KEYS), (1, 1, 16, 32)],
    ids=str,
)
def test_whole_masks(shape: tuple[int, ...], mode: int) -> None:
    """Masks of the scores, also filled up; mode 0 adds the band, mode 1 does not."""
    query = normal(BATCH, HEADS, QUERIES, WIDTH)
    key, value = (normal(BATCH, HEADS, KEYS, WIDTH, seed=i) for i in (1, 2))
    mask = some(shape, torch.bool)
    out, _ = fused(
        query,
        key,
        value,
        num_heads=HEADS,
        input_layout="BNSD",
        atten_mask=mask,
        sparse_mode=mode,
        pre_tokens=3,
        next_tokens=2,
    )
    distance = torch.arange(KEYS) - torch.arange(QUERIES)[:, None]
    band = (distance > 2) | (distance < -3)
    hidden = mask[..., :QUERIES, :KEYS].reshape(-1, QUERIES, KEYS).expand(BATCH, -1, -1)
    expected, _ = attend_all(query, key, value, hidden=list(hidden | band if mode == 0 else hidden))
    agree(out, expected.half())


@pytest.mark.parametrize("mode", [0, 3, 4])
def test_single_queries_ignore_the_mode(mode: int) -> None:
    """One query per sequence: the mask counts, [B, keys] too; lengths of queries do not."""
    query = normal(BATCH, HEADS, 1, WIDTH)
    key, value = (normal(BATCH, HEADS, KEYS, WIDTH, seed=i) for i in (1, 2))
    mask = some((BATCH, KEYS), torch.bool)
    out, _ = fused(
        query,
        key,
        value,
        num_heads=HEADS,
        input_layout="BNSD",
        atten_mask=mask,
        sparse_mode=mode,
        pre_tokens=0,
        next_tokens=0,
        actual_seq_lengths=[0],
    )
    agree(out, attend_all(query, key, value, hidden=list(mask.unsqueeze(1)))[0].half())
