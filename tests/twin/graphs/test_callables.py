"""torch_npu.npu.make_graphed_callables: training with captured forward and backward passes."""

from __future__ import annotations

from copy import deepcopy
from itertools import pairwise

import pytest
import torch
import torch_npu
from torch import nn

from tests.twin.graphs.captures import check_usable, new_stream

# torch_npu 2.13.0 keeps the graph of the last warm-up, made on another stream, during the capture.
pytestmark = pytest.mark.filterwarnings("ignore:The AccumulateGrad node's stream does not match")


def model() -> nn.Module:
    torch.manual_seed(0)
    layers = nn.Sequential(
        nn.Linear(16, 32),
        nn.LayerNorm(32),
        nn.GELU(),
        nn.Linear(32, 32),
        nn.ReLU(),
        nn.Linear(32, 4),
    )
    return layers.to("npu")


def train(module: nn.Module, steps: int = 8) -> list[torch.Tensor]:
    """Return the gradients of each step."""
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    gradients = []
    for seed in range(steps):
        generator = torch.Generator().manual_seed(seed)
        x = torch.randn(8, 16, generator=generator).to("npu")
        target = torch.randn(8, 4, generator=generator).to("npu")
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.mse_loss(module(x), target)
        loss.backward()  # type: ignore[no-untyped-call]
        found = [parameter.grad for parameter in module.parameters()]
        gradients.append(torch.cat([grad.flatten() for grad in found if grad is not None]))
        optimizer.step()
    return gradients


def test_training_equals_eager_bit_for_bit() -> None:
    eager = model()
    graphed = deepcopy(eager)
    sample = torch.randn(8, 16).to("npu")
    graphed = torch_npu.npu.make_graphed_callables(graphed, (sample,))
    for ours, theirs in zip(train(graphed), train(eager), strict=True):
        assert torch.equal(ours, theirs)
    for ours, theirs in zip(graphed.parameters(), eager.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    graphed.eval()  # another mode than captured: eager
    eager.eval()
    x = torch.randn(3, 16).to("npu")
    assert torch.equal(graphed(x), eager(x))
    check_usable()


def test_several_callables_share_a_pool() -> None:
    stages = [nn.Linear(16, 32).to("npu"), nn.Linear(32, 8).to("npu")]
    eager = deepcopy(stages)
    samples = (
        (torch.randn(4, 16).to("npu"),),
        (torch.randn(4, 32).to("npu").requires_grad_(),),
    )
    first, second = torch_npu.npu.make_graphed_callables(tuple(stages), samples)
    for _ in range(4):
        x = torch.randn(4, 16).to("npu")
        gradients = []
        for one, two in ((first, second), (eager[0], eager[1])):
            two(one(x).relu()).square().mean().backward()
            parameters = [*one.parameters(), *two.parameters()]
            gradients.append([parameter.grad.clone() for parameter in parameters])
            for parameter in parameters:
                parameter.grad = None
        assert all(torch.equal(a, b) for a, b in zip(*gradients, strict=True))


def test_functions_and_gradients_of_inputs() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return (x @ y).softmax(-1), x.exp().sum()

    sample = tuple(torch.randn(8, 8).to("npu").requires_grad_() for _ in range(2))
    graphed = torch_npu.npu.make_graphed_callables(function, sample)
    for _ in range(3):
        inputs = [torch.randn(8, 8).to("npu").requires_grad_() for _ in range(2)]
        weights = torch.randn(8, 8).to("npu")
        found = []
        for callable_ in (graphed, function):
            a, b = callable_(*inputs)
            found.append([a, b, *torch.autograd.grad((a * weights).sum() + 2 * b, inputs)])
        assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


def test_a_callable_that_waits() -> None:
    def waits(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.sum().item() > 0 else x

    before = torch_npu.npu.current_stream()
    with pytest.raises(RuntimeError, match="aclrtSynchronizeStreamWithTimeout: cannot wait for"):
        torch_npu.npu.make_graphed_callables(waits, (torch.ones(4).to("npu").requires_grad_(),))
    torch_npu.npu.set_stream(before)
    check_usable()


def test_a_whole_training_step() -> None:
    """Forward, backward and optimizer in one graph, with static inputs."""
    captured, eager = model(), model()
    optimizers = [
        torch.optim.Adam(module.parameters(), lr=0.01, capturable=True)
        for module in (captured, eager)
    ]
    x = torch.zeros(8, 16).to("npu")
    target = torch.zeros(8, 4).to("npu")

    def step(module: nn.Module, optimizer: torch.optim.Optimizer) -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.mse_loss(module(x), target)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        return loss

    def fill(seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        x.copy_(torch.randn(8, 16, generator=generator))
        target.copy_(torch.randn(8, 4, generator=generator))

    warmup = new_stream()
    warmup.wait_stream(torch_npu.npu.current_stream())
    with torch_npu.npu.stream(warmup):
        for seed in range(3):
            fill(seed)
            step(captured, optimizers[0])
    torch_npu.npu.current_stream().wait_stream(warmup)
    graph = torch_npu.npu.NPUGraph()
    optimizers[0].zero_grad(set_to_none=True)
    with torch_npu.npu.graph(graph):
        loss = step(captured, optimizers[0])
    losses: list[list[float]] = [[], []]
    for seed in range(3):
        fill(seed)
        step(eager, optimizers[1])
    for seed in range(3, 12):
        fill(seed)
        graph.replay()
        losses[0].append(loss.item())
        losses[1].append(step(eager, optimizers[1]).item())
    assert losses[0] == losses[1]
    assert all(a != b for a, b in pairwise(losses[0]))
    for ours, theirs in zip(captured.parameters(), eager.parameters(), strict=True):
        assert torch.equal(ours, theirs)
