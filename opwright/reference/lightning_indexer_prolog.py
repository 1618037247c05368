"""npu_lightning_indexer_prolog_pto in plain PyTorch: what the quantised lightning indexer takes.

From the tokens of a step: their index queries in int8 with a scale for each token and head, the
weights of the heads, and their index keys in int8, written into a paged cache with their scales.

Source: the reference in cann-recipes-infer ops/pypto, src/lightning_indexer_prolog_pto; not
compared by experiment.
"""

from __future__ import annotations

import torch
from torch import Tensor

from opwright.reference.errors import require_one_of
from opwright.reference.sparse_attention_block import (
    LAYER_EPSILON,
    cache_rows,
    layer_norm,
    rope_first,
    write,
)

__all__ = ["lightning_indexer_prolog", "quantized"]

HIGHEST = 127  # of int8


def lightning_indexer_prolog(  # noqa: PLR0913, PLR0917 -- the operator's
    token_x: Tensor,
    q_norm: Tensor,
    q_norm_scale: Tensor,
    wq_b: Tensor,
    wq_b_scale: Tensor,
    wk: Tensor,
    weights_proj: Tensor,
    ln_gamma_k: Tensor,
    ln_beta_k: Tensor,
    cos_idx_rope: Tensor,
    sin_idx_rope: Tensor,
    hadamard_q: Tensor,
    hadamard_k: Tensor,
    idx_k_cache: Tensor,
    idx_k_scale_cache: Tensor,
    idx_k_cache_index: Tensor,
    layernorm_epsilon_k: float = LAYER_EPSILON,
    *,
    layout_query: str | None = "TND",
    layout_key: str | None = "PA_BSND",
) -> tuple[Tensor, Tensor, Tensor]:
    """Return index queries, their scales and the weights; both caches receive the index keys.

    Parameters
    ----------
    token_x
        [T, hidden] bfloat16.
    q_norm, q_norm_scale
        [T, rank] int8 and [T, 1] float32: the compressed queries.
    wq_b, wq_b_scale
        [rank, N * 128] int8 and [N * 128, 1] float32.
    wk, weights_proj
        [hidden, 128] and [hidden, N] bfloat16.
    ln_gamma_k, ln_beta_k
        [128] bfloat16.
    cos_idx_rope, sin_idx_rope
        [T, 64] bfloat16.
    hadamard_q, hadamard_k
        [128, 128] bfloat16.
    idx_k_cache, idx_k_scale_cache
        [pages, page size, 1, 128] int8 and [pages, page size, 1] float16; changed in place.
    idx_k_cache_index
        [T] int64: the row of the caches, seen as [pages * page size, ...], of each token. Of tokens
        with the same row the last one stays.
    layernorm_epsilon_k, layout_query, layout_key
        1e-6, TND and PA_BSND: the operator's converter passes none of them on.

    Returns
    -------
    query
        [T, N, 128] int8.
    query_scale
        [T, N, 1] float16: the float that 1 stands for.
    weights
        [T, N] float16.

    Raises
    ------
    ReferenceArgumentError
        Rows that the caches do not have, another epsilon, other layouts.

    Notes
    -----
    The weights are matrices: the operator asks for storage in FRACTAL_NZ, which a tensor says of
    itself, unlike those of `sparse_attention_block`.
    """
    require_one_of("layernorm_epsilon_k", layernorm_epsilon_k, [LAYER_EPSILON])
    require_one_of("layout_query", layout_query, [None, "TND"])
    require_one_of("layout_key", layout_key, [None, "PA_BSND"])
    slots = cache_rows("idx_k_cache_index", idx_k_cache_index, idx_k_cache)
    tokens, width = token_x.size(0), wk.size(1)
    sin, cos = sin_idx_rope.unsqueeze(1), cos_idx_rope.unsqueeze(1)

    # Sums of int8 products exceed what float32 holds exactly.
    whole = (q_norm.double() @ wq_b.double()).float()
    query = (whole * q_norm_scale * wq_b_scale.view(1, -1)).bfloat16().view(tokens, -1, width)
    query = (rope_first(query, sin, cos).float() @ hadamard_q.float()).bfloat16()

    key = layer_norm(token_x.float() @ wk.float(), ln_gamma_k, ln_beta_k, LAYER_EPSILON)
    key = rope_first(key.unsqueeze(1), sin, cos).squeeze(1)
    key = (key.float() @ hadamard_k.float()).bfloat16()
    key, key_scale = quantized(key)
    write(idx_k_cache, slots, key)
    write(idx_k_scale_cache.unsqueeze(-1), slots, key_scale)

    weights = (token_x.float() @ weights_proj.float()).bfloat16().float()
    heads = weights.size(1)
    return *quantized(query), (weights * heads**-0.5 * width**-0.5).half()


def quantized(values: Tensor) -> tuple[Tensor, Tensor]:
    """Return rows in int8 and their float16 scales, [..., 1]; a row of zeros has the scale 0."""
    wide = values.float()
    highest = wide.abs().amax(dim=-1, keepdim=True)
    factor = torch.where(highest > 0, HIGHEST / highest, 0.0)
    scale = torch.where(highest > 0, 1 / factor, 0.0)
    return torch.round(wide * factor).to(torch.int8), scale.half()
