"""Cross entropy of torch_npu's own operators: native/opapi/ops/reduction/cross_entropy.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu
from torch.nn import functional

from tests.twin.ops.compare import agree, rejects
from tests.twin.ops.samples import positions, some

REDUCTIONS = ("none", "mean", "sum")
DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def samples(dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    target = positions((7,), 11)
    target[2] = 4
    return some((7, 11), dtype), target


def smoothed(
    x: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None,
    reduction: str,
    smoothing: float,
) -> torch.Tensor:
    """The page's formula in float64; class 4 is ignored."""
    scores = functional.log_softmax(x.double(), 1)
    by_class = torch.ones(x.size(1)) if weight is None else weight
    kept = (target != 4).double()
    each = -scores[torch.arange(x.size(0)), target] * by_class[target] * kept
    even = -(scores * by_class).sum(1) * kept
    mixed = (1 - smoothing) * each + smoothing / x.size(1) * even
    if reduction == "none":
        return mixed
    total = (by_class[target] * kept).sum() if reduction == "mean" else 1
    return mixed.sum().reshape(1) / total


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_loss_and_gradient(
    dtype: torch.dtype,
    weighted: bool,  # noqa: FBT001
    smoothing: float,
    reduction: str,
) -> None:
    x, target = samples(dtype)
    weight = some((11,), torch.float32, 1, 3) if weighted else None
    host = x.double().requires_grad_()
    expected = smoothed(host, target, weight, reduction, smoothing)
    device = x.to("npu").requires_grad_()
    loss, log_prob, _, _ = torch_npu.npu_cross_entropy_loss(
        device,
        target.to("npu"),
        None if weight is None else weight.to("npu"),
        reduction=reduction,
        ignore_index=4,
        label_smoothing=smoothing,
    )
    agree(loss.detach(), expected.detach().to(dtype))
    agree(log_prob.detach(), functional.log_softmax(x.double(), 1).to(dtype))
    seed = some(tuple(expected.shape), dtype)
    (grad,) = torch.autograd.grad(loss, device, seed.to("npu"))
    (expected_grad,) = torch.autograd.grad(expected, host, seed.double())
    # The device's gradient starts from log_prob in x's dtype.
    tolerance = {torch.float32: 1e-5, torch.float16: 5e-3, torch.bfloat16: 5e-2}[dtype]
    torch.testing.assert_close(grad.cpu().double(), expected_grad, rtol=tolerance, atol=tolerance)


def test_agrees_with_torch() -> None:
    x, target = samples(torch.float32)
    loss = torch_npu.npu_cross_entropy_loss(x.to("npu"), target.to("npu"))[0]
    agree(loss, functional.cross_entropy(x, target).reshape(1))


def test_cross_entropy_refuses_wrong_calls() -> None:
    x, target = samples(torch.float32)
    loss = torch_npu.npu_cross_entropy_loss
    rejects("allowed: mean, sum, none", loss, x, target, reduction="median")
    rejects("labelSmoothing is 1.5", loss, x, target, label_smoothing=1.5)
    rejects("lseSquareScaleForZloss", loss, x, target, lse_square_scale_for_zloss=0.5)
    rejects("zloss", loss, x, target, return_zloss=True)
    rejects("weightOptional", loss, x, target, torch.ones(3))


@pytest.mark.parametrize("index_dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("keep_logits", [False, True])
def test_vocabulary_on_several_devices(
    dtype: torch.dtype,
    index_dtype: torch.dtype,
    keep_logits: bool,  # noqa: FBT001
) -> None:
    """Two parts of a vocabulary, put together as a group of devices would: CPU's cross entropy."""
    tokens, features, vocabulary = 11, 5, 256
    x = some((tokens, features), dtype, -1, 2)
    weight = some((vocabulary, features), dtype, -1, 2)
    target = positions((tokens,), vocabulary, index_dtype)
    host = [x.float().requires_grad_(), weight.float().requires_grad_()]
    expected = functional.cross_entropy(host[0] @ host[1].t(), target.long(), reduction="none")
    seed = some((tokens,), torch.float32)
    by_host = torch.autograd.grad(expected, host, seed)

    half = vocabulary // 2
    parts = [
        torch_npu.npu_fused_linear_online_max_sum(
            x.to("npu"),
            part.to("npu"),
            target.to("npu"),
            start,
            start + half,
            return_logits=keep_logits,
        )
        for start, part in ((0, weight[:half]), (half, weight[half:]))
    ]
    masked = torch.stack([(target >= half), (target < half)])
    for (*_, mask, index, _), elsewhere, start in zip(parts, masked, (0, half), strict=True):
        bits = (mask.cpu().unsqueeze(1) >> torch.arange(8)) & 1
        assert bits.flatten()[:tokens].bool().tolist() == elsewhere.tolist()
        agree(index, torch.where(elsewhere, 0, target - start).to(index_dtype))
    largest = torch.maximum(parts[0][0], parts[1][0])
    total = sum(part[1] * torch.exp(part[0] - largest) for part in parts)
    predicted = sum(
        (part[2] + part[0] - largest) * ~elsewhere.to("npu")
        for part, elsewhere in zip(parts, masked, strict=True)
    )
    by_input = torch.zeros(tokens, features)
    for part, start in zip(parts, (0, half), strict=True):
        logits = part[5] if keep_logits else None
        loss, softmax = torch_npu.npu_fused_cross_entropy_loss_with_max_sum(
            largest, total, predicted, vocab_parallel_logits=logits
        )
        torch.testing.assert_close(loss.cpu(), expected.detach(), rtol=1e-2, atol=1e-2)
        grads = torch_npu.npu_fused_linear_cross_entropy_loss_with_max_sum_backward(
            seed.to("npu"),
            x.to("npu"),
            weight[start : start + half].to("npu"),
            part[3],
            part[4],
            0.0,
            None if keep_logits else largest,
            None if keep_logits else total,
            softmax if keep_logits else None,
        )
        by_input += grads[0].cpu().float()
        by_weight = by_host[1][start : start + half]
        torch.testing.assert_close(grads[1].cpu().float(), by_weight, rtol=3e-2, atol=3e-2)
    torch.testing.assert_close(by_input, by_host[0], rtol=3e-2, atol=5e-2)


def test_parts_of_a_vocabulary_are_checked() -> None:
    x, weight = some((3, 5), torch.float16), some((8, 5), torch.float16)
    run = torch_npu.npu_fused_linear_online_max_sum
    rejects("vocabEndIndex is 9", run, x, weight, positions((3,), 8), 0, 9)
    rejects("target has the shape", run, x, weight, positions((2,), 8), 0, 8)
    ones = torch.ones(3)
    loss = torch_npu.npu_fused_cross_entropy_loss_with_max_sum
    rejects("inputOptional", loss, ones, ones, ones, input=x, weight=weight)
    device = ones.to("npu")
    agree(loss(device, device, device)[0], -ones)
