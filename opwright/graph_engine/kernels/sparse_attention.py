"""Attention to selected tokens, and what selects them: the twin's own operators (libopapi)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from opwright.graph_engine.table import kernel

if TYPE_CHECKING:
    from collections.abc import Mapping

UNLIMITED = 2**63 - 1
# Attributes with one value each that the operators take. Source: op-plugin docs (2026-06).
WINDOW = {"pre_tokens": UNLIMITED, "next_tokens": UNLIMITED}
PER_TOKEN_AND_HEAD = {"query_quant_mode": 0, "key_quant_mode": 0}
ABSORBED = {"attention_mode": 2}
CACHE = {
    "key_quant_mode": 2,
    "value_quant_mode": 2,
    "quant_scale_repo_mode": 1,
    "tile_size": 128,
    "rope_head_dim": 64,
}


def require(got: Mapping[str, int], allowed: Mapping[str, int]) -> None:
    """Raise for an attribute that has another value than its only one.

    Raises
    ------
    ValueError
        It names the attribute and both values.
    """
    for name, value in allowed.items():
        if got[name] != value:
            message = f"parameter '{name}' is {got[name]}; it must be {value}"
            raise ValueError(message)


def refuse_scales(**scales: torch.Tensor | None) -> None:
    """Raise for scales that are given: a quantised cache has its own, each with its token.

    Raises
    ------
    ValueError
        It names the input.
    """
    for name, scale in scales.items():
        if scale is not None:
            message = f"parameter '{name}' is given; it is reserved: leave it out"
            raise ValueError(message)


@kernel(
    "LightningIndexer",
    source="ops-transformer:attention/lightning_indexer/docs/aclnnLightningIndexer.md",
)
def lightning_indexer(  # noqa: PLR0913 -- the prototype's
    query: torch.Tensor,
    key: torch.Tensor,
    weights: torch.Tensor,
    actual_seq_lengths_query: torch.Tensor | None = None,
    actual_seq_lengths_key: torch.Tensor | None = None,
    block_table: torch.Tensor | None = None,
    *,
    layout_query: str = "BSND",
    layout_key: str = "BSND",
    sparse_count: int = 2048,
    sparse_mode: int = 3,
    pre_tokens: int = UNLIMITED,
    next_tokens: int = UNLIMITED,
    return_values: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the indices of the keys that matter most to each query, and their scores."""
    require({"pre_tokens": pre_tokens, "next_tokens": next_tokens}, WINDOW)
    indices, values = torch.ops.opwright.lightning_indexer(
        query,
        key,
        weights,
        actual_seq_lengths_query=actual_seq_lengths_query,
        actual_seq_lengths_key=actual_seq_lengths_key,
        block_table=block_table,
        layout_query=layout_query,
        layout_key=layout_key,
        sparse_count=sparse_count,
        sparse_mode=sparse_mode,
        return_value=return_values,
    )
    return indices, values


@kernel(
    "QuantLightningIndexer",
    source="ops-transformer:attention/quant_lightning_indexer/docs/aclnnQuantLightningIndexer.md",
)
def quant_lightning_indexer(  # noqa: PLR0913 -- the prototype's
    query: torch.Tensor,
    key: torch.Tensor,
    weights: torch.Tensor,
    query_dequant_scale: torch.Tensor,
    key_dequant_scale: torch.Tensor,
    actual_seq_lengths_query: torch.Tensor | None = None,
    actual_seq_lengths_key: torch.Tensor | None = None,
    block_table: torch.Tensor | None = None,
    *,
    query_quant_mode: int,
    key_quant_mode: int,
    layout_query: str = "BSND",
    layout_key: str = "BSND",
    sparse_count: int = 2048,
    sparse_mode: int = 3,
    pre_tokens: int = UNLIMITED,
    next_tokens: int = UNLIMITED,
) -> torch.Tensor:
    """Return the indices of the quantised keys that matter most to each query."""
    require({"pre_tokens": pre_tokens, "next_tokens": next_tokens}, WINDOW)
    require(
        {"query_quant_mode": query_quant_mode, "key_quant_mode": key_quant_mode}, PER_TOKEN_AND_HEAD
    )
    indices: torch.Tensor = torch.ops.opwright.quant_lightning_indexer(
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
        sparse_count=sparse_count,
        sparse_mode=sparse_mode,
    )
    return indices


