"""Pinned host memory in captured graphs: copies read and write it at each replay."""

from __future__ import annotations

import torch
import torch_npu

from tests.twin.graphs.captures import capture


def test_copies_from_the_host() -> None:
    host = torch.zeros(16).pin_memory()
    x = torch.zeros(16).to("npu")

    def step() -> torch.Tensor:
        x.copy_(host, non_blocking=True)
        return x * 2

    graph, y = capture(step)
    for value in range(5):
        host.fill_(value)
        graph.replay()
        assert y.tolist() == [2 * value] * 16


def test_copies_to_the_host() -> None:
    host = torch.zeros(16).pin_memory()
    x = torch.zeros(16).to("npu")
    graph, _ = capture(lambda: host.copy_(x + 1, non_blocking=True))
    for value in range(5):
        x.fill_(value)
        graph.replay()
        torch_npu.npu.synchronize()
        assert host.tolist() == [value + 1] * 16


def replays_among_others() -> tuple[list[list[float]], bool]:
    """Return what three replays compute, and whether other pinned memory is as it was."""
    x = torch.zeros(64).to("npu")
    computed, unchanged = [], True

    def step() -> torch.Tensor:
        parts = []
        for number in range(8):
            host = torch.full((64,), float(number)).pin_memory()
            part = torch.empty(64, device="npu")
            part.copy_(host, non_blocking=True)
            parts.append(part + x)
            del host
        return torch.stack(parts)

    graph, y = capture(step)
    for value in range(3):
        x.fill_(value)
        noise = [torch.full((64,), -1.0).pin_memory() for _ in range(16)]
        graph.replay()
        computed.append(y[:, 0].tolist())
        unchanged &= all(bool((block == -1).all()) for block in noise)
    return computed, unchanged


def test_pinned_memory_of_a_capture_stays() -> None:
    """The graph is gone by the time of the comparison, also for the test after one that fails."""
    computed, unchanged = replays_among_others()
    assert computed == [[number + value for number in range(8)] for value in range(3)]
    assert unchanged
