"""Converters of ``add_custom`` and of its derivative."""

from __future__ import annotations

import torch
from torchair import register_fx_node_ge_converter
from torchair.ge import Clone, Tensor, custom_op

__all__ = ["convert_add_custom", "convert_add_custom_backward"]


@register_fx_node_ge_converter(torch.ops.custom_pypto.add_custom.default)
def convert_add_custom(self: Tensor, other: Tensor) -> Tensor:
    """Convert ``add_custom`` to ``AddCustom``."""
    return custom_op("AddCustom", inputs={"x": self, "y": other}, outputs=["z"])


@register_fx_node_ge_converter(torch.ops.custom_pypto.add_custom_backward.default)
def convert_add_custom_backward(self: Tensor) -> tuple[Tensor, Tensor]:
    """Convert ``add_custom_backward`` to two copies, since its results are two tensors."""
    return Clone(self), Clone(self)
