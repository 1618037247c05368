"""Captures of several streams: forks, joins, events, and several captures at once."""

from __future__ import annotations

import torch
import torch_npu

from tests.twin.graphs.captures import capture, check_usable, new_stream

Event = torch_npu.npu.Event


def square(size: int = 48) -> torch.Tensor:
    return torch.randn(size, size).to("npu")


def test_a_stream_of_the_users() -> None:
    stream = new_stream()
    x = torch.zeros(4).to("npu")

    def step() -> torch.Tensor:
        assert torch_npu.npu.current_stream() == stream
        assert torch_npu.npu.is_current_stream_capturing()
        return x + 1

    graph, y = capture(step, stream=stream)
    assert torch_npu.npu.current_stream() == torch_npu.npu.default_stream()
    for replaying in (stream, torch_npu.npu.default_stream(), new_stream()):
        with torch_npu.npu.stream(replaying):
            x.add_(1)
            graph.replay()
            assert torch.equal(y, x + 1)


def test_a_diamond() -> None:
    x = square()
    left, right = new_stream(), new_stream()

    def step() -> torch.Tensor:
        origin = torch_npu.npu.current_stream()
        start = x + 1
        for side in (left, right):
            side.wait_stream(origin)
        with torch_npu.npu.stream(left):
            assert torch_npu.npu.is_current_stream_capturing()
            a = (start @ start).softmax(-1)
        with torch_npu.npu.stream(right):
            b = (start.t() @ start).relu()
        for side in (left, right):
            origin.wait_stream(side)
        return a - b

    graph, y = capture(step)
    for seed in range(30):
        x.copy_(torch.randn(48, 48, generator=torch.Generator().manual_seed(seed)))
        graph.replay()
        start = x + 1
        expected = (start @ start).softmax(-1) - (start.t() @ start).relu()
        assert torch.equal(y, expected)
    check_usable(left, right)


def test_streams_hand_over_many_times() -> None:
    x = torch.zeros(16).to("npu")
    side = new_stream()

    def step() -> None:
        origin = torch_npu.npu.current_stream()
        for _ in range(20):
            x.mul_(2)
            side.wait_stream(origin)
            with torch_npu.npu.stream(side):
                x.add_(1)
            origin.wait_stream(side)

    graph, _ = capture(step)
    for _ in range(20):
        x.zero_()
        graph.replay()
        assert x.tolist() == [2.0**20 - 1] * 16


def test_a_fork_of_a_fork() -> None:
    x = torch.ones(16).to("npu")
    first, second = new_stream(), new_stream()

    def step() -> torch.Tensor:
        origin = torch_npu.npu.current_stream()
        first.wait_stream(origin)
        with torch_npu.npu.stream(first):
            a = x * 2
            second.wait_stream(first)
        with torch_npu.npu.stream(second):
            b = a + 1
        origin.wait_stream(second)  # which has seen all of the first one
        return b * 10

    graph, y = capture(step)
    for value in range(5):
        x.fill_(value)
        graph.replay()
        assert y.tolist() == [(2 * value + 1) * 10] * 16


def test_an_event_is_recorded_again() -> None:
    x = torch.ones(16).to("npu")
    side = new_stream()
    event = Event()

    def step() -> torch.Tensor:
        origin = torch_npu.npu.current_stream()
        a = x + 1
        event.record(origin)
        side.wait_event(event)
        with torch_npu.npu.stream(side):
            b = a * 2
            event.record(side)
        origin.wait_event(event)
        return b + a

    graph, y = capture(step)
    for value in range(5):
        x.fill_(value)
        graph.replay()
        assert y.tolist() == [3 * (value + 1)] * 16


def test_work_behind_a_replay_sees_all_of_it() -> None:
    """The end of a replay is the end of its last stream."""
    x = square(128)
    side = new_stream()

    def step() -> torch.Tensor:
        origin = torch_npu.npu.current_stream()
        side.wait_stream(origin)
        with torch_npu.npu.stream(side):
            y = x
            for _ in range(5):
                y = (y @ x).softmax(-1)
        origin.wait_stream(side)
        return y

    graph, y = capture(step)
    consumer = new_stream()
    for seed in range(10):
        x.copy_(torch.randn(128, 128, generator=torch.Generator().manual_seed(seed)))
        graph.replay()
        consumer.wait_stream(torch_npu.npu.current_stream())
        with torch_npu.npu.stream(consumer):
            copied = y + 0
            copied.record_stream(consumer)
            consumer.synchronize()
        assert torch.equal(copied, step_eagerly(x))


def step_eagerly(x: torch.Tensor) -> torch.Tensor:
    y = x
    for _ in range(5):
        y = (y @ x).softmax(-1)
    return y


def test_two_captures_at_once() -> None:
    streams = [new_stream(), new_stream()]
    graphs = [torch_npu.npu.NPUGraph(), torch_npu.npu.NPUGraph()]
    x = torch.zeros(8).to("npu")
    torch_npu.npu.synchronize()
    results = []
    with torch_npu.npu.stream(streams[0]):
        graphs[0].capture_begin()
        results.append(x + 1)
        with torch_npu.npu.stream(streams[1]):
            graphs[1].capture_begin()
            results.append(x + 2)
            graphs[1].capture_end()
        results[0].mul_(10)
        graphs[0].capture_end()
    for value in range(3):
        x.fill_(value)
        graphs[1].replay()
        graphs[0].replay()
        assert [result[0].item() for result in results] == [(value + 1) * 10, value + 2]
    check_usable(*streams)


def test_eager_work_on_another_stream_during_a_capture() -> None:
    x = torch.ones(8).to("npu")
    other = new_stream()
    seen = []

    def step() -> torch.Tensor:
        y = x + 1
        with torch_npu.npu.stream(other):
            assert not torch_npu.npu.is_current_stream_capturing()
            z = x * 5
            other.synchronize()
            seen.append(z)
        return y * 2

    graph, y = capture(step)
    assert seen[0].tolist() == [5] * 8  # ran at once, and is no part of the graph
    x.fill_(2)
    graph.replay()
    assert y.tolist() == [6] * 8
    assert seen[0].tolist() == [5] * 8


def test_a_replay_inside_of_a_capture() -> None:
    x = torch.ones(8).to("npu")
    inner, y = capture(lambda: x * 3)

    def step() -> torch.Tensor:
        x.add_(1)
        inner.replay()
        return y + 1

    outer, z = capture(step)
    for value in range(3):
        x.fill_(value)
        outer.replay()
        assert z.tolist() == [(value + 1) * 3 + 1] * 8


def test_streams_are_many() -> None:
    x = torch.arange(8.0).to("npu")
    sides = [new_stream() for _ in range(12)]

    def step() -> torch.Tensor:
        origin = torch_npu.npu.current_stream()
        results = []
        for number, side in enumerate(sides):
            side.wait_stream(origin)
            with torch_npu.npu.stream(side):
                results.append(x * number)
        for side in sides:
            origin.wait_stream(side)
        return torch.stack(results)

    graph, y = capture(step)
    for _ in range(20):
        x.add_(1)
        graph.replay()
        assert torch.equal(y, torch.stack([x * number for number in range(12)]))
