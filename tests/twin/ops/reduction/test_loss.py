"""Losses and their gradients: native/opapi/ops/reduction/loss.cpp."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
import torch
from torch.nn import functional

from tests.twin.ops.compare import HALVES, check, check_out, rejects
from tests.twin.ops.gradients import check_gradients, leaf
from tests.twin.ops.samples import positions, some

if TYPE_CHECKING:
    from collections.abc import Callable

REDUCTIONS = ("none", "mean", "sum")
PAIRWISE: dict[str, Callable[..., torch.Tensor]] = {
    "mse": functional.mse_loss,
    "l1": functional.l1_loss,
    "smooth_l1": partial(functional.smooth_l1_loss, beta=0.7),
    "huber": functional.huber_loss,
}


def probabilities(shape: tuple[int, ...], seed: int = 1) -> torch.Tensor:
    uniform = torch.rand(shape, generator=torch.Generator().manual_seed(seed))
    return uniform * 0.8 + 0.1


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("name", PAIRWISE)
def test_pairwise(name: str, reduction: str) -> None:
    for shape in ((4, 5), (2, 3, 4), ()):
        check_gradients(PAIRWISE[name], leaf(shape), leaf(shape, seed=4), reduction=reduction)
    check_gradients(
        lambda x, y: PAIRWISE[name](x.t(), y, reduction=reduction),
        leaf((4, 5)),
        leaf((5, 4), seed=4),
    )
    for dtype in HALVES:
        check(PAIRWISE[name], some((4, 5), dtype), some((4, 5), dtype) + 1, reduction=reduction)


@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_out(reduction: int) -> None:
    left, right = some((4, 5), torch.float32), some((4, 5), torch.float32).flip(0)
    for loss in (
        torch.ops.aten.mse_loss,
        torch.ops.aten.smooth_l1_loss,
        torch.ops.aten.soft_margin_loss,
    ):
        check_out(loss, left, right, reduction)


def test_broadcast() -> None:
    with pytest.warns(UserWarning, match="broadcast"):
        check(functional.mse_loss, some((4, 1), torch.float32), some((3,), torch.float32))


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_soft_margin(reduction: str) -> None:
    target = some((4, 5), torch.float32).sign()
    check_gradients(functional.soft_margin_loss, leaf((4, 5)), target, reduction=reduction)


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
@pytest.mark.parametrize("reduction", [*REDUCTIONS, "batchmean"])
@pytest.mark.parametrize("log_target", [False, True])
def test_kl_div(reduction: str, log_target: bool) -> None:  # noqa: FBT001
    log_input = probabilities((4, 5)).log().requires_grad_()
    target = probabilities((4, 5), seed=2)
    target[0, 0] = 0 if not log_target else 0.5  # 0 log 0 counts as 0
    target = target.log() if log_target else target
    kl_div = partial(functional.kl_div, reduction=reduction, log_target=log_target)
    check_gradients(kl_div, log_input, target)
    check_gradients(kl_div, log_input, probabilities((4, 5), seed=3).requires_grad_())


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
def test_binary_cross_entropy(reduction: str, weighted: bool) -> None:  # noqa: FBT001
    weight = probabilities((5,), seed=7) if weighted else None
    check_gradients(
        functional.binary_cross_entropy,
        probabilities((4, 5)).requires_grad_(),
        probabilities((4, 5), seed=2),
        weight=weight,
        reduction=reduction,
    )
    for pos_weight in (None, probabilities((5,), seed=8) * 3):
        check_gradients(
            functional.binary_cross_entropy_with_logits,
            leaf((4, 5)),
            probabilities((4, 5), seed=2),
            weight=weight,
            pos_weight=pos_weight,
            reduction=reduction,
        )


def test_binary_cross_entropy_of_no_probability() -> None:
    rejects(
        "BinaryCrossEntropy", functional.binary_cross_entropy, torch.tensor([2.0]), torch.ones(1)
    )


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("shape", [(6, 5), (5,), (3, 5, 2, 4), (3, 5, 7)])
def test_nll(shape: tuple[int, ...], reduction: str) -> None:
    classes = shape[1] if len(shape) > 1 else shape[0]
    target = positions((shape[:1] + shape[2:]) if len(shape) > 1 else (), classes)
    for weight in (None, probabilities((classes,))):
        for ignore in (-100, 1):
            check_gradients(
                lambda x, t, w, ignore=ignore: functional.nll_loss(
                    functional.log_softmax(x, 1 if x.dim() > 1 else 0),
                    t,
                    w,
                    ignore_index=ignore,
                    reduction=reduction,
                ),
                leaf(shape),
                target,
                weight,
            )


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_cross_entropy(smoothing: float) -> None:
    loss = partial(functional.cross_entropy, label_smoothing=smoothing)
    check_gradients(loss, leaf((6, 5)), positions((6,), 5))
    check_gradients(loss, leaf((6, 5)), probabilities((6, 5)))
    for dtype in HALVES:
        check_gradients(loss, leaf((6, 5), dtype), positions((6,), 5))


def test_nll_of_a_class_that_is_not_there() -> None:
    rejects("NLLLoss", functional.nll_loss, torch.randn(3, 4), torch.tensor([0, 9, 1]))


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_multilabel_margin(reduction: str) -> None:
    target = torch.tensor([[3, 0, -1, 1], [2, -1, 1, 0]])
    check(
        functional.multilabel_margin_loss, some((2, 4), torch.float32), target, reduction=reduction
    )
    check(
        functional.multilabel_margin_loss, some((4,), torch.float32), target[0], reduction=reduction
    )


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("zero_infinity", [False, True])
def test_ctc(reduction: str, zero_infinity: bool) -> None:  # noqa: FBT001
    """Targets of different lengths, one of them longer than its input if infinities are zeroed."""
    lengths = torch.tensor([12, 9, 2 if zero_infinity else 8]), torch.tensor([5, 3, 4])
    ctc = partial(functional.ctc_loss, reduction=reduction, zero_infinity=zero_infinity)
    check_gradients(
        lambda x, t: ctc(functional.log_softmax(x, 2), t, *lengths),
        leaf((12, 3, 6)),
        positions((3, 5), 5) + 1,
    )
