"""npu_sparse_attention_pto in plain PyTorch: the attention block of a sparse MLA decode step.

Projections of the tokens, with weights in the bytes of FRACTAL_NZ; their keys, rope parts and
index keys written into paged caches; the tokens that the lightning indexer selects for each query;
attention to these.

Sums are in float32; a result that the operator stores is rounded to bfloat16 once.

Source: cann-recipes-infer ops/pypto, src/sparse_attention_pto; verified by experiment against its
reference.
"""

from __future__ import annotations

import torch
from torch import Tensor

from opwright.reference.errors import ReferenceArgumentError
from opwright.reference.lightning_indexer import lightning_indexer
from opwright.reference.sparse_flash_attention import (
    ABSORBED,
    LATENT,
    ROPE,
    sparse_flash_attention,
)

__all__ = [
    "cache_rows",
    "from_nz",
    "layer_norm",
    "rms_norm",
    "rope",
    "rope_first",
    "sparse_attention_block",
    "to_nz",
    "write",
]

NZ_COLUMNS = 16  # of a block of FRACTAL_NZ with 2-byte elements
RMS_EPSILON = 1e-5
LAYER_EPSILON = 1e-6


def sparse_attention_block(  # noqa: PLR0913, PLR0917 - the operator's inputs, in its order
    x: Tensor,
    w_dq: Tensor,
    w_uq_qr: Tensor,
    w_uk: Tensor,
    w_dkv_kr: Tensor,
    gamma_cq: Tensor,
    gamma_ckv: Tensor,
    sin: Tensor,
    cos: Tensor,
    cache_index: Tensor,
    kv_cache: Tensor,
    kr_cache: Tensor,
    block_table: Tensor,
    act_seqs: Tensor,
    w_idx_qb: Tensor,
    w_idx_k: Tensor,
    w_idx_proj: Tensor,
    in_gamma_k: Tensor,
    in_beta_k: Tensor,
    index_k_cache: Tensor,
) -> Tensor:
    """Return the attention of each head over compressed keys; the caches receive the new tokens.

    Parameters
    ----------
    x
        [B, S, hidden] bfloat16: the newest S tokens of each sequence.
    w_dq, w_uq_qr, w_dkv_kr, w_idx_qb, w_idx_k, w_idx_proj
        [hidden, rank], [rank, N * 192], [hidden, 576], [rank, NI * 128], [hidden, 128] and
        [hidden, NI], bfloat16, in the bytes of FRACTAL_NZ.
    w_uk
        [N, 128, 512] bfloat16, row by row.
    gamma_cq, gamma_ckv, in_gamma_k, in_beta_k
        [rank], [512], [128] and [128] bfloat16.
    sin, cos
        [B, S, 64] bfloat16.
    cache_index
        [B, S] int32: the row of the caches, seen as [pages * page size, ...], of each token. Of
        tokens with the same row the last one stays.
    kv_cache, kr_cache, index_k_cache
        [pages, page size, 1, 512], [..., 64] and [..., 128] bfloat16; changed in place.
    block_table
        [B, pages of a sequence] int32.
    act_seqs
        [B] int32: tokens of each sequence, the newest included.

    Returns
    -------
    Tensor
        [B, S, N, 512] bfloat16; 0 where a query sees no token.

    Raises
    ------
    ReferenceArgumentError
        Rows that the caches do not have, lengths and pages out of range.
    """
    batch, count, _ = x.shape
    heads, nope, _ = w_uk.shape
    rows = batch * count
    tokens = x.reshape(rows, -1)
    sines, cosines = sin.reshape(rows, 1, ROPE), cos.reshape(rows, 1, ROPE)

    latent = rms_norm(product(tokens, w_dq).bfloat16(), gamma_cq, RMS_EPSILON)
    query = product(latent, w_uq_qr).bfloat16().view(rows, heads, nope + ROPE)
    absorbed = torch.einsum("thd,hdc->thc", query[..., :nope].float(), w_uk.float()).bfloat16()
    query_rope = rope(query[..., nope:], sines, cosines)

    compressed = product(tokens, w_dkv_kr).bfloat16()
    new_key = rms_norm(compressed[:, :LATENT], gamma_ckv, RMS_EPSILON)
    new_rope = rope(compressed[:, LATENT:].unsqueeze(1), sines, cosines)

    index_width = index_k_cache.size(-1)
    index_query = product(latent, w_idx_qb).bfloat16().view(rows, -1, index_width)
    index_query = rope_first(index_query, sines, cosines)
    new_index = layer_norm(product(tokens, w_idx_k), in_gamma_k, in_beta_k, LAYER_EPSILON)
    new_index = rope_first(new_index.unsqueeze(1), sines, cosines)
    index_weights = product(tokens, w_idx_proj).bfloat16()

    slots = cache_rows("cache_index", cache_index, kv_cache)
    write(kv_cache, slots, new_key)
    write(kr_cache, slots, new_rope)
    write(index_k_cache, slots, new_index)

    selected, _ = lightning_indexer(
        index_query.view(batch, count, -1, index_width),
        index_k_cache,
        index_weights.view(batch, count, -1),
        actual_seq_lengths_key=act_seqs,
        block_table=block_table,
        layout_key="PA_BSND",
    )
    out, _, _ = sparse_flash_attention(
        absorbed.view(batch, count, heads, LATENT),
        kv_cache,
        kv_cache,
        selected,
        (LATENT + ROPE) ** -0.5,
        block_table=block_table,
        actual_seq_lengths_kv=act_seqs,
        query_rope=query_rope.view(batch, count, heads, ROPE),
        key_rope=kr_cache,
        layout_kv="PA_BSND",
        attention_mode=ABSORBED,
    )
    return out


