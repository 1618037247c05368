"""Replays of captured graphs equal eager, bit for bit."""

from __future__ import annotations

import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu
from torch import nn

from tests.twin.graphs.captures import capture, new_stream

if TYPE_CHECKING:
    from collections.abc import Callable

    Step = Callable[[torch.Tensor], torch.Tensor]


def softmax_attention(x: torch.Tensor) -> torch.Tensor:
    heads = x.view(4, 8, 4, 8).transpose(1, 2)
    scores = (heads @ heads.transpose(-1, -2) / 8**0.5).softmax(-1)
    return (scores @ heads).transpose(1, 2).reshape(4, 8, 32) + x


def decoder_layer() -> Step:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.0).to("npu")

    def run(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            result: torch.Tensor = layer(x)
        return result

    return run


STEPS: dict[str, Callable[[], Step]] = {
    "elementwise": lambda: lambda x: (x * 3 + 1).relu().tanh() - x.abs().sqrt(),
    "attention": lambda: softmax_attention,
    "decoder_layer": decoder_layer,
    "reductions": lambda: lambda x: x.sum(-1).argsort(-1).float() + x.mean(-1) + x.amax(-1),
    "views": lambda: lambda x: x.transpose(0, 2)[::3, 1:5, ::2].contiguous() + x[2, :4, 5:7],
    "lists": lambda: lambda x: torch.cat([torch.stack(x.unbind(1)), x.transpose(0, 1)], -1),
    "half": lambda: lambda x: (x.half() @ x.half().transpose(-1, -2)).float(),
}


@pytest.mark.parametrize("name", STEPS)
def test_inputs_are_read_when_the_graph_is_replayed(name: str) -> None:
    step = STEPS[name]()
    x = torch.randn(4, 8, 32).to("npu")
    graph, y = capture(lambda: step(x))
    for seed in range(5):
        x.copy_(torch.randn(4, 8, 32, generator=torch.Generator().manual_seed(seed)))
        graph.replay()
        replayed = y.clone()
        assert torch.equal(replayed, step(x))


def test_a_capture_runs_nothing() -> None:
    x = torch.ones(5).to("npu")
    graph, _ = capture(lambda: x.add_(1))
    assert x.tolist() == [1] * 5
    graph.replay()
    assert x.tolist() == [2] * 5


def test_a_graph_changes_its_inputs() -> None:
    cache = torch.zeros(16, 4).to("npu")
    position = torch.zeros(1, dtype=torch.int64).to("npu")
    token = torch.zeros(1, 4).to("npu")

    def step() -> torch.Tensor:
        cache.index_copy_(0, position, token)
        position.add_(1)
        return cache.sum(0)

    graph, total = capture(step)
    for number in range(16):
        token.fill_(number)
        graph.replay()
        assert total.tolist() == [number * (number + 1) / 2] * 4
    assert cache[:, 0].tolist() == list(range(16))


def test_a_thousand_replays() -> None:
    x = torch.zeros(8).to("npu")
    graph, _ = capture(lambda: x.add_(1))
    for _ in range(1000):
        graph.replay()
    assert x.tolist() == [1000] * 8


@pytest.mark.parametrize("count", [0, 1, 100, 5000])
def test_graphs_of_many_sizes(count: int) -> None:
    x = torch.zeros(4).to("npu")

    def step() -> None:
        for number in range(count):
            x.add_(number % 7)

    graph, _ = capture(step)
    expected = sum(number % 7 for number in range(count))
    for round_ in range(1, 4):
        graph.replay()
        assert x.tolist() == [round_ * expected] * 4


def test_other_work_runs_between_replays() -> None:
    x = torch.randn(64, 64).to("npu")
    graph, y = capture(lambda: (x @ x).softmax(-1) @ x)
    expected = (x @ x).softmax(-1) @ x
    others = [torch.randn(64, 64).to("npu") for _ in range(4)]
    for _ in range(30):
        graph.replay()
        for index, other in enumerate(others):  # takes and gives back memory in many sizes
            others[index] = torch.cat([other @ other, other])[: 64 + index].relu()[:64]
        torch_npu.npu.empty_cache()
        assert torch.equal(y, expected)


def test_two_graphs_run_on_two_streams() -> None:
    streams = [new_stream() for _ in range(2)]
    inputs = [torch.randn(96, 96).to("npu") for _ in range(2)]

    def step(x: torch.Tensor) -> torch.Tensor:
        for _ in range(10):
            x = (x @ x).softmax(-1)
        return x

    captured = [capture(partial(step, x)) for x in inputs]
    for seed in range(8):
        torch.manual_seed(seed)
        for x in inputs:
            x.copy_(torch.randn(96, 96))
        torch_npu.npu.synchronize()
        for stream, (graph, _) in zip(streams, captured, strict=True):
            with torch_npu.npu.stream(stream):
                graph.replay()
        torch_npu.npu.synchronize()
        for x, (_, y) in zip(inputs, captured, strict=True):
            assert torch.equal(y, step(x))


def test_one_graph_runs_on_two_streams() -> None:
    total = torch.zeros(1000).to("npu")
    graph, _ = capture(lambda: total.add_(1).mul_(2).div_(2))
    torch_npu.npu.synchronize()
    for _ in range(100):
        for stream in (new_stream(), new_stream()):
            with torch_npu.npu.stream(stream):
                graph.replay()
    torch_npu.npu.synchronize()
    assert total.tolist() == [200] * 1000


@pytest.mark.parametrize("own_stream", [False, True])
def test_another_thread_replays(*, own_stream: bool) -> None:
    x = torch.randn(32, 32).to("npu")

    def step() -> torch.Tensor:
        return (x @ x).relu()

    graph, y = capture(step)
    torch_npu.npu.synchronize()
    results: list[bool] = []

    def work() -> None:
        torch_npu.npu.set_device(0)
        stream = new_stream() if own_stream else torch_npu.npu.current_stream()
        with torch_npu.npu.stream(stream):
            for seed in range(20):
                x.copy_(torch.randn(32, 32, generator=torch.Generator().manual_seed(seed)))
                graph.replay()
                results.append(torch.equal(y, step()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert results == [True] * 20


def test_many_threads_replay_one_graph() -> None:
    total = torch.zeros(100).to("npu")
    graph, _ = capture(lambda: total.add_(1))
    torch_npu.npu.synchronize()

    def work(_: int) -> None:
        torch_npu.npu.set_device(0)
        with torch_npu.npu.stream(new_stream()):
            for _ in range(50):
                graph.replay()
            torch_npu.npu.current_stream().synchronize()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert total.tolist() == [400] * 100


def test_a_graph_is_destroyed_while_it_runs() -> None:
    for _ in range(10):
        x = torch.zeros(64, 64).to("npu")

        def step(x: torch.Tensor = x) -> None:
            for _ in range(50):
                x.add_(1)

        graph, _ = capture(step)
        torch_npu.npu.synchronize()
        for _ in range(3):
            graph.replay()
        graph.reset()
        del graph
        assert torch.equal(x, torch.full_like(x, 150))


def test_a_graph_outlives_what_made_it() -> None:
    def made() -> tuple[torch_npu.npu.NPUGraph, torch.Tensor, torch.Tensor]:
        x = torch.ones(8).to("npu")
        stream = new_stream()
        event = torch_npu.npu.Event()

        def step() -> torch.Tensor:
            scale = torch.tensor(3.0)  # a host value: kept with the launch
            event.record()
            return x * scale + 1

        graph, y = capture(step, stream=stream)
        return graph, x, y

    graph, x, y = made()
    gc.collect()
    for value in (1, 2):
        x.fill_(value)
        graph.replay()
        assert y.tolist() == [3 * value + 1] * 8
