"""Pinned memory that the host reads or changes beside a copy: `opwright run --order`."""

from __future__ import annotations

import threading

import pytest

import opwright.twin  # noqa: F401  # before torch_npu

import torch  # isort: skip
import torch_npu  # isort: skip

from tests.twin.order_findings import checked, functions_of, only_finding, take_after_waiting

pytestmark = pytest.mark.twin

COPIES = {"aclrtMemcpyAsync", "aclrtMemcpyAsyncWithCondition"}


def pinned(count: int) -> torch.Tensor:
    return torch.zeros(count).pin_memory()


@checked
def test_a_read_before_the_copy_has_arrived_is_found() -> None:
    def read(host: torch.Tensor) -> float:
        return float(host[10])

    x = torch.arange(1000.0, device="npu")
    host = pinned(1000)
    host.copy_(x, non_blocking=True)
    read(host)
    finding = only_finding()
    assert finding.earlier.function in COPIES
    assert finding.earlier.writes
    assert (finding.later.function, finding.later.stream) == ("a load", None)
    assert finding.later.address == host[10].data_ptr()
    assert finding.later.lines[0].endswith(" in read")
    assert float(host[10]) == 10


@checked
def test_a_change_while_the_copy_reads_is_found() -> None:
    host = pinned(1000)
    x = host.to("npu", non_blocking=True)
    host.add_(1)
    finding = only_finding()
    assert finding.earlier.function in COPIES
    assert finding.later.function == "a store"
    assert finding.later.writes
    assert x.sum().item() in range(1001)
    assert float(host.sum()) == 1000


@checked
def test_reading_what_a_copy_reads_is_left_alone() -> None:
    host = pinned(1000)
    host.to("npu", non_blocking=True)
    assert float(host.sum()) == 0
    assert functions_of(take_after_waiting()) == []


@checked
def test_whoever_waits_first_is_left_alone() -> None:
    def by_the_stream() -> None:
        torch_npu.npu.current_stream().synchronize()

    def by_an_event() -> None:
        event = torch_npu.npu.Event()
        event.record()
        event.synchronize()

    def by_asking() -> None:
        event = torch_npu.npu.Event()
        event.record()
        while not event.query():
            pass

    for wait in (by_the_stream, by_an_event, by_asking):
        x = torch.ones(1000, device="npu")
        host = pinned(1000)
        host.copy_(x, non_blocking=True)
        wait()
        assert float(host.sum()) == 1000
        host.zero_()
        assert functions_of(take_after_waiting()) == [], wait.__name__


@checked
def test_neighbours_on_the_same_page_are_left_alone() -> None:
    """One slot of a ring is on its way; the others are read and written in between."""
    ring = torch.zeros(8, 10).pin_memory()
    x = torch.ones(10, device="npu")
    ring[3].copy_(x, non_blocking=True)
    ring[2].fill_(5)
    ring[4].copy_(ring[2])
    assert float(ring[:3].sum() + ring[4:].sum()) == 100
    assert functions_of(take_after_waiting()) == []
    assert float(ring.sum()) == 110


@checked
def test_two_streams_that_copy_to_the_same_buffer_are_found() -> None:
    x = torch.ones(1000, device="npu")
    host = pinned(1000)
    torch_npu.npu.synchronize()
    host.copy_(x, non_blocking=True)
    with torch_npu.npu.stream(torch_npu.npu.Stream()):
        host.copy_(x, non_blocking=True)
    finding = only_finding()
    assert finding.earlier.stream != finding.later.stream
    assert {finding.earlier.function, finding.later.function} <= COPIES


@checked
def test_another_threads_read_is_found() -> None:
    x = torch.ones(1000, device="npu")
    host = pinned(1000)
    host.copy_(x, non_blocking=True)
    reader = threading.Thread(target=host.sum)
    reader.start()
    reader.join()
    assert only_finding().later.function == "a load"


@checked
def test_a_buffer_that_comes_back_from_the_cache_is_left_alone() -> None:
    """torch_npu gives a pinned buffer to another tensor when its copies are over."""
    for _ in range(50):
        host = torch.full((1000,), 3.0).pin_memory()
        x = host.to("npu", non_blocking=True)
        del host
        assert x.sum().item() == 3000
    assert functions_of(take_after_waiting()) == []
