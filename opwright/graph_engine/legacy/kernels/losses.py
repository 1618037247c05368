"""Losses and their gradients. `reduction` is none, mean, batchmean or sum."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import torch
from torch.nn import functional

from opwright.graph_engine.kernels.available import require_one_of
from opwright.graph_engine.kernels.loss import code_of
from opwright.graph_engine.legacy.kernels.gradient import gradients
from opwright.graph_engine.legacy.kernels.table import legacy_kernel

if TYPE_CHECKING:
    from collections.abc import Callable

aten = torch.ops.aten

Two = tuple[torch.Tensor, torch.Tensor]


def share_of(reduction: str, loss: torch.Tensor) -> int:
    """Return by what the sum over the losses of elements is divided."""
    require_one_of("reduction", reduction, "none", "sum", "mean", "batchmean")
    if reduction == "mean":
        return loss.numel()
    return loss.shape[0] if reduction == "batchmean" and loss.dim() else 1


def reduce(loss: torch.Tensor, reduction: str) -> torch.Tensor:
    """Return what a reduction makes of the losses of elements."""
    if reduction == "none":
        return loss
    if reduction == "mean":
        return loss.mean()  # of 16 bits, the sum may be too large
    return loss.sum() / share_of(reduction, loss)


def gradient(
    loss: Callable[[torch.Tensor], torch.Tensor],
    x: torch.Tensor,
    outer: torch.Tensor,
    reduction: str,
) -> torch.Tensor:
    """Return the gradient of a loss of elements by its first operand.

    The gradient of a reduced loss is one number, which torch_npu may have spread over all elements.
    """
    spread = outer.expand(x.shape) if outer.numel() > 1 else outer.reshape(()).expand(x.shape)
    return gradients(loss, [x], spread.to(x.dtype) / share_of(reduction, x))[0]


@legacy_kernel(
    "BinaryCrossEntropy",
    source="ops-nn:loss/binary_cross_entropy/op_graph/binary_cross_entropy_proto.h",
)
def binary_cross_entropy(
    x: torch.Tensor,
    y: torch.Tensor,
    weight: torch.Tensor | None = None,
    *,
    reduction: str = "mean",
) -> torch.Tensor:
    """Cross entropy of probabilities."""
    return reduce(functional.binary_cross_entropy(x, y, weight, reduction="none"), reduction)


@legacy_kernel(
    "BinaryCrossEntropyGrad",
    source="ops-nn:loss/binary_cross_entropy_grad/op_graph/binary_cross_entropy_grad_proto.h",
)
def binary_cross_entropy_grad(
    x: torch.Tensor,
    y: torch.Tensor,
    grad_output: torch.Tensor,
    weight: torch.Tensor | None = None,
    *,
    reduction: str = "mean",
) -> torch.Tensor:
    """Gradient of BinaryCrossEntropy."""
    code = code_of(reduction)
    outer = grad_output if reduction == "none" else grad_output.reshape(())
    return cast("torch.Tensor", aten.binary_cross_entropy_backward(outer, x, y, weight, code))


@legacy_kernel(
    "SigmoidCrossEntropyWithLogitsV2",
    source="ops-nn:loss/sigmoid_cross_entropy_with_logits_v2/op_graph/sigmoid_cross_entropy_with_logits_v2_proto.h",
)
def sigmoid_cross_entropy_with_logits_v2(
    predict: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    pos_weight: torch.Tensor | None = None,
    *,
    reduction: str = "mean",
) -> torch.Tensor:
    """Cross entropy of logits."""
    loss = functional.binary_cross_entropy_with_logits(
        predict, target, weight, reduction="none", pos_weight=pos_weight
    )
    return reduce(loss, reduction)


@legacy_kernel(
    "SigmoidCrossEntropyWithLogitsGradV2",
    source="op-plugin:op_plugin/ops/aclops/BinaryCrossEntropyWithLogitsKernelNpu.cpp",
)
def sigmoid_cross_entropy_with_logits_grad_v2(
    predict: torch.Tensor,
    target: torch.Tensor,
    dout: torch.Tensor,
    weight: torch.Tensor | None = None,
    pos_weight: torch.Tensor | None = None,
    *,
    reduction: str = "mean",
) -> torch.Tensor:
    """Gradient of SigmoidCrossEntropyWithLogitsV2."""

    def loss(x: torch.Tensor) -> torch.Tensor:
        return functional.binary_cross_entropy_with_logits(
            x, target, weight, reduction="none", pos_weight=pos_weight
        )

    return gradient(loss, predict, dout, reduction)


@legacy_kernel(
    "KLDiv", source="graphengine:third_party/fwkacllib/inc/ops/elewise_calculation_ops.h"
)
def kl_div(
    x: torch.Tensor, target: torch.Tensor, *, reduction: str, log_target: bool = False
) -> torch.Tensor:
    """Kullback-Leibler divergence of log-probabilities."""
    return reduce(functional.kl_div(x, target, reduction="none", log_target=log_target), reduction)


@legacy_kernel(
    "KlDivLossGrad", source="ops-nn:loss/kl_div_loss_grad/op_graph/kl_div_loss_grad_proto.h"
)
def kl_div_loss_grad(
    grad: torch.Tensor,
    input: torch.Tensor,  # noqa: A002 - the prototype's name
    target: torch.Tensor,
    *,
    reduction: str = "mean",
    log_target: bool = False,
) -> torch.Tensor:
    """Gradient of the divergence."""

    def loss(x: torch.Tensor) -> torch.Tensor:
        return functional.kl_div(x, target, reduction="none", log_target=log_target)

    return gradient(loss, input, grad, reduction)


@legacy_kernel("LpLoss", source="ops-nn:loss/lp_loss/op_graph/lp_loss_proto.h")
def lp_loss(
    predict: torch.Tensor, label: torch.Tensor, *, p: int, reduction: str = "mean"
) -> torch.Tensor:
    """Powers of differences; only the first is available."""
    require_one_of("p", p, 1)
    return reduce((predict - label).abs(), reduction)


@legacy_kernel("L1LossGrad", source="ops-nn:loss/l1_loss_grad/op_graph/l1_loss_grad_proto.h")
def l1_loss_grad(
    grads: torch.Tensor, predict: torch.Tensor, label: torch.Tensor, *, reduction: str = "mean"
) -> torch.Tensor:
    """Gradient of the mean of distances."""
    return gradient(lambda x: (x - label).abs(), predict, grads, reduction)


def smooth_l1(x: torch.Tensor, label: torch.Tensor, sigma: float) -> torch.Tensor:
    """Return the distances, squared below sigma."""
    return functional.smooth_l1_loss(x, label, reduction="none", beta=sigma)


@legacy_kernel(
    "SmoothL1LossV2", source="ops-nn:loss/smooth_l1_loss_v2/op_graph/smooth_l1_loss_v2_proto.h"
)
def smooth_l1_loss_v2(
    predict: torch.Tensor, label: torch.Tensor, *, sigma: float = 1.0, reduction: str = "mean"
) -> torch.Tensor:
    """Distances, squared below sigma."""
    return reduce(smooth_l1(predict, label, sigma), reduction)


@legacy_kernel(
    "SmoothL1LossGradV2",
    source="ops-nn:loss/smooth_l1_loss_grad_v2/op_graph/smooth_l1_loss_grad_v2_proto.h",
)
def smooth_l1_loss_grad_v2(
    predict: torch.Tensor,
    label: torch.Tensor,
    dout: torch.Tensor,
    *,
    sigma: float = 1.0,
    reduction: str = "mean",
) -> torch.Tensor:
    """Gradient of SmoothL1LossV2."""
    return gradient(lambda x: smooth_l1(x, label, sigma), predict, dout, reduction)


def soft_margin(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return log(1 + exp(-x * y))."""
    return functional.soft_margin_loss(x, y, reduction="none")


