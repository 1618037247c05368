"""For each query, the keys that matter most: npu_lightning_indexer and its quantised form.

::

    score[i, j] = sum over heads h of weights[i, h] * max(0, query[i, h] . key[j])    in float32
    indices[i]  = the sparse_count keys of the highest scores that query i sees, highest first,
                  of equal scores the lower index first; then -1

The device does not promise the order within a row. A key whose score is within relative 1e-4 of the
last that was selected may stand for it: sums are taken in another order (`comparison.py`).

Source: op-plugin docs (2026-06), compared by experiment with the vendor's own reference; the
quantised form after ops-transformer, attention/quant_lightning_indexer, not compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from collections.abc import Callable

    # The scores of one query [N, D] with keys [keys, D], and the weights and scales of both.
    Score = Callable[
        [torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor
    ]

__all__ = [
    "lightning_indexer",
    "lightning_indexer_scores",
    "quant_lightning_indexer",
    "quant_lightning_indexer_scores",
]

INT8_DIVISOR = 1024.0  # brings the highest product of int8 vectors of 128 into float16
PER_TOKEN_AND_HEAD = 0


def lightning_indexer(  # noqa: PLR0913 -- the operator's
    query: torch.Tensor,
    key: torch.Tensor,
    weights: torch.Tensor,
    *,
    actual_seq_lengths_query: torch.Tensor | None = None,
    actual_seq_lengths_key: torch.Tensor | None = None,
    block_table: torch.Tensor | None = None,
    layout_query: str = "BSND",
    layout_key: str = "BSND",
    sparse_count: int = 2048,
    sparse_mode: int = 3,
    pre_tokens: int = UNLIMITED,
    next_tokens: int = UNLIMITED,
    return_value: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the indices of the keys that matter most to each query, and their scores.

    Parameters
    ----------
    query
        `[B, S1, N1, 128]` or `[T1, N1, 128]`; float16 or bfloat16.
    key
        `[B, S2, 1, 128]`, `[T2, 1, 128]` or `[pages, page size, 1, 128]`; the query's dtype.
    weights
        `[B, S1, N1]` or `[T1, N1]`; the query's dtype or float32.
    actual_seq_lengths_query, actual_seq_lengths_key, block_table, layout_query, layout_key
        How sequences lie in memory: `opwright.reference.tokens`.
    sparse_count
        How many keys are selected for a query.
    sparse_mode
        0: a query sees all keys; 3: causal, aligned to the end.
    pre_tokens, next_tokens
        Only the default is taken.
    return_value
        Whether the scores are wanted.

    Returns
    -------
    sparse_indices
        int32 `[B, S1, 1, sparse_count]` or `[T1, 1, sparse_count]`; -1 where fewer keys are seen,
        and in rows of no sequence.
    sparse_values
        Their scores in the query's dtype, padded with -inf; `[0]` without `return_value`.

    Raises
    ------
    ReferenceArgumentError
        Layouts, modes and lengths that the operator does not take.
    """
    rows = lightning_indexer_scores(
        query,
        key,
        weights,
        actual_seq_lengths_query=actual_seq_lengths_query,
        actual_seq_lengths_key=actual_seq_lengths_key,
        block_table=block_table,
        layout_query=layout_query,
        layout_key=layout_key,
        sparse_mode=sparse_mode,
        pre_tokens=pre_tokens,
        next_tokens=next_tokens,
    )
    indices, values = selected(rows, sparse_count)
    shape = [*query.shape[:-2], key_heads(key, layout_key), sparse_count]
    if not return_value:
        return indices.view(shape), query.new_empty(0)
    return indices.view(shape), values.to(query.dtype).view(shape)


