"""SelfAttention of packed sequences by formula: native/atb/ops/self_attention.cpp."""

from __future__ import annotations

from itertools import starmap

import pytest
import torch
import torch_npu

from tests.twin.atb.attention_problems import attention, causal, on_npu, packed, paged
from tests.twin.ops.compare import HALVES, agree
from tests.twin.ops.samples import normal

LENGTHS = [7, 1, 20]
TOKENS = sum(LENGTHS)
HEADS = 8
SIZE = 32
SCALE = 0.17
HIDDEN = {torch.float16: -10000.0, torch.bfloat16: 1.0}  # how a mask hides a key


def tokens(
    key_heads: int, dtype: torch.dtype, value_size: int = SIZE
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return (
        normal(TOKENS, HEADS, SIZE, dtype=dtype),
        normal(TOKENS, key_heads, SIZE, dtype=dtype, seed=1),
        normal(TOKENS, key_heads, value_size, dtype=dtype, seed=2),
    )


def lengths() -> torch.Tensor:
    return torch.tensor(LENGTHS, dtype=torch.int32)


def by_sequence(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, added: list[torch.Tensor | float]
) -> torch.Tensor:
    queries, keys, values = (packed(tensor, LENGTHS) for tensor in (query, key, value))
    results = [
        attention(queries[i], keys[i], values[i], SCALE, each) for i, each in enumerate(added)
    ]
    return torch.cat(results).to(query.dtype)


def causal_terms() -> list[torch.Tensor | float]:
    return [causal(length, length) for length in LENGTHS]


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("key_heads", [8, 2])
def test_every_token_of_a_sequence_counts_without_a_mask(
    key_heads: int, dtype: torch.dtype
) -> None:
    query, key, value = tokens(key_heads, dtype, 48)
    out = torch.empty(TOKENS, HEADS, 48, dtype=dtype, device="npu")
    q, k, v = on_npu(query, key, value)
    torch_npu._npu_flash_attention_unpad(  # noqa: SLF001  # as models call it
        query=q,
        key=k,
        value=v,
        seq_len=lengths(),
        scale_value=SCALE,
        num_heads=HEADS,
        num_kv_heads=key_heads,
        out=out,
    )
    agree(out, by_sequence(query, key, value, [0.0] * len(LENGTHS)))


def test_heads_that_are_joined() -> None:
    query, key, value = tokens(4, torch.float16)
    out = torch.empty(TOKENS, HEADS * SIZE, dtype=torch.float16, device="npu")
    q, k, v = on_npu(*(tensor.flatten(1) for tensor in (query, key, value)))
    torch_npu._npu_flash_attention_unpad(q, k, v, lengths(), SCALE, HEADS, 4, out)  # noqa: SLF001
    agree(out, by_sequence(query, key, value, [0.0] * len(LENGTHS)).flatten(1))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("has_batches", [False, True])
def test_a_mask_hides_keys(*, has_batches: bool, dtype: torch.dtype) -> None:
    """It is added in float16; in bfloat16 it counts -3e38 times, so that 1 hides a key."""
    query, key, value = tokens(2, dtype)
    most = max(LENGTHS)
    mask = torch.triu(torch.ones(most, most), 1) * HIDDEN[dtype]
    if has_batches:
        mask = mask.repeat(len(LENGTHS), 1, 1)
    out = torch.empty_like(query).to("npu")
    q, k, v, m = on_npu(query, key, value, mask.to(dtype))
    torch_npu._npu_flash_attention(  # noqa: SLF001
        query=q,
        key=k,
        value=v,
        mask=m,
        seq_len=lengths(),
        scale_value=SCALE,
        num_heads=HEADS,
        num_kv_heads=2,
        out=out,
    )
    agree(out, by_sequence(query, key, value, causal_terms()))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_a_compressed_mask_stands_for_positions(dtype: torch.dtype) -> None:
    query, key, value = tokens(2, dtype)
    mask = (torch.triu(torch.ones(128, 128), 1) * HIDDEN[dtype]).to(dtype)
    out = torch.empty_like(query).to("npu")
    q, k, v, m = on_npu(query, key, value, mask)
    torch_npu._npu_flash_attention_v3(q, k, v, m, lengths(), SCALE, HEADS, 2, out=out)  # noqa: SLF001
    agree(out, by_sequence(query, key, value, causal_terms()))


def test_keys_with_lengths_of_their_own() -> None:
    """Lengths [2, sequences] are those of queries and of keys."""
    queries, keys = [4, 1, 6], [9, 3, 2]
    query = normal(sum(queries), HEADS, SIZE)
    key, value = (normal(sum(keys), 4, SIZE, seed=seed) for seed in (1, 2))
    out = torch.empty_like(query).to("npu")
    q, k, v = on_npu(query, key, value)
    both = torch.tensor([queries, keys], dtype=torch.int32)
    torch_npu._npu_flash_attention_unpad(q, k, v, both, SCALE, HEADS, 4, out)  # noqa: SLF001
    parts = zip(packed(query, queries), packed(key, keys), packed(value, keys), strict=True)
    expected = [attention(each, its_key, its_value, SCALE) for each, its_key, its_value in parts]
    agree(out, torch.cat(expected).half())


def slope_terms(slopes: torch.Tensor, *, is_root: bool) -> list[torch.Tensor | float]:
    terms: list[torch.Tensor | float] = []
    for length in LENGTHS:
        place = torch.arange(length)
        distance = (place.unsqueeze(1) - place).clamp(min=0).float()
        bias = distance.sqrt() if is_root else distance
        terms.append(slopes.view(-1, 1, 1) * bias + causal(length, length))
    return terms


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("mask_type", [2, 4, 5])
def test_slopes_of_heads(mask_type: int, dtype: torch.dtype) -> None:
    """A whole mask for each head (2), or slopes for distances (4) and their roots (5)."""
    query, key, value = tokens(2, dtype)
    slopes = -torch.pow(2.0, -torch.arange(1, HEADS + 1))
    terms = slope_terms(slopes, is_root=mask_type == 5)
    most = max(LENGTHS)
    whole = terms[-1].clamp(min=-30000) if isinstance(terms[-1], torch.Tensor) else None
    assert whole is not None
    assert whole.shape == (HEADS, most, most)
    mask = whole if mask_type == 2 else torch.zeros(256, 256)
    out = torch.empty_like(query).to("npu")
    q, k, v, m, s = on_npu(query, key, value, mask.to(dtype), slopes)
    torch_npu.atb._npu_flash_attention_v2(  # noqa: SLF001
        q,
        k,
        v,
        LENGTHS,
        mask=m,
        slopes=None if mask_type == 2 else s,
        kernel_type=1,
        mask_type=mask_type,
        scale_value=SCALE,
        num_heads=HEADS,
        num_kv_heads=2,
        out=out,
    )
    if mask_type == 2:
        rounded = whole.to(dtype).float()
        terms = [rounded[:, :length, :length] for length in LENGTHS]
    agree(out, by_sequence(query, key, value, terms))


QUERIES, KEYS = [5, 1, 18], [21, 34, 18]


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("function", ["qlens", "prefix_v2", "slopes", "encoder", "encoder_mask"])
def test_queries_behind_a_prefix_in_blocks(function: str, dtype: torch.dtype) -> None:
    query = normal(sum(QUERIES), HEADS, SIZE, dtype=dtype)
    caches = paged(KEYS, 2, SIZE, dtype)
    slopes = -torch.pow(2.0, -torch.arange(1, HEADS + 1))
    out = torch.empty_like(query).to("npu")
    q, k, v, table = on_npu(query, caches.keys, caches.values, caches.table)
    mask = (torch.triu(torch.ones(128, 128), 1) * HIDDEN[dtype]).to(dtype).to("npu")
    alibi = torch.zeros(256, 256, dtype=dtype, device="npu")
    if function == "qlens":
        torch_npu._npu_flash_attention_qlens(  # noqa: SLF001
            query=q,
            key_cache=k,
            value_cache=v,
            block_table=table,
            mask=mask,
            seq_len=torch.tensor(QUERIES, dtype=torch.int32),
            context_lens=torch.tensor(KEYS, dtype=torch.int32),
            num_kv_heads=2,
            num_heads=HEADS,
            scale_value=SCALE,
            out=out,
        )
    elif function.startswith("encoder"):
        out = torch_npu.atb.npu_self_attention_prefix_encoder(
            q,
            k,
            v,
            table,
            QUERIES,
            KEYS,
            HEADS,
            SCALE,
            2,
            mask=mask if function == "encoder_mask" else None,
            mask_type="mask_type_norm_compress" if function == "encoder_mask" else None,
        )
    else:
        has_slopes = function == "slopes"
        torch_npu.atb._npu_flash_attention_prefix_v2(  # noqa: SLF001
            q,
            k,
            v,
            table,
            alibi if has_slopes else mask,
            QUERIES,
            KEYS,
            slopes=slopes.to("npu") if has_slopes else None,
            mask_type=4 if has_slopes else 3,
            num_kv_heads=2,
            num_heads=HEADS,
            scale_value=SCALE,
            out=out,
        )

    def term(count: int, length: int) -> torch.Tensor:
        offset = length - count
        hidden = causal(count, length, offset)
        if function != "slopes":
            return hidden
        distance = (torch.arange(count).unsqueeze(1) + offset - torch.arange(length)).clamp(min=0)
        return hidden + slopes.view(-1, 1, 1) * distance

    terms = list(starmap(term, zip(QUERIES, KEYS, strict=True)))
    expected = [
        attention(part, caches.key(i), caches.value(i), SCALE, terms[i])
        for i, part in enumerate(packed(query, QUERIES))
    ]
    agree(out, torch.cat(expected).to(dtype))
