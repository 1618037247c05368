"""Operators that a model imports before it runs: a whole package."""

from __future__ import annotations

import torch

import opwright as ow

ops = ow.OperatorSet("plugged", version="1.2")


@ops.operator(
    "gated(Tensor x, *, Tensor gate) -> Tensor",
    aclnn="aclnnPluggedGated(x, gate, out)",
    shapes={"x": "*batch, D", "gate": "D"},
    backward="reference",
)
def gated(x: torch.Tensor, *, gate: torch.Tensor) -> torch.Tensor:
    """Multiply by a gate."""
    return x * torch.sigmoid(gate)


ops.load()