def lightning_indexer_scores(  # noqa: PLR0913 -- the operator's
    query: torch.Tensor,
    key: torch.Tensor,
    weights: torch.Tensor,
    *,
    actual_seq_lengths_query: torch.Tensor | None = None,
    actual_seq_lengths_key: torch.Tensor | None = None,
    block_table: torch.Tensor | None = None,
    layout_query: str = "BSND",
    layout_key: str = "BSND",
    sparse_mode: int = 3,
    pre_tokens: int = UNLIMITED,
    next_tokens: int = UNLIMITED,
) -> list[torch.Tensor]:
    """Return, for each row of the result, the float32 scores of the keys that its query sees."""
    require_unlimited(sparse_mode, pre_tokens, next_tokens)
    operands = Operands(
        query=query,
        key=key,
        query_lengths=actual_seq_lengths_query,
        key_lengths=actual_seq_lengths_key,
        block_table=block_table,
        query_layout=layout_query,
        key_layout=layout_key,
    )
    one = torch.ones((), dtype=query.dtype, device=query.device)
    scales = one.expand(query.shape[:-1]), one.expand(key.shape[:-1])
    return row_scores(operands, weights, scales, sparse_mode, weighted)


def quant_lightning_indexer(  # noqa: PLR0913 -- the operator's
    query: torch.Tensor,
    key: torch.Tensor,
    weights: torch.Tensor,
    query_dequant_scale: torch.Tensor,
    key_dequant_scale: torch.Tensor,
    query_quant_mode: int,
    key_quant_mode: int,
    *,
    actual_seq_lengths_query: torch.Tensor | None = None,
    actual_seq_lengths_key: torch.Tensor | None = None,
    block_table: torch.Tensor | None = None,
    layout_query: str = "BSND",
    layout_key: str = "BSND",
    sparse_count: int = 2048,
    sparse_mode: int = 3,
    pre_tokens: int = UNLIMITED,
    next_tokens: int = UNLIMITED,
    query_dtype: int | None = None,
    key_dtype: int | None = None,
) -> torch.Tensor:
    """Return the indices of `lightning_indexer` for queries and keys with a scale per token.

    Parameters
    ----------
    query, key
        int8 or float8_e4m3fn; shapes as of `lightning_indexer`.
    weights
        float16, or bfloat16 with float8.
    query_dequant_scale
        `[B, S1, N1]` or `[T1, N1]`; float16, or float32 with float8.
    key_dequant_scale
        `[B, S2, 1]`, `[T2, 1]` or `[pages, page size, 1]`; the query scale's dtype.
    query_quant_mode, key_quant_mode
        0: a scale for each token and head.
    actual_seq_lengths_query, actual_seq_lengths_key, block_table, layout_query, layout_key
        As of `lightning_indexer`.
    sparse_count, sparse_mode, pre_tokens, next_tokens
        As of `lightning_indexer`.
    query_dtype, key_dtype
        None; the operator uses them for hifloat8, which torch does not have.

    Returns
    -------
    sparse_indices
        int32 `[B, S1, 1, sparse_count]` or `[T1, 1, sparse_count]`.

    Notes
    -----
    With int8, the float16 product of weight and query scale multiplies the float16
    max(0, query . key / 1024). With float8 the score is rounded to bfloat16.

    Raises
    ------
    ReferenceArgumentError
        Layouts, modes and lengths that the operator does not take.
    """
    require_one_of("query_quant_mode", query_quant_mode, [PER_TOKEN_AND_HEAD])
    require_one_of("key_quant_mode", key_quant_mode, [PER_TOKEN_AND_HEAD])
    require_one_of("query_dtype", query_dtype, [None])
    require_one_of("key_dtype", key_dtype, [None])
    rows = quant_lightning_indexer_scores(
        query,
        key,
        weights,
        query_dequant_scale,
        key_dequant_scale,
        actual_seq_lengths_query=actual_seq_lengths_query,
        actual_seq_lengths_key=actual_seq_lengths_key,
        block_table=block_table,
        layout_query=layout_query,
        layout_key=layout_key,
        sparse_mode=sparse_mode,
        pre_tokens=pre_tokens,
        next_tokens=next_tokens,
    )
    indices, _ = selected(rows, sparse_count)
    return indices.view([*query.shape[:-2], key_heads(key, layout_key), sparse_count])