@kernel(
    "SparseFlashAttention",
    source="ops-transformer:attention/sparse_flash_attention/docs/aclnnSparseFlashAttention.md",
)
def sparse_flash_attention(  # noqa: PLR0913 -- the prototype's
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor | None,
    sparse_indices: torch.Tensor,
    block_table: torch.Tensor | None = None,
    actual_seq_lengths_query: torch.Tensor | None = None,
    actual_seq_lengths_kv: torch.Tensor | None = None,
    query_rope: torch.Tensor | None = None,
    key_rope: torch.Tensor | None = None,
    sinks: torch.Tensor | None = None,
    *,
    scale_value: float,
    sparse_block_size: int = 1,
    layout_query: str = "BSND",
    layout_kv: str = "BSND",
    sparse_mode: int = 3,
    pre_tokens: int = UNLIMITED,
    next_tokens: int = UNLIMITED,
    attention_mode: int = 0,
    return_softmax_lse: bool = False,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return attention to selected keys, and the maximum and sum of its softmax."""
    require({"pre_tokens": pre_tokens, "next_tokens": next_tokens}, WINDOW)
    require({"attention_mode": attention_mode}, ABSORBED)
    out, highest, total = torch.ops.opwright.sparse_flash_attention(
        query,
        key,
        value,
        sparse_indices,
        scale_value,
        block_table=block_table,
        actual_seq_lengths_query=actual_seq_lengths_query,
        actual_seq_lengths_kv=actual_seq_lengths_kv,
        query_rope=query_rope,
        key_rope=key_rope,
        sparse_block_size=sparse_block_size,
        layout_query=layout_query,
        layout_kv=layout_kv,
        sparse_mode=sparse_mode,
        return_softmax_lse=return_softmax_lse,
        sinks=sinks,
    )
    return out, highest, total


@kernel(
    "KvQuantSparseFlashAttention",
    source="torch_npu:_op_plugin_docs.py:npu_kv_quant_sparse_flash_attention",
)
def kv_quant_sparse_flash_attention(  # noqa: PLR0913 -- the prototype's
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    sparse_indices: torch.Tensor,
    key_dequant_scale: torch.Tensor | None = None,
    value_dequant_scale: torch.Tensor | None = None,
    block_table: torch.Tensor | None = None,
    actual_seq_lengths_query: torch.Tensor | None = None,
    actual_seq_lengths_kv: torch.Tensor | None = None,
    sinks: torch.Tensor | None = None,
    *,
    scale_value: float,
    key_quant_mode: int,
    value_quant_mode: int,
    sparse_block_size: int = 1,
    layout_query: str = "BSND",
    layout_kv: str = "BSND",
    sparse_mode: int = 3,
    pre_tokens: int = UNLIMITED,
    next_tokens: int = UNLIMITED,
    attention_mode: int = 0,
    quant_scale_repo_mode: int = 1,
    tile_size: int = 128,
    rope_head_dim: int = 64,
) -> torch.Tensor:
    """Return attention to selected keys of a quantised cache, which has its scales itself."""
    refuse_scales(key_dequant_scale=key_dequant_scale, value_dequant_scale=value_dequant_scale)
    require({"pre_tokens": pre_tokens, "next_tokens": next_tokens}, WINDOW)
    require({"attention_mode": attention_mode}, ABSORBED)
    require(
        {
            "key_quant_mode": key_quant_mode,
            "value_quant_mode": value_quant_mode,
            "quant_scale_repo_mode": quant_scale_repo_mode,
            "tile_size": tile_size,
            "rope_head_dim": rope_head_dim,
        },
        CACHE,
    )
    out: torch.Tensor = torch.ops.opwright.kv_quant_sparse_flash_attention(
        query,
        key,
        value,
        sparse_indices,
        scale_value,
        block_table=block_table,
        actual_seq_lengths_query=actual_seq_lengths_query,
        actual_seq_lengths_kv=actual_seq_lengths_kv,
        sparse_block_size=sparse_block_size,
        layout_query=layout_query,
        layout_kv=layout_kv,
        sparse_mode=sparse_mode,
        sinks=sinks,
    )
    return out
