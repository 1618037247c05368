"""Fused attention."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from opwright.engine.kernels.attention_scores import (
    Band,
    Problem,
    attend,
    hidden_keys,
    join_heads,
    split_heads,
)
from opwright.engine.kernels.precision import widened
from opwright.engine.table import kernel

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST = 2147483647
STATISTICS = 8  # columns that the device stores a row's maximum and sum in
LAYOUTS = {"BNSD_BSND": ("BNSD", "BSND")}  # of query and result, if they differ


def refuse(given: Mapping[str, object]) -> None:
    """Raise NotImplementedError for inputs that are given although they are not computed."""
    names = [name for name, value in given.items() if value is not None]
    if names:
        message = f"inputs {', '.join(names)} are not available"
        raise NotImplementedError(message)


def key_heads_of(key: torch.Tensor, size: int, layout: str) -> int:
    """Return how many heads a key has; layouts that join heads say it by the size of one."""
    return key.shape[2] // size if layout in ("BSH", "SBH") else 1


def training_problem(
    operands: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    position: torch.Tensor | None,
    mask: torch.Tensor | None,
    prefix: list[int] | None,
    *,
    scale: float,
    band: Band,
    layout: str,
    heads: int,
) -> Problem:
    """Return the problem of FlashAttentionScore; position terms are added before the scale."""
    query = split_heads(operands[0], layout, heads)
    key_heads = key_heads_of(operands[1], query.shape[3], layout)
    key, value = (split_heads(x, layout, key_heads) for x in operands[1:])
    shifted = Band(
        mode=band.mode, before=band.before, after=band.after, shift=key.shape[2] - query.shape[2]
    )
    hidden = hidden_keys(shifted, mask, prefix, query.shape[2], key.shape[2])
    return Problem(
        query=query,
        key=key,
        value=value,
        scale=scale,
        hidden=hidden,
        position=position,
        scale_position=True,
    )


@kernel("FlashAttentionScore")
def flash_attention_score(  # noqa: PLR0913, PLR0917 -- the prototype's
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    real_shift: torch.Tensor | None = None,
    drop_mask: torch.Tensor | None = None,
    padding_mask: torch.Tensor | None = None,
    atten_mask: torch.Tensor | None = None,
    prefix: list[int] | None = None,
    actual_seq_qlen: list[int] | None = None,
    actual_seq_kvlen: list[int] | None = None,
    q_start_idx: list[int] | None = None,
    kv_start_idx: list[int] | None = None,
    *,
    scale_value: float = 1.0,
    keep_prob: float = 1.0,
    pre_tockens: int = MOST,
    next_tockens: int = MOST,
    head_num: int,
    input_layout: str,
    inner_precise: int = 1,
    sparse_mode: int = 0,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Attention of training, without dropout."""
    del padding_mask, actual_seq_qlen, actual_seq_kvlen, q_start_idx, kv_start_idx, inner_precise
    refuse({"drop_mask": drop_mask, "keep_prob": None if keep_prob == 1 else keep_prob})
    problem = training_problem(
        (query, key, value),
        real_shift,
        atten_mask,
        prefix,
        scale=scale_value,
        band=Band(mode=sparse_mode, before=pre_tockens, after=next_tockens, shift=0),
        layout=input_layout,
        heads=head_num,
    )
    result = attend(problem)
    rows = [*result.highest.shape[:-1], STATISTICS]
    return (
        result.highest.float().expand(rows).clone(),
        result.total.float().expand(rows).clone(),
        query.new_empty(0),
        join_heads(result.out, input_layout),
    )


