"""Fused attention of inference: sequences have lengths, and keys may lie in pages of a cache."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from opwright.engine.kernels.attention_scores import (
    Band,
    Problem,
    attend,
    hidden_keys,
    join_heads,
    refuse,
    split_heads,
)
from opwright.engine.table import kernel

MOST = 2147483647


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


def filled(term: torch.Tensor, rows: int, columns: int, *, value: float = 0) -> torch.Tensor:
    """Return a mask or position term for so many queries and keys.

    It may have more of both than needed, and fewer keys than the pages of a cache hold.
    """
    part = term[..., :rows, :columns]
    return torch.nn.functional.pad(part, [0, columns - part.shape[-1]], value=value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference:
    """What attention of inference depends on beside query, key and value.

    Parameters
    ----------
    layout
        Of query and result, as the attribute `input_layout` names it.
    mode, before, after
        `sparse_mode`, `pre_tokens` and `next_tokens`.
    query_lengths, key_lengths
        Rows of each sequence that count; None: all of them.
    """

    layout: str
    heads: int
    key_heads: int
    scale: float
    mode: int = 0
    before: int = MOST
    after: int = MOST
    mask: torch.Tensor | None = None
    position: torch.Tensor | None = None
    query_lengths: torch.Tensor | None = None
    key_lengths: torch.Tensor | None = None
    block_table: torch.Tensor | None = None
    query_rope: torch.Tensor | None = None
    key_rope: torch.Tensor | None = None
    sink: torch.Tensor | None = None

    def by_head(self, x: torch.Tensor) -> torch.Tensor:
        """Return keys or values as [batch, heads, rows, size]."""
        heads = self.key_heads or self.heads
        if self.block_table is not None:
            return paged(x, self.block_table, heads)
        return split_heads(x, self.layout.split("_", maxsplit=1)[0], heads)

    def rows(self, x: torch.Tensor) -> torch.Tensor:
        """Return queries as [batch, heads, rows, size]."""
        return split_heads(x, self.layout.split("_", maxsplit=1)[0], self.heads)

    def hidden(self, batches: int, rows: int, columns: int) -> torch.Tensor | None:
        """Return the keys that a query does not see."""
        single = rows == 1 and self.query_rope is None
        mode = 1 if single else self.mode
        shift = self.seen(columns) - self.used(rows)
        band = Band(mode=mode, before=self.before, after=self.after, shift=shift)
        mask = self.mask
        if mask is not None and mode <= 1:
            mask = filled(four_dims(mask, batches, rows), rows, columns, value=1)
        hidden = hidden_keys(band, mask, None, rows, columns)
        if self.key_lengths is None:
            return hidden
        beyond = torch.arange(columns) >= self.seen(columns)
        return beyond if hidden is None else hidden | beyond

    def used(self, rows: int) -> int | torch.Tensor:
        """Return how many queries count; a single one is never padding."""
        return rows if rows == 1 else lengths_of(self.query_lengths, rows)

    def seen(self, columns: int) -> int | torch.Tensor:
        """Return how many keys count."""
        return lengths_of(self.key_lengths, columns)


def infer(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, how: Inference
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the result, and the logarithm of each row's sum: infinity for padding."""
    queries, keys, values = how.rows(query), how.by_head(key), how.by_head(value)
    if how.query_rope is not None and how.key_rope is not None:
        queries = torch.cat([queries, how.rows(how.query_rope)], -1)
        keys = torch.cat([keys, how.by_head(how.key_rope)], -1)
    rows, columns = queries.shape[2], keys.shape[2]
    result = attend(
        Problem(
            query=queries,
            key=keys,
            value=values,
            scale=how.scale,
            hidden=how.hidden(queries.shape[0], rows, columns),
            position=None if how.position is None else filled(how.position, rows, columns),
            sink=how.sink,
        )
    )
    padding = torch.arange(rows).unsqueeze(1) >= how.used(rows)
    out = join_heads(result.out.masked_fill(padding, 0), how.layout.split("_")[-1])
    lse = (result.highest + result.total.log()).masked_fill(result.blind | padding, torch.inf)
    return out, lse.float()


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
    how = Inference(
        layout=input_layout,
        heads=num_heads,
        key_heads=num_key_value_heads,
        scale=scale,
        mode=sparse_mode,
        before=pre_tokens,
        after=next_tokens,
        mask=atten_mask,
        position=pse_shift,
        query_lengths=actual_seq_lengths,
        key_lengths=actual_seq_lengths_kv,
        block_table=block_table,
        query_rope=query_rope,
        key_rope=key_rope,
        sink=learnable_sink,
    )
    out, lse = infer(query, key[0], value[0], how)
    return out, lse if softmax_lse_flag else lse.new_zeros(0)


