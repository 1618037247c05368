"""The converters: with them, TorchAir's max-autotune makes the operators nodes of Ascend IR.

The other modes and eager do not use them.
"""

from __future__ import annotations

from . import add_custom, npu_lightning_indexer_pto, npu_sparse_attention_pto

__all__ = ["add_custom", "npu_lightning_indexer_pto", "npu_sparse_attention_pto"]
