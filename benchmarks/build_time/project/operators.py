"""The same operator, declared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import opwright as ow

if TYPE_CHECKING:
    import torch

ops = ow.OperatorSet("scale_add_declared", version="1.0")


@ops.operator(
    "scale_add(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor",
    aclnn="aclnnScaleAdd(x, y, float alpha, out)",
    shapes={"x": "*S", "y": "*S", "out": "*S"},
    dtypes={"y": "x"},
    backward={"x, y": "scale_add_backward(grad, alpha)"},
)
def scale_add(x: torch.Tensor, y: torch.Tensor, *, alpha: float = 1.0) -> torch.Tensor:
    """Return x + alpha * y."""
    return x + alpha * y


@ops.operator(
    "scale_add_backward(Tensor grad, float alpha) -> (Tensor grad_x, Tensor grad_y)",
    aclnn="aclnnScaleAddGrad(grad, float alpha, grad_x, grad_y)",
)
def scale_add_backward(grad: torch.Tensor, alpha: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the gradients of x and y."""
    return grad.clone(), grad * alpha