@kernel("FlashAttentionScoreGrad")
def flash_attention_score_grad(  # noqa: PLR0913, PLR0917 -- the prototype's
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    dy: torch.Tensor,
    pse_shift: torch.Tensor | None = None,
    drop_mask: torch.Tensor | None = None,
    padding_mask: torch.Tensor | None = None,
    atten_mask: torch.Tensor | None = None,
    softmax_max: torch.Tensor | None = None,
    softmax_sum: torch.Tensor | None = None,
    softmax_in: torch.Tensor | None = None,
    attention_in: torch.Tensor | None = None,
    prefix: list[int] | None = None,
    actual_seq_qlen: list[int] | None = None,
    actual_seq_kvlen: list[int] | None = None,
    q_start_idx: list[int] | None = None,
    kv_start_idx: list[int] | None = None,
    *,
    scale_value: float = 1.0,
    keep_prob: float = 1.0,
    pre_tockens: int = 65536,
    next_tockens: int = 65536,
    head_num: int,
    input_layout: str,
    inner_precise: int = 1,
    sparse_mode: int = 0,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Gradients of FlashAttentionScore, from its maximum and sum."""
    del padding_mask, softmax_in, attention_in, inner_precise
    del actual_seq_qlen, actual_seq_kvlen, q_start_idx, kv_start_idx
    refuse({"drop_mask": drop_mask, "keep_prob": None if keep_prob == 1 else keep_prob})
    if softmax_max is None or softmax_sum is None:
        message = "the maximum and sum of the softmax are needed"
        raise ValueError(message)
    problem = training_problem(
        (query, key, value),
        pse_shift,
        atten_mask,
        prefix,
        scale=scale_value,
        band=Band(mode=sparse_mode, before=pre_tockens, after=next_tockens, shift=0),
        layout=input_layout,
        heads=head_num,
    )
    weights = (problem.scores() - softmax_max[..., :1]).exp() / softmax_sum[..., :1]
    grad = widened(split_heads(dy, input_layout, head_num))
    by_weights = grad @ problem.repeated(problem.value).transpose(-1, -2)
    by_scores = weights * (by_weights - (by_weights * weights).sum(-1, keepdim=True))
    by_query = by_scores @ problem.repeated(problem.key) * problem.scale
    by_key = by_scores.transpose(-1, -2) @ widened(problem.query) * problem.scale
    by_value = weights.transpose(-1, -2) @ grad
    heads = problem.key.shape[1]
    groups = (torch.unflatten(x, 1, (heads, -1)) for x in (by_key, by_value))
    joined = (by_query, *(x.sum(2) for x in groups))
    by_operands = [join_heads(x, input_layout).to(query.dtype) for x in joined]
    by_position = query.new_empty(0)
    if pse_shift is not None:
        by_position = (by_scores * problem.scale).sum_to_size(pse_shift.shape).to(query.dtype)
    return by_operands[0], by_operands[1], by_operands[2], by_position


def paged(cache: torch.Tensor, table: torch.Tensor, heads: int) -> torch.Tensor:
    """Return all pages of each sequence as [batch, heads, rows, size].

    A cache is [pages, page size, H] or [pages, heads, page size, size]. The table's unused entries
    may hold anything: they count as page 0, whose rows are hidden.
    """
    batches, count = table.shape
    numbers = table.flatten().long()
    numbers = numbers.where((numbers >= 0) & (numbers < cache.shape[0]), 0)
    pages = cache.index_select(0, numbers)
    if cache.dim() == len(("pages", "page size", "H")):
        pages = pages.reshape([*pages.shape[:2], heads, -1]).transpose(1, 2)
    elif cache.dim() != len(("pages", "heads", "page size", "size")):
        message = f"a cache of shape {list(cache.shape)} is not available with a block table"
        raise NotImplementedError(message)
    by_batch = pages.reshape([batches, count, *pages.shape[1:]])
    return by_batch.transpose(1, 2).flatten(2, 3)


def four_dims(mask: torch.Tensor, batches: int, queries: int) -> torch.Tensor:
    """Return a mask as [1 or batches, 1, queries, keys]."""
    if mask.dim() == len(("queries", "keys")):
        single = queries == 1 and mask.shape[0] == batches
        return mask[:, None, None] if single else mask[None, None]
    return mask.unsqueeze(1) if mask.dim() == len(("batches", "queries", "keys")) else mask


def lengths_of(lengths: torch.Tensor | None, rows: int) -> int | torch.Tensor:
    """Return how many rows of each sequence count, to compare positions with."""
    return rows if lengths is None else lengths.reshape(-1, 1, 1, 1)


@kernel("FusedInferAttentionScore")
def fused_infer_attention_score(  # noqa: PLR0913, PLR0917 -- the prototype's
    query: torch.Tensor,
    key: list[torch.Tensor],
    value: list[torch.Tensor],
    pse_shift: torch.Tensor | None = None,
    atten_mask: torch.Tensor | None = None,
    actual_seq_lengths: torch.Tensor | None = None,
    actual_seq_lengths_kv: torch.Tensor | None = None,
    dequant_scale1: torch.Tensor | None = None,
    quant_scale1: torch.Tensor | None = None,
    dequant_scale2: torch.Tensor | None = None,
    quant_scale2: torch.Tensor | None = None,
    quant_offset2: torch.Tensor | None = None,
    antiquant_scale: torch.Tensor | None = None,
    antiquant_offset: torch.Tensor | None = None,
    block_table: torch.Tensor | None = None,
    query_padding_size: torch.Tensor | None = None,
    kv_padding_size: torch.Tensor | None = None,
    key_antiquant_scale: torch.Tensor | None = None,
    key_antiquant_offset: torch.Tensor | None = None,
    value_antiquant_scale: torch.Tensor | None = None,
    value_antiquant_offset: torch.Tensor | None = None,
    key_shared_prefix: torch.Tensor | None = None,
    value_shared_prefix: torch.Tensor | None = None,
    actual_shared_prefix_len: torch.Tensor | None = None,
    query_rope: torch.Tensor | None = None,
    key_rope: torch.Tensor | None = None,
    key_rope_antiquant_scale: torch.Tensor | None = None,
    dequant_scale_query: torch.Tensor | None = None,
    learnable_sink: torch.Tensor | None = None,
    q_start_idx: torch.Tensor | None = None,
    kv_start_idx: torch.Tensor | None = None,
    *,
    num_heads: int,
    scale: float = 1.0,
    pre_tokens: int = MOST,
    next_tokens: int = MOST,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    sparse_mode: int = 0,
    inner_precise: int = 0,
    block_size: int = 0,
    antiquant_mode: int = 0,
    softmax_lse_flag: bool = False,
    key_antiquant_mode: int = 0,
    value_antiquant_mode: int = 0,
    query_quant_mode: int = 0,
    pse_type: int = 0,
    out_dtype: int = 0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention of inference: sequences have lengths, and keys may lie in pages of a cache."""
    del inner_precise, block_size, antiquant_mode, key_antiquant_mode, value_antiquant_mode
    del query_quant_mode, pse_type, out_dtype, q_start_idx, kv_start_idx
    refuse(
        {
            "dequant_scale1": dequant_scale1,
            "quant_scale1": quant_scale1,
            "dequant_scale2": dequant_scale2,
            "quant_scale2": quant_scale2,
            "quant_offset2": quant_offset2,
            "antiquant_scale": antiquant_scale,
            "antiquant_offset": antiquant_offset,
            "query_padding_size": query_padding_size,
            "kv_padding_size": kv_padding_size,
            "key_antiquant_scale": key_antiquant_scale,
            "key_antiquant_offset": key_antiquant_offset,
            "value_antiquant_scale": value_antiquant_scale,
            "value_antiquant_offset": value_antiquant_offset,
            "key_shared_prefix": key_shared_prefix,
            "value_shared_prefix": value_shared_prefix,
            "actual_shared_prefix_len": actual_shared_prefix_len,
            "key_rope_antiquant_scale": key_rope_antiquant_scale,
            "dequant_scale_query": dequant_scale_query,
            "further keys": key[1:] or None,
        }
    )
    layout, answered = LAYOUTS.get(input_layout, (input_layout, input_layout))
    key_heads = num_key_value_heads or num_heads

    def by_head(x: torch.Tensor) -> torch.Tensor:
        if block_table is None:
            return split_heads(x, layout, key_heads)
        return paged(x, block_table, key_heads)

    queries = split_heads(query, layout, num_heads)
    keys, values = by_head(key[0]), by_head(value[0])
    if query_rope is not None and key_rope is not None:
        queries = torch.cat([queries, split_heads(query_rope, layout, num_heads)], -1)
        keys = torch.cat([keys, by_head(key_rope)], -1)
    rows, columns = queries.shape[2], keys.shape[2]
    used = lengths_of(actual_seq_lengths if rows > 1 else None, rows)
    seen = lengths_of(actual_seq_lengths_kv, columns)
    single = rows == 1 and query_rope is None
    band = Band(
        mode=1 if single else sparse_mode, before=pre_tokens, after=next_tokens, shift=seen - used
    )
    hidden = hidden_keys(band, masked(atten_mask, band, queries, columns), None, rows, columns)
    if actual_seq_lengths_kv is not None:
        beyond = torch.arange(columns) >= seen
        hidden = beyond if hidden is None else hidden | beyond
    position = None if pse_shift is None else filled(pse_shift, rows, columns)
    result = attend(
        Problem(
            query=queries,
            key=keys,
            value=values,
            scale=scale,
            hidden=hidden,
            position=position,
            sink=learnable_sink,
        )
    )
    padding = torch.arange(rows).unsqueeze(1) >= used
    out = join_heads(result.out.masked_fill(padding, 0), answered)
    if not softmax_lse_flag:
        return out, out.new_zeros(1, dtype=torch.float32)
    lse = (result.highest + result.total.log()).masked_fill(result.blind | padding, torch.inf)
    return out, lse.float()


def masked(
    mask: torch.Tensor | None, band: Band, queries: torch.Tensor, columns: int
) -> torch.Tensor | None:
    """Return the part of the mask that matters; the modes from 2 on know it by position."""
    if mask is None or band.mode > 1:
        return mask
    given = four_dims(mask, queries.shape[0], queries.shape[2])
    return filled(given, queries.shape[2], columns, value=1)


def filled(term: torch.Tensor, rows: int, columns: int, *, value: float = 0) -> torch.Tensor:
    """Return a mask or position term for so many queries and keys.

    It may have more of both than needed, and fewer keys than the pages of a cache hold.
    """
    part = term[..., :rows, :columns]
    return torch.nn.functional.pad(part, [0, columns - part.shape[-1]], value=value)