@legacy_kernel("SoftMarginLoss", source="ops-nn:loss/soft_margin_loss/docs/aclnnSoftMarginLoss.md")
def soft_margin_loss(
    input_x: torch.Tensor, input_y: torch.Tensor, *, reduction: str = "mean"
) -> torch.Tensor:
    """Logistic loss of two classes."""
    return reduce(soft_margin(input_x, input_y), reduction)


@legacy_kernel(
    "SoftMarginLossGrad",
    source="ops-nn:loss/soft_margin_loss_grad/op_graph/soft_margin_loss_grad_proto.h",
)
def soft_margin_loss_grad(
    predict: torch.Tensor, label: torch.Tensor, dout: torch.Tensor, *, reduction: str = "mean"
) -> torch.Tensor:
    """Gradient of SoftMarginLoss."""
    return gradient(lambda x: soft_margin(x, label), predict, dout, reduction)


@legacy_kernel(
    "SoftmaxCrossEntropyWithLogits",
    source="ops-nn:activation/softmax_cross_entropy_with_logits/op_graph/softmax_cross_entropy_with_logits_proto.h",
)
def softmax_cross_entropy_with_logits(features: torch.Tensor, labels: torch.Tensor) -> Two:
    """Cross entropy of each row, and its gradient."""
    log = functional.log_softmax(features.float(), -1)
    loss = -(log * labels).sum(-1)
    return loss.to(features.dtype), (log.exp() - labels).to(features.dtype)


