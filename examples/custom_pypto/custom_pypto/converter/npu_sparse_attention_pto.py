"""Converters of ``npu_sparse_attention_pto``, with its caches declared as written and not."""

from __future__ import annotations

import torch
from torchair import register_fx_node_ge_converter
from torchair.ge import Tensor, custom_op

__all__ = ["convert_npu_sparse_attention_pto"]


# The node has no outputs for the caches: the device operator writes its inputs x10, x11 and x19.
# Of the operator that declares this, TorchAir passes on the caches when the node has run.
@register_fx_node_ge_converter(torch.ops.custom_pypto.npu_sparse_attention_pto.default)
@register_fx_node_ge_converter(torch.ops.custom_pypto.npu_sparse_attention_pto_undeclared.default)
def convert_npu_sparse_attention_pto(  # noqa: PLR0913, PLR0917 - the schema's arguments
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
    """Convert ``npu_sparse_attention_pto`` to ``SparseAttentionPto``."""
    return custom_op(
        "SparseAttentionPto",
        inputs={
            "x0": x,
            "x1": w_dq,
            "x2": w_uq_qr,
            "x3": w_uk,
            "x4": w_dkv_kr,
            "x5": gamma_cq,
            "x6": gamma_ckv,
            "x7": sin,
            "x8": cos,
            "x9": cache_index,
            "x10": kv_cache,
            "x11": kr_cache,
            "x12": block_table,
            "x13": act_seqs,
            "x14": w_idx_qb,
            "x15": w_idx_k,
            "x16": w_idx_proj,
            "x17": in_gamma_k,
            "x18": in_beta_k,
            "x19": index_k_cache,
        },
        outputs=["y0"],
    )