@kernel("PromptFlashAttention")
def prompt_flash_attention(  # noqa: PLR0913, PLR0917 -- the prototype's
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    pse_shift: torch.Tensor | None = None,
    atten_mask: torch.Tensor | None = None,
    actual_seq_lengths: torch.Tensor | None = None,
    actual_seq_lengths_kv: torch.Tensor | None = None,
    deq_scale1: torch.Tensor | None = None,
    quant_scale1: torch.Tensor | None = None,
    deq_scale2: torch.Tensor | None = None,
    quant_scale2: torch.Tensor | None = None,
    quant_offset2: torch.Tensor | None = None,
    *,
    num_heads: int,
    scale_value: float = 1.0,
    pre_tokens: int = 214748647,
    next_tokens: int = 0,
    input_layout: str = "BSH",
    num_key_value_heads: int = 1,
    sparse_mode: int = 0,
    inner_precise: int = 1,
) -> torch.Tensor:
    """Attention of all queries of a prompt."""
    del inner_precise
    refuse(
        {
            "deq_scale1": deq_scale1,
            "quant_scale1": quant_scale1,
            "deq_scale2": deq_scale2,
            "quant_scale2": quant_scale2,
            "quant_offset2": quant_offset2,
        }
    )
    how = Inference(
        layout=input_layout,
        heads=num_heads,
        key_heads=num_key_value_heads,
        scale=scale_value,
        mode=sparse_mode,
        before=pre_tokens,
        after=next_tokens,
        mask=atten_mask,
        position=pse_shift,
        query_lengths=actual_seq_lengths,
        key_lengths=actual_seq_lengths_kv,
    )
    return infer(query, key, value, how)[0]


@kernel("IncreFlashAttention")
def incre_flash_attention(  # noqa: PLR0913, PLR0917 -- the prototype's
    query: torch.Tensor,
    key: list[torch.Tensor],
    value: list[torch.Tensor],
    pse_shift: torch.Tensor | None = None,
    atten_mask: torch.Tensor | None = None,
    actual_seq_lengths: torch.Tensor | None = None,
    dequant_scale1: torch.Tensor | None = None,
    quant_scale1: torch.Tensor | None = None,
    dequant_scale2: torch.Tensor | None = None,
    quant_scale2: torch.Tensor | None = None,
    quant_offset2: torch.Tensor | None = None,
    antiquant_scale: torch.Tensor | None = None,
    antiquant_offset: torch.Tensor | None = None,
    block_table: torch.Tensor | None = None,
    kv_padding_size: torch.Tensor | None = None,
    *,
    num_heads: int,
    scale_value: float = 1.0,
    input_layout: str = "BSH",
    num_key_value_heads: int = 1,
    block_size: int = 0,
    inner_precise: int = 1,
) -> torch.Tensor:
    """Attention of one query for each sequence; the lengths are those of the keys."""
    del block_size, inner_precise
    refuse(
        {
            "dequant_scale1": dequant_scale1,
            "quant_scale1": quant_scale1,
            "dequant_scale2": dequant_scale2,
            "quant_scale2": quant_scale2,
            "quant_offset2": quant_offset2,
            "antiquant_scale": antiquant_scale,
            "antiquant_offset": antiquant_offset,
            "kv_padding_size": kv_padding_size,
            "further keys": key[1:] or None,
        }
    )
    how = Inference(
        layout=input_layout,
        heads=num_heads,
        key_heads=num_key_value_heads,
        scale=scale_value,
        mask=atten_mask,
        position=pse_shift,
        key_lengths=actual_seq_lengths,
        block_table=block_table,
    )
    return infer(query, key[0], value[0], how)[0]