@legacy_kernel(
    "MultilabelMarginLoss",
    source="ops-nn:loss/multilabel_margin_loss/op_graph/multilabel_margin_loss_proto.h",
)
def multilabel_margin_loss(
    x: torch.Tensor, target: torch.Tensor, *, reduction: str = "mean"
) -> Two:
    """Margins between the classes of a row and the others, and which the classes are."""
    code = code_of(reduction)
    loss, is_target = aten.multilabel_margin_loss_forward(x, target.long(), code)
    return loss, is_target


@legacy_kernel("CTCLossV2", source="ops-nn:loss/ctc_loss_v2/op_graph/ctc_loss_v2_proto.h")
def ctc_loss_v2(
    log_probs: torch.Tensor,
    targets: torch.Tensor,
    input_lengths: torch.Tensor,
    target_lengths: torch.Tensor,
    *,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Two:
    """Connectionist temporal classification; answers the table of the recursion as well.

    torch_npu adds the number of classes to `blank`, once for each step of the longest target.
    """
    del reduction
    classes = log_probs.shape[-1]
    loss, alpha = aten._ctc_loss(  # noqa: SLF001 - its name
        log_probs,
        targets,
        input_lengths.long(),
        target_lengths.long(),
        blank % classes,
        zero_infinity,
    )
    # The table that torch_npu provides is a whole number of blocks wide.
    wanted = -(-(2 * (blank // classes) + 1) // 8) * 8
    return loss, functional.pad(alpha, (0, max(wanted - alpha.shape[-1], 0)))


@legacy_kernel(
    "CTCLossV2Grad", source="ops-nn:loss/ctc_loss_v2_grad/op_graph/ctc_loss_v2_grad_proto.h"
)
def ctc_loss_v2_grad(
    grad_out: torch.Tensor,
    log_probs: torch.Tensor,
    targets: torch.Tensor,
    input_lengths: torch.Tensor,
    target_lengths: torch.Tensor,
    neg_log_likelihood: torch.Tensor,
    log_alpha: torch.Tensor,
    *,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> torch.Tensor:
    """Gradient of CTCLossV2."""
    del reduction
    lengths = target_lengths.long()
    width = 2 * int(lengths.max()) + 1
    return cast(
        "torch.Tensor",
        aten._ctc_loss_backward(  # noqa: SLF001 - its name
            grad_out,
            log_probs,
            targets,
            input_lengths.long(),
            lengths,
            neg_log_likelihood,
            log_alpha[..., :width].contiguous(),
            blank % log_probs.shape[-1],
            zero_infinity,
        ),
    )


@legacy_kernel("NLLLoss", source="ops-nn:loss/nll_loss/op_graph/nll_loss_proto.h")
def nll_loss(
    x: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    *,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> Two:
    """Negative element of each target, reduced; and the sum of the weights."""
    code = code_of(reduction)
    rows = target.long().reshape(x.shape[:-1])  # one row comes with a target without axes
    loss, total = aten.nll_loss_forward(x, rows, weight, code, ignore_index)
    return loss, total


@legacy_kernel("NLLLossGrad", source="ops-nn:loss/nll_loss_grad/op_graph/nll_loss_grad_proto.h")
def nll_loss_grad(
    x: torch.Tensor,
    y_grad: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None,
    total_weight: torch.Tensor,
    *,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> torch.Tensor:
    """Gradient of NLLLoss by x."""
    code = code_of(reduction)
    rows = target.long().reshape(x.shape[:-1])
    outer = y_grad.reshape(rows.shape if reduction == "none" else ())
    found = aten.nll_loss_backward(
        outer, x, rows, weight, code, ignore_index, total_weight.reshape(())
    )
    return cast("torch.Tensor", found)
