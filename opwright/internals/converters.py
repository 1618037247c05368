"""TorchAir's tables of converters, which it adds to and takes nothing from.

torchair is a name for torch_npu's module once that is imported.
"""

from __future__ import annotations

from typing import Any

from torchair._ge_concrete_graph.fx2ge_converter import _DECLARED_SUPPORTED_CONVERTERS

__all__ = ["declared_supported_converters"]

# The samples that a converter supports, by operator.
declared_supported_converters: dict[Any, Any] = _DECLARED_SUPPORTED_CONVERTERS
