"""External events, which release a running graph, as `opwright run --order` sees them."""

from __future__ import annotations

import pytest

import opwright.twin  # noqa: F401  # before torch_npu

import torch  # isort: skip
import torch_npu  # isort: skip

from tests.twin.order_findings import checked, functions_of, only_finding, take_after_waiting

pytestmark = pytest.mark.twin

SET_ANEW = ("aclrtValueWrite", "aclrtValueWrite")  # as torch_npu resets and records


class Released:
    """A graph that waits for an external event, resets it, and adds a source to a sum."""

    def __init__(self) -> None:
        self.event = torch_npu.npu.ExternalEvent()
        self.updates = torch_npu.npu.Stream()
        self.source = torch.zeros(100, device="npu")
        self.sum = torch.zeros(100, device="npu")
        self.graph = torch_npu.npu.NPUGraph()
        torch_npu.npu.synchronize()
        with torch_npu.npu.graph(self.graph):
            stream = torch_npu.npu.current_stream()
            self.event.wait(stream)
            self.event.reset(stream)
            self.sum.add_(self.source)

    def record(self) -> None:
        self.event.record(self.updates)

    def await_replays(self) -> None:
        self.updates.wait_stream(torch_npu.npu.current_stream())


@checked
def test_a_record_beside_the_reset_of_the_one_before_is_found() -> None:
    """If it comes first, it is lost, and the next replay does not end."""
    released = Released()
    released.graph.replay()
    released.record()
    released.record()
    finding = only_finding()
    assert functions_of([finding]) == [SET_ANEW]
    assert any(line.startswith("replayed by ") for line in finding.earlier.lines)
    assert finding.later.lines[0].endswith(" in record")


@checked
def test_a_record_beside_a_reset_outside_of_graphs_is_found() -> None:
    event, updates = torch_npu.npu.ExternalEvent(), torch_npu.npu.Stream()
    event.record(updates)
    event.wait()
    event.reset()
    event.record(updates)
    assert functions_of(take_after_waiting()) == [SET_ANEW]


@checked
def test_records_that_wait_for_the_replay_before_are_left_alone() -> None:
    released = Released()
    for _ in range(3):
        released.await_replays()
        released.graph.replay()
        released.record()
    assert take_after_waiting() == []


@checked
def test_a_replay_is_behind_a_record_that_was_launched_before() -> None:
    released = Released()
    for step in range(3):
        released.await_replays()
        with torch_npu.npu.stream(released.updates):
            released.source.fill_(step)
        released.record()
        released.graph.replay()
    assert take_after_waiting() == []
    assert released.sum[0].item() == 3


@checked
def test_what_follows_a_replay_is_behind_the_record_that_it_waited_for() -> None:
    released = Released()
    released.graph.replay()
    with torch_npu.npu.stream(released.updates):
        total = torch.ones(100, device="npu")
    released.record()
    total.add_(1)
    assert take_after_waiting() == []


@checked
def test_a_stream_that_waits_for_a_record_to_come_has_no_known_order_yet() -> None:
    """Its own records may be behind any reset: two streams that release each other are right."""
    first, second = torch_npu.npu.ExternalEvent(), torch_npu.npu.ExternalEvent()
    one, two = torch_npu.npu.Stream(), torch_npu.npu.Stream()
    for _ in range(3):
        first.wait(two)  # before its record
        first.reset(two)
        second.record(two)
        first.record(one)
        second.wait(one)
        second.reset(one)
    assert take_after_waiting() == []
