"""Converter of ``npu_lightning_indexer_pto``."""

from __future__ import annotations

import torch
from torchair import register_fx_node_ge_converter
from torchair.ge import Tensor, attr, custom_op

__all__ = ["convert_npu_lightning_indexer_pto"]


SUPPORTED = ("BSND", "PA_BSND", 3)
COUNT = 2048  # the device operator's own default


@register_fx_node_ge_converter(torch.ops.custom_pypto.npu_lightning_indexer_pto.default)
def convert_npu_lightning_indexer_pto(
    query: Tensor,
    key: Tensor,
    weights: Tensor,
    *,
    actual_seq_lengths_query: Tensor | None = None,
    actual_seq_lengths_key: Tensor | None = None,
    block_table: Tensor | None = None,
    layout_query: str = "BSND",
    layout_key: str = "PA_BSND",
    sparse_count: int = COUNT,
    sparse_mode: int = 3,
) -> Tensor:
    """Convert ``npu_lightning_indexer_pto`` to ``LightningIndexerPto``."""
    # Meta refuses them first, with the names of what is wrong.
    if (layout_query, layout_key, sparse_mode) != SUPPORTED or actual_seq_lengths_query is not None:
        message = "LightningIndexerPto has no inputs or attributes for such arguments"
        raise NotImplementedError(message)
    inputs = (query, key, weights, actual_seq_lengths_key, block_table)
    return custom_op(
        "LightningIndexerPto",
        inputs={f"x{index}": tensor for index, tensor in enumerate(inputs)},
        outputs=["y0"],
        # A package without this attribute selects 2048, and GE refuses other counts.
        attrs={} if sparse_count == COUNT else {"sparse_count": attr.Int(sparse_count)},
    )