def quant_lightning_indexer_scores(  # noqa: PLR0913 -- the operator's
    query: torch.Tensor,
    key: torch.Tensor,
    weights: torch.Tensor,
    query_dequant_scale: torch.Tensor,
    key_dequant_scale: torch.Tensor,
    *,
    actual_seq_lengths_query: torch.Tensor | None = None,
    actual_seq_lengths_key: torch.Tensor | None = None,
    block_table: torch.Tensor | None = None,
    layout_query: str = "BSND",
    layout_key: str = "BSND",
    sparse_mode: int = 3,
    pre_tokens: int = UNLIMITED,
    next_tokens: int = UNLIMITED,
) -> list[torch.Tensor]:
    """Return, for each row of the result, the scores of the keys that its query sees."""
    require_unlimited(sparse_mode, pre_tokens, next_tokens)
    require_one_of("query.dtype", query.dtype, (torch.int8, torch.float8_e4m3fn))
    operands = Operands(
        query=query,
        key=key,
        query_lengths=actual_seq_lengths_query,
        key_lengths=actual_seq_lengths_key,
        block_table=block_table,
        query_layout=layout_query,
        key_layout=layout_key,
    )
    score = weighted_int8 if query.dtype == torch.int8 else weighted_float8
    scales = query_dequant_scale, key_dequant_scale
    return row_scores(operands, weights, scales, sparse_mode, score)


def row_scores(
    operands: Operands,
    weights: torch.Tensor,
    scales: tuple[torch.Tensor, torch.Tensor],
    sparse_mode: int,
    score: Score,
) -> list[torch.Tensor]:
    """Return the scores of each row; none in a row of no sequence."""
    queries, weights, query_scales = (
        query_rows(x, operands.query_layout) for x in (operands.query, weights, scales[0])
    )
    result = [torch.empty(0, device=queries.device)] * len(queries)
    for sequence in sequences(operands):
        keys, key_scales = (sequence.tokens(x).squeeze(1) for x in (operands.key, scales[1]))
        for i in range(sequence.queries):
            seen = visible(sequence, i, sparse_mode)
            row = sequence.first_query + i
            result[row] = score(
                queries[row], keys[:seen], weights[row], query_scales[row], key_scales[:seen]
            )
    return result


def weighted(
    query: torch.Tensor,
    keys: torch.Tensor,
    weights: torch.Tensor,
    query_scale: torch.Tensor,
    key_scales: torch.Tensor,
) -> torch.Tensor:
    """Return the scores of keys that are not quantised; scales are one."""
    del query_scale, key_scales
    products = torch.relu(query.float() @ keys.float().T)
    return weights.float() @ products


def weighted_int8(
    query: torch.Tensor,
    keys: torch.Tensor,
    weights: torch.Tensor,
    query_scale: torch.Tensor,
    key_scales: torch.Tensor,
) -> torch.Tensor:
    """Return the scores of int8 keys."""
    products = query.float() @ keys.float().T  # exact: integers below 2^24
    ratios = (torch.relu(products) / INT8_DIVISOR).half()
    return ((weights * query_scale).half().float() @ ratios.float()) * key_scales.float()


def weighted_float8(
    query: torch.Tensor,
    keys: torch.Tensor,
    weights: torch.Tensor,
    query_scale: torch.Tensor,
    key_scales: torch.Tensor,
) -> torch.Tensor:
    """Return the scores of float8 keys, rounded to bfloat16."""
    products = torch.relu(query.float() @ keys.float().T)
    scores = ((weights.float() * query_scale.float()) @ products) * key_scales.float()
    return scores.bfloat16().float()


def selected(rows: list[torch.Tensor], count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the indices and scores of the `count` highest of each row, padded."""
    device = rows[0].device if rows else None
    indices = torch.full((len(rows), count), -1, dtype=torch.int32, device=device)
    values = torch.full((len(rows), count), -torch.inf, device=device)
    for i, scores in enumerate(rows):
        ordered = scores.sort(descending=True, stable=True)
        found = min(count, len(scores))
        indices[i, :found] = ordered.indices[:found].int()
        values[i, :found] = ordered.values[:found]
    return indices, values


def key_heads(key: torch.Tensor, layout: str) -> int:
    """Return the number of key heads, which is 1."""
    return key.shape[1] if layout == "TND" else key.shape[2]