def product(x: Tensor, weight: Tensor) -> Tensor:
    """Return x @ weight in float32; the weight is in the bytes of FRACTAL_NZ."""
    return x.float() @ from_nz(weight).float()


def from_nz(weight: Tensor) -> Tensor:
    """Return the [K, N] matrix whose FRACTAL_NZ bytes, [N / 16, K, 16], `weight` has."""
    rows, columns = weight.shape
    blocks = weight.reshape(columns // NZ_COLUMNS, rows, NZ_COLUMNS)
    return blocks.permute(1, 0, 2).reshape(rows, columns)


def to_nz(matrix: Tensor) -> Tensor:
    """Return a tensor of the same shape with the FRACTAL_NZ bytes of a [K, N] matrix."""
    rows, columns = matrix.shape
    blocks = matrix.reshape(rows, columns // NZ_COLUMNS, NZ_COLUMNS)
    return blocks.permute(1, 0, 2).reshape(rows, columns)


def rms_norm(x: Tensor, gamma: Tensor, epsilon: float) -> Tensor:
    """Return x / sqrt(mean(x * x) + epsilon) * gamma, computed in float32, in bfloat16."""
    wide = x.float()
    scale = torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + epsilon)
    return (wide * scale * gamma.float()).bfloat16()


def layer_norm(x: Tensor, gamma: Tensor, beta: Tensor, epsilon: float) -> Tensor:
    """Return the layer normalisation of float32 rows, with biased variance, in bfloat16."""
    shape = [x.size(-1)]
    return torch.nn.functional.layer_norm(x, shape, gamma.float(), beta.float(), epsilon).bfloat16()


def rope(x: Tensor, sin: Tensor, cos: Tensor) -> Tensor:
    """Return rotary positions of [..., 64] interleaved pairs, as halves, in bfloat16."""
    wide = x.float()
    even, odd = wide[..., 0::2], wide[..., 1::2]
    halves, rotated = torch.cat((even, odd), dim=-1), torch.cat((-odd, even), dim=-1)
    return (halves * cos.float() + rotated * sin.float()).bfloat16()


def rope_first(x: Tensor, sin: Tensor, cos: Tensor) -> Tensor:
    """Return x with rotary positions in its first 64 columns."""
    return torch.cat((rope(x[..., :ROPE], sin, cos), x[..., ROPE:]), dim=-1)


def cache_rows(name: str, index: Tensor, cache: Tensor) -> list[int]:
    """Return the rows of a paged cache that the parameter `name` has.

    Raises
    ------
    ReferenceArgumentError
        The cache has no such row.
    """
    rows: list[int] = index.flatten().tolist()
    limit = cache.size(0) * cache.size(1)
    for row in rows:
        if not 0 <= row < limit:
            raise ReferenceArgumentError(
                where=f"parameter '{name}'", got=str(row), allowed=[f"0 to {limit - 1}"]
            )
    return rows


def write(cache: Tensor, slots: list[int], rows: Tensor) -> None:
    """Write rows into the slots of a paged cache, one after the other."""
    page_size = cache.size(1)
    for slot, row in zip(slots, rows.reshape(len(slots), -1), strict=True):
        cache[slot // page_size, slot % page_size, 0] = row
