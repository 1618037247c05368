"""Converters of ``npu_sparse_attention_pto``, with its caches declared as written and not."""

from __future__ import annotations

import torch
from torchair import register_fx_node_ge_converter
from torchair.ge import Tensor, custom_op

__all__ = ["convert_npu_sparse_attention_pto", "convert_npu_sparse_attention_pto_undeclared"]


# The node has no outputs for the caches: the device operator writes its inputs x10, x11 and x19.
# Of the operator that declares this, TorchAir passes on the caches when the node has run.
@register_fx_node_ge_converter(torch.ops.custom_pypto.npu_sparse_attention_pto.default)
def convert_npu_sparse_attention_pto(
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
    return sparse_attention_pto(
        *(x, w_dq, w_uq_qr, w_uk, w_dkv_kr, gamma_cq, gamma_ckv, sin, cos, cache_index),
        *(kv_cache, kr_cache, block_table, act_seqs, w_idx_qb, w_idx_k, w_idx_proj),
        *(in_gamma_k, in_beta_k, index_k_cache),
    )


@register_fx_node_ge_converter(torch.ops.custom_pypto.npu_sparse_attention_pto_undeclared.default)
def convert_npu_sparse_attention_pto_undeclared(*tensors: Tensor) -> Tensor:
    """Convert ``npu_sparse_attention_pto_undeclared`` to ``SparseAttentionPto``."""
    return sparse_attention_pto(*tensors)


def sparse_attention_pto(*tensors: Tensor) -> Tensor:
    """Add a node."""
    return custom_op(
        "SparseAttentionPto",
        inputs={f"x{index}": tensor for index, tensor in enumerate(tensors)},
        outputs=["y0"],
    )
