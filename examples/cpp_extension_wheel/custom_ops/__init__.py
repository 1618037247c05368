"""Custom operators for Ascend NPUs: importing the package registers ``torch.ops.myops``."""

from __future__ import annotations

# The extension links to the libraries of both, so they have to be loaded before it.
import torch  # noqa: F401  isort: skip
import torch_npu  # noqa: F401  isort: skip
import custom_ops_lib  # noqa: F401  isort: skip

from .add_custom import add_custom

__all__ = ["add_custom"]
