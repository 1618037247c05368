"""Attention of each query to selected keys: npu_sparse_flash_attention and its quantised form.

Keys are latent vectors whose first 512 columns are also the values (MLA, absorbed). For query i,
its head h, and the tokens j that `sparse_indices` selects for it and that it sees::

    s[j] = scale_value * (query[i, h] . key[j] + query_rope[i, h] . key_rope[j])      in float32
    m    = max over j of s[j], and sinks[h]
    l    = sum over j of exp(s[j] - m), and exp(sinks[h] - m)
    out  = sum over j of round(exp(s[j] - m) / l) * value[j]     rounded to the query's dtype

A row that selects nothing is 0.

Source: op-plugin docs (2026-06), compared by experiment with the vendor's own reference; the
quantised form from the same docs, not compared.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from opwright.reference.errors import require_one_of
from opwright.reference.tokens import (
    UNLIMITED,
    Operands,
    query_rows,
    require_unlimited,
    sequences,
    visible,
)

__all__ = [
    "ABSORBED",
    "LATENT",
    "ROPE",
    "dequantized",
    "kv_quant_sparse_flash_attention",
    "sparse_flash_attention",
]

ABSORBED = 2  # of attention_mode: MLA whose up-projections are in the queries and the output
LATENT = 512  # columns of a compressed key, which is the value as well
ROPE = 64  # columns of the part with rotary positions
TILE = 128  # values of a quantised cache that share a scale
PER_TILE = 2  # of key_quant_mode and value_quant_mode
WITH_DATA = 1  # of quant_scale_repo_mode: scales follow the values of their token


def sparse_flash_attention(  # noqa: PLR0913 -- the operator's
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor | None,
    sparse_indices: torch.Tensor,
    scale_value: float,
    *,
    block_table: torch.Tensor | None = None,
    actual_seq_lengths_query: torch.Tensor | None = None,
    actual_seq_lengths_kv: torch.Tensor | None = None,
    query_rope: torch.Tensor | None = None,
    key_rope: torch.Tensor | None = None,
    sparse_block_size: int = 1,
    layout_query: str = "BSND",
    layout_kv: str = "BSND",
    sparse_mode: int = 3,
    pre_tokens: int = UNLIMITED,
    next_tokens: int = UNLIMITED,
    attention_mode: int = 0,
    return_softmax_lse: bool = False,
    sinks: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return attention to selected keys, and the statistics of its softmax.

    Parameters
    ----------
    query
        `[B, S1, N1, 512]` or `[T1, N1, 512]`; float16 or bfloat16.
    key, value
        `[B, S2, 1, 512]`, `[T2, 1, 512]` or `[pages, page size, 1, 512]`; the query's dtype. The
        key if there is no value.
    sparse_indices
        int32 `[B, S1, 1, K]` or `[T1, 1, K]`: blocks of `sparse_block_size` tokens, then -1. A
        block that is named twice counts twice; one that the query does not see counts nothing.
    scale_value
        Factor of the scores.
    block_table, actual_seq_lengths_query, actual_seq_lengths_kv, layout_query, layout_kv
        How sequences lie in memory: `opwright.reference.tokens`.
    query_rope, key_rope
        The parts with positions, 64 wide, in the layouts of query and key.
    sparse_block_size
        Tokens of a block of `sparse_indices`.
    sparse_mode
        0: a query sees all keys; 3: causal, aligned to the end.
    pre_tokens, next_tokens
        Only the default is taken.
    attention_mode
        2; the operator does not take its own default.
    return_softmax_lse
        Whether the statistics are wanted.
    sinks
        float32 `[N1]`: a score of each head whose value is zero.

    Returns
    -------
    attention_out
        The query's shape and dtype.
    softmax_max, softmax_sum
        m and l, float32 `[B, 1, S1, N1]` or `[1, T1, N1]`; `[0]` without `return_softmax_lse`. In
        a row that selects nothing 0 and 0, or the sink and 1; in rows of no sequence 0.

    Raises
    ------
    ReferenceArgumentError
        Layouts, modes and lengths that the operator does not take.
    """
    require_one_of("attention_mode", attention_mode, [ABSORBED])
    require_unlimited(sparse_mode, pre_tokens, next_tokens)
    operands = Operands(
        query=query,
        key=key,
        query_lengths=actual_seq_lengths_query,
        key_lengths=actual_seq_lengths_kv,
        block_table=block_table,
        query_layout=layout_query,
        key_layout=layout_kv,
        lengths_name="actual_seq_lengths_kv",
        layout_name="layout_kv",
    )
    problem = Problem(
        operands=operands,
        value=key if value is None else value,
        query_rope=query_rope,
        key_rope=key_rope,
        indices=sparse_indices,
        scale=scale_value,
        block_size=sparse_block_size,
        sparse_mode=sparse_mode,
        sinks=sinks,
    )
    out, highest, total = attend(problem)
    if not return_softmax_lse:
        return out.view(query.shape), highest.new_empty(0), total.new_empty(0)
    return out.view(query.shape), by_key_head(highest, query), by_key_head(total, query)


