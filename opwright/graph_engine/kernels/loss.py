"""Losses and their gradients."""

from __future__ import annotations

from typing import cast

import torch

from opwright.graph_engine.kernels.available import require_one_of
from opwright.graph_engine.table import kernel

aten = torch.ops.aten

REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def code_of(reduction: str) -> int:
    """Return ATen's number of a reduction."""
    require_one_of("reduction", reduction, *REDUCTIONS)
    return REDUCTIONS[reduction]


@kernel("MseLoss", source="ops-nn:loss/mse_loss/op_graph/mse_loss_proto.h")
def mse_loss(
    predict: torch.Tensor, label: torch.Tensor, *, reduction: str = "mean"
) -> torch.Tensor:
    """Squared difference, reduced."""
    return cast("torch.Tensor", aten.mse_loss(predict, label, code_of(reduction)))


@kernel("MseLossGrad", source="ops-nn:loss/mse_loss_grad/op_graph/mse_loss_grad_proto.h")
def mse_loss_grad(
    predict: torch.Tensor, label: torch.Tensor, dout: torch.Tensor, *, reduction: str = "mean"
) -> torch.Tensor:
    """Gradient of MseLoss by the prediction."""
    return cast("torch.Tensor", aten.mse_loss_backward(dout, predict, label, code_of(reduction)))


@kernel("NLLLoss", source="ops-nn:loss/nll_loss/op_graph/nll_loss_proto.h")
def nll_loss(
    x: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    *,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Negative element of each target, reduced; and the sum of the weights."""
    return cast(
        "tuple[torch.Tensor, torch.Tensor]",
        aten.nll_loss_forward(x, target.long(), weight, code_of(reduction), ignore_index),
    )


@kernel("NLLLossGrad", source="ops-nn:loss/nll_loss_grad/op_graph/nll_loss_grad_proto.h")
def nll_loss_grad(
    x: torch.Tensor,
    y_grad: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor,
    total_weight: torch.Tensor,
    *,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> torch.Tensor:
    """Gradient of NLLLoss by x."""
    return cast(
        "torch.Tensor",
        aten.nll_loss_backward(
            y_grad, x, target.long(), weight, code_of(reduction), ignore_index, total_weight
        ),
    )
