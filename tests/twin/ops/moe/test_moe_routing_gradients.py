"""Gradients of routing and of finalizing: native/opapi/ops/moe/moe_routing_gradients.cpp."""

from __future__ import annotations

import pytest
import torch

from tests.twin.aclnn_calls import call
from tests.twin.ops.compare import agree
from tests.twin.ops.samples import some

ROWS, TOP_K, WIDTH, EXPERTS, CAPACITY = 5, 3, 8, 4, 3


def places(mode: int) -> torch.Tensor:
    """The expanded row of each pair; with a capacity some pairs have none."""
    generator = torch.Generator().manual_seed(2)
    count = EXPERTS * CAPACITY if mode == 1 else ROWS * TOP_K
    chosen = torch.randperm(count, generator=generator)[: ROWS * TOP_K - 4 * mode]
    index = torch.cat([chosen, torch.full((ROWS * TOP_K - len(chosen),), -1)])
    return index[torch.randperm(ROWS * TOP_K, generator=generator)].int()


def picked(expanded: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """The rows of all pairs; zeros for those that have none."""
    rows = expanded.flatten(0, -2)
    rows = torch.cat([rows, torch.zeros(1, WIDTH)])
    return rows[index.long()].view(-1, TOP_K, WIDTH)


@pytest.mark.parametrize("mode", [0, 1])
def test_gradient_of_routing(mode: int) -> None:
    index = places(mode)
    shape = (EXPERTS, CAPACITY, WIDTH) if mode == 1 else (ROWS * TOP_K, WIDTH)
    grad = some(shape, torch.float16)
    out = torch.full((ROWS, WIDTH), 9.0).half().to("npu")
    call("aclnnMoeInitRoutingV2Grad", grad.to("npu"), index.to("npu"), TOP_K, mode, 0, out)
    agree(out, picked(grad.float(), index).sum(1).half())


@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("biased", [True, False])
def test_gradient_of_finalizing(mode: int, *, biased: bool) -> None:
    index = places(mode)
    shape = (EXPERTS, CAPACITY, WIDTH) if mode == 1 else (ROWS * TOP_K, WIDTH)
    expanded = some(shape, torch.float32).requires_grad_()
    scales = some((ROWS, TOP_K), torch.float32).requires_grad_()
    bias = some((EXPERTS, WIDTH), torch.float32)
    experts = torch.randint(0, EXPERTS, (ROWS, TOP_K), dtype=torch.int32)
    values = picked(expanded, index) + (bias[experts.long()] if biased else 0)
    grad = some((ROWS, WIDTH), torch.float32)
    torch.autograd.backward((values * scales.unsqueeze(-1)).sum(1), grad)
    out = [torch.full(one.shape, 9.0).to("npu") for one in (expanded, scales)]
    operands = [grad, index, expanded.detach(), scales.detach(), experts]
    given = [*(tensor.to("npu") for tensor in operands), bias.to("npu") if biased else None]
    call("aclnnMoeFinalizeRoutingV2Grad", *given, mode, 0, EXPERTS, CAPACITY, *out)
    agree(out, [expanded.grad, scales.grad])


def test_gradient_of_finalizing_without_scales() -> None:
    index = torch.randperm(ROWS).int()
    grad = some((ROWS, WIDTH), torch.float32)
    out = torch.zeros(ROWS, WIDTH).to("npu")
    operands = [grad.to("npu"), index.to("npu"), None, None, None, None]
    call("aclnnMoeFinalizeRoutingV2Grad", *operands, 0, 0, 0, 0, out, None)
    agree(out, grad[index.argsort()])
