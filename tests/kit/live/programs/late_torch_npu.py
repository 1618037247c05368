"""Operators that are loaded before torch_npu is imported."""

from __future__ import annotations

import importlib
import sys

import torch

import opwright as ow

ops = ow.OperatorSet("opwright_late")


@ops.operator("doubled(Tensor x) -> Tensor", aclnn="aclnnOpwrightLate(x, out)")
def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


assert "torch_npu" not in sys.modules
loaded = ops.load()
assert doubled(torch.ones(2)).tolist() == [2, 2]
assert "torch_npu" not in sys.modules
for name in ("opwright.twin", "torch_npu"):
    importlib.import_module(name)
assert doubled(torch.ones(2).to("npu")).tolist() == [2, 2]
loaded.unload()
assert not [each for each in sys.meta_path if "Arrival" in type(each).__name__]
waiting = ops.load()
