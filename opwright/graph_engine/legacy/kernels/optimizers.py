"""Optimizers that update a parameter in one operator. State is written where it lies."""

from __future__ import annotations

import torch

from opwright.graph_engine.kernels.precision import widen
from opwright.graph_engine.legacy.kernels.table import legacy_kernel

Three = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def moments(
    m: torch.Tensor, v: torch.Tensor, grad: torch.Tensor, beta1: torch.Tensor, beta2: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the moved averages of the gradient and of its square."""
    wide = widen(grad)
    first = widen(m) * beta1 + wide * (1 - beta1)
    return first, widen(v) * beta2 + wide.square() * (1 - beta2)


def write(targets: Three, values: Three) -> Three:
    """Write values where targets lie."""
    for target, value in zip(targets, values, strict=True):
        target.copy_(value)
    return targets


@legacy_kernel("ApplyAdamD", source="ops-nn:optim/apply_adam_d/op_graph/apply_adam_d_proto.h")
@legacy_kernel("ApplyAdam", source="ops-nn:optim/apply_adam/op_graph/apply_adam_proto.h")
def apply_adam_d(
    var: torch.Tensor,
    m: torch.Tensor,
    v: torch.Tensor,
    beta1_power: torch.Tensor,
    beta2_power: torch.Tensor,
    lr: torch.Tensor,
    beta1: torch.Tensor,
    beta2: torch.Tensor,
    epsilon: torch.Tensor,
    grad: torch.Tensor,
    *,
    use_locking: bool = False,
    use_nesterov: bool = False,
) -> Three:
    """Adam, with the powers of both betas of the step before."""
    del use_locking
    first, second = moments(m, v, grad, beta1, beta2)
    rate = lr * (1 - beta2_power).sqrt() / (1 - beta1_power)
    slope = first * beta1 + widen(grad) * (1 - beta1) if use_nesterov else first
    moved = widen(var) - rate * slope / (second.sqrt() + epsilon)
    return write((var, m, v), (moved, first, second))


@legacy_kernel("ApplyAdamW", source="ops-nn:optim/apply_adam_w/op_graph/apply_adam_w_proto.h")
def apply_adam_w(
    var: torch.Tensor,
    m: torch.Tensor,
    v: torch.Tensor,
    beta1_power: torch.Tensor,
    beta2_power: torch.Tensor,
    lr: torch.Tensor,
    weight_decay: torch.Tensor,
    beta1: torch.Tensor,
    beta2: torch.Tensor,
    epsilon: torch.Tensor,
    grad: torch.Tensor,
    max_grad_norm: torch.Tensor | None = None,
    *,
    amsgrad: bool = False,
    maximize: bool = False,
) -> Three:
    """AdamW; amsgrad keeps the largest second average in `max_grad_norm`."""
    slope = -grad if maximize else grad
    first, second = moments(m, v, slope, beta1, beta2)
    powers1, powers2 = beta1_power * beta1, beta2_power * beta2
    bound = second
    if amsgrad and max_grad_norm is not None:
        bound = torch.maximum(widen(max_grad_norm), second)
        max_grad_norm.copy_(bound)
    denominator = (bound / (1 - powers2)).sqrt() + epsilon
    decayed = widen(var) * (1 - lr * weight_decay)
    moved = decayed - lr / (1 - powers1) * first / denominator
    return write((var, m, v), (moved, first, second))


@legacy_kernel("ApplyAdamV2", source="torch_npu:_op_plugin_docs.py:npu_bert_apply_adam")
def apply_adam_v2(
    var: torch.Tensor,
    m: torch.Tensor,
    v: torch.Tensor,
    lr: torch.Tensor,
    beta1: torch.Tensor,
    beta2: torch.Tensor,
    epsilon: torch.Tensor,
    grad: torch.Tensor,
    max_grad_norm: torch.Tensor,
    global_grad_norm: torch.Tensor,
    weight_decay: torch.Tensor,
    step_size: torch.Tensor | None = None,
    *,
    adam_mode: str = "adam",
) -> Three:
    """BERT's Adam: clipped by the norm of all gradients, without correction of the averages."""
    if adam_mode not in ("adam", "mbart_adam"):
        message = f"adam_mode '{adam_mode}' is not available; available are adam, mbart_adam"
        raise NotImplementedError(message)
    ratio = global_grad_norm / max_grad_norm
    clipped = widen(grad) / torch.where(ratio > 1, ratio, torch.ones_like(ratio))
    first, second = moments(m, v, clipped, beta1, beta2)
    decay = widen(var) * weight_decay
    update = first / (second.sqrt() + epsilon)
    if adam_mode == "adam":
        moved = widen(var) - lr * (update + decay)
    else:
        moved = widen(var) - (lr if step_size is None else step_size) * update - lr * decay
    return write((var, m, v), (moved, first, second))
