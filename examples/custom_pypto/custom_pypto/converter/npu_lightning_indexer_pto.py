"""Converter of ``npu_lightning_indexer_pto``."""

from __future__ import annotations

import torch
from torchair import register_fx_node_ge_converter
from torchair.ge import Tensor, attr, custom_op

__all__ = ["convert_npu_lightning_indexer_pto"]


# Meta has refused what the node has no input or attribute for; sparse_count is the last size of y0.
@register_fx_node_ge_converter(torch.ops.custom_pypto.npu_lightning_indexer_pto.default)
def convert_npu_lightning_indexer_pto(
    query: Tensor,
    key: Tensor,
    weights: Tensor,
    *,
    actual_seq_lengths_query: Tensor | None = None,  # noqa: ARG001 - None, as Meta has checked
    actual_seq_lengths_key: Tensor | None = None,
    block_table: Tensor | None = None,
    layout_query: str = "BSND",  # noqa: ARG001 - the only one
    layout_key: str = "PA_BSND",  # noqa: ARG001 - the only one
    sparse_count: int = 2048,  # noqa: ARG001 - Meta has given y0 its size
    sparse_mode: int = 3,  # noqa: ARG001 - the only one
) -> Tensor:
    """Convert ``npu_lightning_indexer_pto`` to ``LightningIndexerPto``."""
    inputs = (query, key, weights, actual_seq_lengths_key, block_table)
    return custom_op(
        "LightningIndexerPto",
        inputs={f"x{index}": tensor for index, tensor in enumerate(inputs)},
        outputs=["y0"],
        attrs={"score_scale": attr.Float(1.0)},  # which the device operator does not use
    )
