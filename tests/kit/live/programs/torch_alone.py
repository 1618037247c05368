"""Operators of a process that has neither torch_npu nor the twin."""

from __future__ import annotations

import sys

import torch

import opwright as ow

ops = ow.OperatorSet("opwright_without")


@ops.operator(
    "doubled(Tensor x) -> Tensor", aclnn="aclnnOpwrightWithout(x, out)", backward="reference"
)
def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


before = list(sys.meta_path)
with ops.load():
    x = torch.ones(2, requires_grad=True)
    torch.autograd.backward([doubled(x).sum()])
    assert x.grad is not None
    assert x.grad.tolist() == [2, 2]
assert sys.meta_path == before
assert "torch_npu" not in sys.modules
assert "opwright.twin" not in sys.modules
