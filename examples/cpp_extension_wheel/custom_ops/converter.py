"""The converters: with them, TorchAir's mode max-autotune makes the operators nodes of Ascend IR.

Import it before compiling; the other modes and eager do not need it. The functions that add nodes
are generated from the prototypes in graph/custom_reg_op.h.
"""

from __future__ import annotations

from typing import Any

import torch
from torchair import register_fx_node_ge_converter
from torchair._ge_concrete_graph.utils import dtype_promote
from torchair.ge import Clone, Tensor

import custom_ops  # noqa: F401 - registers the operators
from custom_ops.auto_generated_ge_raw_custom_ops import AddCustom

__all__ = ["convert_my_op", "convert_my_op_backward"]


@register_fx_node_ge_converter(torch.ops.myops.my_op.default)
def convert_my_op(self: Tensor, other: Tensor, meta_outputs: Any = None) -> Tensor:  # noqa: ANN401 - TorchAir has no type of it
    """Convert ``my_op`` to ``AddCustom``."""
    # The device operator does not promote, but the PyTorch operator does.
    return AddCustom(*dtype_promote(self, other, target_dtype=meta_outputs.dtype))


@register_fx_node_ge_converter(torch.ops.myops.my_op_backward.default)
def convert_my_op_backward(grad_output: Tensor) -> tuple[Tensor, Tensor]:
    """Convert ``my_op_backward`` to two copies, since its results are two tensors."""
    return Clone(grad_output), Clone(grad_output)
