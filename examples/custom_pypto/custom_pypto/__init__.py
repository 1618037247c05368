"""Operators for Ascend NPUs: importing the package registers ``torch.ops.custom_pypto``."""

from __future__ import annotations

from pathlib import Path

# The library links to those of torch_npu, which have to be loaded before it.
import torch
import torch_npu  # noqa: F401

torch.ops.load_library(Path(__file__).with_name("custom_pypto_lib.so"))

from . import converter  # noqa: E402 - the operators exist from here on

__all__ = ["converter"]