def kv_quant_sparse_flash_attention(  # noqa: PLR0913 -- the operator's
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    sparse_indices: torch.Tensor,
    scale_value: float,
    key_quant_mode: int,
    value_quant_mode: int,
    *,
    key_dequant_scale: torch.Tensor | None = None,
    value_dequant_scale: torch.Tensor | None = None,
    block_table: torch.Tensor | None = None,
    actual_seq_lengths_query: torch.Tensor | None = None,
    actual_seq_lengths_kv: torch.Tensor | None = None,
    sparse_block_size: int = 1,
    layout_query: str = "BSND",
    layout_kv: str = "BSND",
    sparse_mode: int = 3,
    pre_tokens: int = UNLIMITED,
    next_tokens: int = UNLIMITED,
    attention_mode: int = 0,
    quant_scale_repo_mode: int = 1,
    tile_size: int = TILE,
    rope_head_dim: int = ROPE,
    key_dtype: int | None = None,
    value_dtype: int | None = None,
    sinks: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return attention to selected keys of a quantised cache.

    Parameters
    ----------
    query
        `[B, S1, N1, 576]` or `[T1, N1, 576]`: 512 columns and 64 of the part with positions;
        float16 or bfloat16.
    key
        `[B, S2, 1, 656]`, `[T2, 1, 656]` or `[pages, page size, 1, 656]`; int8 or float8_e4m3fn.
        Of a token's 656 bytes the first 512 are its values, the next 128 its part with positions
        in the query's dtype, the last 16 are float32 scales of 128 values each.
    value
        The key; its values are those of the key.
    key_quant_mode, value_quant_mode
        2: scales of tiles.
    sparse_indices, scale_value, sparse_block_size, sparse_mode, attention_mode, sinks
        As of `sparse_flash_attention`, and so are lengths, layouts and the block table.
    key_dequant_scale, value_dequant_scale
        Reserved.
    quant_scale_repo_mode
        1: scales are stored with their token.
    tile_size, rope_head_dim
        128 and 64.
    key_dtype, value_dtype
        None; the operator uses them for hifloat8, which torch does not have.

    Returns
    -------
    attention_out
        `[B, S1, N1, 512]` or `[T1, N1, 512]` in the query's dtype.

    Raises
    ------
    ReferenceArgumentError
        Layouts, modes and lengths that the operator does not take.
    """
    del value
    required = (
        ("key_quant_mode", key_quant_mode, PER_TILE),
        ("value_quant_mode", value_quant_mode, PER_TILE),
        ("quant_scale_repo_mode", quant_scale_repo_mode, WITH_DATA),
        ("tile_size", tile_size, TILE),
        ("rope_head_dim", rope_head_dim, ROPE),
        ("key_dtype", key_dtype, None),
        ("value_dtype", value_dtype, None),
    )
    for name, got, allowed in required:
        require_one_of(name, got, [allowed])
    del key_dequant_scale, value_dequant_scale
    latent, rope = dequantized(key, query.dtype)
    out, _, _ = sparse_flash_attention(
        query[..., :LATENT],
        latent,
        latent,
        sparse_indices,
        scale_value,
        block_table=block_table,
        actual_seq_lengths_query=actual_seq_lengths_query,
        actual_seq_lengths_kv=actual_seq_lengths_kv,
        query_rope=query[..., LATENT:],
        key_rope=rope,
        sparse_block_size=sparse_block_size,
        layout_query=layout_query,
        layout_kv=layout_kv,
        sparse_mode=sparse_mode,
        pre_tokens=pre_tokens,
        next_tokens=next_tokens,
        attention_mode=attention_mode,
        sinks=sinks,
    )
    return out


def dequantized(cache: torch.Tensor, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the 512 values of each token of a quantised cache, in a dtype, and its rope part."""
    data = cache.contiguous().view(torch.int8)
    latent = data[..., :LATENT].contiguous().view(cache.dtype).float()
    rope = data[..., LATENT : LATENT + 2 * ROPE].contiguous().view(dtype)
    scales = data[..., LATENT + 2 * ROPE :].contiguous().view(torch.float32)
    return (latent * scales.repeat_interleave(TILE, -1)).to(dtype), rope


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Operands of attention to selected keys."""

    operands: Operands
    value: torch.Tensor
    query_rope: torch.Tensor | None
    key_rope: torch.Tensor | None
    indices: torch.Tensor
    scale: float
    block_size: int
    sparse_mode: int
    sinks: torch.Tensor | None


def attend(problem: Problem) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return results `[rows, N1, 512]`, and the maxima and sums of the softmax, `[rows, N1]`."""
    operands = problem.operands
    queries = query_rows(joined(operands.query, problem.query_rope), operands.query_layout)
    indices = query_rows(problem.indices, operands.query_layout).squeeze(1)
    out = torch.zeros_like(query_rows(operands.query, operands.query_layout)).contiguous()
    highest = torch.zeros(out.shape[:2], device=out.device)
    total = torch.zeros_like(highest)
    for sequence in sequences(operands):
        keys, values = (
            sequence.tokens(x).squeeze(1)
            for x in (joined(operands.key, problem.key_rope), problem.value)
        )
        for i in range(sequence.queries):
            row = sequence.first_query + i
            tokens = selected_tokens(
                indices[row], visible(sequence, i, problem.sparse_mode), problem.block_size
            )
            out[row], highest[row], total[row] = attend_row(
                queries[row], keys[tokens], values[tokens], problem.scale, problem.sinks
            )
    return out, highest, total


def attend_row(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    scale: float,
    sinks: torch.Tensor | None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the result `[N1, 512]` of one query `[N1, D]`, its maxima and sums `[N1]`."""
    scores = scale * (query.float() @ keys.float().T)
    if sinks is not None:  # as a key whose value is zero
        scores = torch.cat((scores, sinks.float().unsqueeze(1)), 1)
    if len(keys) == 0:
        nothing = torch.zeros_like(query[:, 0], dtype=torch.float32)
        out = query.new_zeros(len(query), values.shape[1])
        return (out, nothing, nothing) if sinks is None else (out, sinks.float(), nothing + 1)
    highest = scores.amax(1)
    powers = (scores - highest.unsqueeze(1)).exp()
    total = powers.sum(1)
    weights = (powers / total.unsqueeze(1))[:, : len(keys)].to(query.dtype)
    return (weights.float() @ values.float()).to(query.dtype), highest, total


def selected_tokens(indices: torch.Tensor, seen: int, block_size: int) -> list[int]:
    """Return the tokens of the blocks that are named, of those that a query sees."""
    named: list[int] = indices[: -(-seen // block_size)].tolist()
    if -1 in named:
        named = named[: named.index(-1)]
    return [
        token
        for block in named
        for token in range(block * block_size, min((block + 1) * block_size, seen))
    ]


def joined(latent: torch.Tensor, rope: torch.Tensor | None) -> torch.Tensor:
    """Return latent and rope part as one vector."""
    return latent if rope is None else torch.cat((latent, rope), -1)


def by_key_head(statistic: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
    """Return `[rows, N1]` as `[B, 1, S1, N1]` or `[1, T1, N1]`."""
    return statistic.view(query.shape[:-1]).unsqueeze(-3)
