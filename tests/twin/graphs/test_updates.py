"""Host values of captured operators: task groups, external events, and torch_npu's own updates."""

from __future__ import annotations

import os
from functools import partial

import pytest
import torch
import torch_npu

from tests.twin.graphs.captures import capture, check_usable, new_stream

npu = torch_npu.npu
SYNC = bool(os.environ.get("OPWRIGHT_SYNC"))  # every launch waits for its end


class Updatable:
    """y = x * factor, captured as a task group behind an external event."""

    def __init__(self, x: torch.Tensor, factor: float) -> None:
        self.x = x
        self.event = npu.ExternalEvent()
        self.stream = new_stream()  # of the updates
        self.graph, self.y = capture(lambda: self.record(factor))

    def record(self, factor: float) -> torch.Tensor:
        stream = npu.current_stream()
        y = torch.empty_like(self.x)
        self.event.wait(stream)
        self.event.reset(stream)
        npu.graph_task_group_begin(stream)
        torch.mul(self.x, factor, out=y)
        self.handle = npu.graph_task_group_end(stream)
        return y

    def update(self, factor: float) -> None:
        with npu.stream(self.stream):
            npu.graph_task_update_begin(self.stream, self.handle)
            torch.mul(self.x, factor, out=self.y)
            npu.graph_task_update_end(self.stream)
            self.event.record(self.stream)


def test_an_update_comes_before_its_replay() -> None:
    captured = Updatable(torch.ones(8).to("npu"), 1)
    for factor in range(2, 12):
        captured.update(factor)
        captured.graph.replay()
        assert captured.y.tolist() == [factor] * 8


@pytest.mark.skipif(SYNC, reason="the update would have to come while the launch waits")
def test_a_replay_waits_for_its_update() -> None:
    """As torchair does: it replays first, and updates while the graph waits for the event."""
    captured = Updatable(torch.ones(8).to("npu"), 1)
    for factor in range(2, 12):
        captured.graph.replay()
        captured.update(factor)
        assert captured.y.tolist() == [factor] * 8


def test_an_update_runs_nothing_itself() -> None:
    captured = Updatable(torch.ones(8).to("npu"), 1)
    captured.y.fill_(-1)
    captured.update(5)
    npu.synchronize()
    assert captured.y.tolist() == [-1] * 8
    captured.graph.replay()
    assert captured.y.tolist() == [5] * 8


def test_an_update_reads_the_inputs_that_it_was_given() -> None:
    captured = Updatable(torch.ones(8).to("npu"), 1)
    other = torch.full((8,), 7.0).to("npu")
    captured.x = other
    captured.update(2)
    captured.graph.replay()
    assert captured.y.tolist() == [14] * 8


def test_several_groups() -> None:
    x = torch.ones(4).to("npu")
    handles = []
    outs = [torch.empty(4).to("npu") for _ in range(5)]

    def step() -> None:
        stream = npu.current_stream()
        for number, out in enumerate(outs):
            npu.graph_task_group_begin(stream)
            torch.add(x, x, alpha=number, out=out)
            handles.append(npu.graph_task_group_end(stream))

    graph, _ = capture(step)
    graph.replay()
    assert [out[0].item() for out in outs] == [1, 2, 3, 4, 5]
    update = new_stream()
    with npu.stream(update):
        for number, (handle, out) in enumerate(zip(handles, outs, strict=True)):
            npu.graph_task_update_begin(update, handle)
            torch.add(x, x, alpha=10 * number + 1, out=out)
            npu.graph_task_update_end(update)
    update.synchronize()
    graph.replay()
    assert [out[0].item() for out in outs] == [2, 12, 22, 32, 42]


@pytest.mark.parametrize("replay_first", [False, True])
def test_lengths_of_attention(*, replay_first: bool) -> None:
    """torch_npu records a task group for it and updates it by keyword."""
    query, key, value = (torch.randn(1, 4, n, 16).half().to("npu") for n in (1, 32, 32))

    def attend(length: int) -> torch.Tensor:
        result: torch.Tensor = torch_npu.npu_fused_infer_attention_score(
            query,
            key,
            value,
            num_heads=4,
            input_layout="BNSD",
            scale=0.25,
            actual_seq_lengths_kv=[length],
        )[0]
        return result

    graph, y = capture(lambda: attend(5), auto_dispatch_capture=True)
    for length in (32, 1, 17):
        steps = [
            partial(graph.update, cpu_update_input=[{"actual_seq_lengths_kv": [length]}]),
            graph.replay,
        ]
        for step in reversed(steps) if replay_first and not SYNC else steps:
            step()
        assert torch.equal(y, attend(length))


def test_updates_of_a_graph_that_was_captured_without_them() -> None:
    graph, _ = capture(lambda: torch.ones(3, device="npu"))
    with pytest.raises(RuntimeError, match="auto_dispatch_capture=True"):
        graph.update(cpu_update_input=[{}])


# ---- refusals ----


@pytest.mark.skipif(not SYNC, reason="elsewhere the replay waits")
def test_a_replay_before_its_update_in_sync_mode() -> None:
    captured = Updatable(torch.ones(8).to("npu"), 3)
    with pytest.raises(RuntimeError, match="in sync mode nothing can make it happen"):
        captured.graph.replay()
    captured.update(4)
    captured.graph.replay()
    assert captured.y.tolist() == [4] * 8


def test_an_update_with_another_operator() -> None:
    captured = Updatable(torch.ones(8).to("npu"), 3)
    with npu.stream(captured.stream):
        npu.graph_task_update_begin(captured.stream, captured.handle)
        torch.add(captured.x, 1, out=captured.y)
        with pytest.raises(
            RuntimeError,
            match=r"aclmdlRICaptureTaskUpdateEnd: the update runs aclnnAdds, but the task group "
            r"holds aclnnMuls",
        ):
            npu.graph_task_update_end(captured.stream)
    captured.event.record(captured.stream)
    captured.graph.replay()
    assert captured.y.tolist() == [3] * 8  # as before
    check_usable(captured.stream)


def test_groups_that_do_not_begin_or_end() -> None:
    stream = new_stream()
    with pytest.raises(RuntimeError, match=r"aclmdlRICaptureTaskGrpBegin: stream \d+ is not being"):
        npu.graph_task_group_begin(stream)
    with pytest.raises(RuntimeError, match=r"aclmdlRICaptureTaskGrpEnd: stream \d+ is not being"):
        npu.graph_task_group_end(stream)
    with pytest.raises(
        RuntimeError, match=r"aclmdlRICaptureTaskUpdateEnd: .*updates no task group"
    ):
        npu.graph_task_update_end(stream)
    before = npu.current_stream()
    with pytest.raises(RuntimeError, match=r"aclmdlRICaptureEnd: .*has an open task group"):
        capture(lambda: npu.graph_task_group_begin(npu.current_stream()))
    npu.set_stream(before)
    check_usable(stream)


def test_a_group_of_a_graph_that_was_reset() -> None:
    captured = Updatable(torch.ones(8).to("npu"), 3)
    captured.graph.reset()
    with pytest.raises(RuntimeError, match=r"aclmdlRICaptureTaskUpdateBegin: .*task group"):
        npu.graph_task_update_begin(captured.stream, captured.handle)
    check_usable(captured.stream)


def test_waiting_for_an_update() -> None:
    """The stream that updates waits for nothing, so the host cannot read there."""
    captured = Updatable(torch.ones(8).to("npu"), 3)
    captured.update(4)
    captured.graph.replay()
    captured.stream.synchronize()
    assert captured.y.tolist() == [4] * 8
