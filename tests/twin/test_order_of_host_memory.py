"""Pinned memory that the host reads or changes beside a copy: `opwright run --order`."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
import threading
from pathlib import Path
from typing import Any

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


def bytes_of(tensor: torch.Tensor) -> memoryview:
    """Return the memory of a tensor."""
    buffer: Any = tensor.numpy()  # one to Python's type checkers from 3.12 on
    return memoryview(buffer).cast("B")


def send(buffer: memoryview) -> None:
    """Send the buffer to a socket of this process, which takes it."""
    left, right = socket.socketpair()
    with left, right:
        left.send(buffer)


def receive(buffer: memoryview) -> None:
    """Fill the buffer from a socket of this process."""
    left, right = socket.socketpair()
    with left, right:
        left.send(bytes(len(buffer)))
        right.recv_into(buffer)


def write(buffer: memoryview) -> None:
    """Write the buffer to a file that keeps nothing."""
    with Path(os.devnull).open("wb", buffering=0) as file:
        file.write(buffer)


def read(buffer: memoryview) -> None:
    """Fill the buffer from a file."""
    with Path("/dev/zero").open("rb", buffering=0) as file:
        file.readinto(buffer)


def write_parts(buffer: memoryview) -> None:
    """Write the two halves of the buffer, the second one first."""
    with Path(os.devnull).open("wb", buffering=0) as file:
        half = len(buffer) // 2
        os.writev(file.fileno(), [buffer[half:], buffer[:half]])


SYSTEM_CALLS = {"send": send, "recv": receive, "write": write, "read": read, "writev": write_parts}


@checked
@pytest.mark.parametrize("function", SYSTEM_CALLS)
def test_a_system_call_that_is_given_the_buffer_of_a_copy_is_found(function: str) -> None:
    host = pinned(1000)
    host.copy_(torch.ones(1000, device="npu"), non_blocking=True)
    SYSTEM_CALLS[function](bytes_of(host))
    finding = only_finding()
    assert finding.earlier.function in COPIES
    assert (finding.later.function, finding.later.stream) == (function, None)
    assert finding.later.writes == (function in {"recv", "read"})
    assert finding.later.lines[0].endswith(f" in {SYSTEM_CALLS[function].__name__}")


@checked
@pytest.mark.parametrize("function", ["send", "write", "writev"])
def test_a_system_call_that_reads_what_a_copy_reads_is_left_alone(function: str) -> None:
    host = pinned(1000)
    host.to("npu", non_blocking=True)
    SYSTEM_CALLS[function](bytes_of(host))
    assert take_after_waiting() == []


@checked
@pytest.mark.parametrize("function", SYSTEM_CALLS)
def test_system_calls_beside_the_copy_on_its_page_are_left_alone(function: str) -> None:
    ring = torch.full((8, 10), 2.0).pin_memory()
    ring[3].copy_(torch.ones(10, device="npu"), non_blocking=True)
    SYSTEM_CALLS[function](bytes_of(ring[4:]))
    SYSTEM_CALLS[function](bytes_of(ring[:3]))
    assert take_after_waiting() == []
    assert float(ring[3].sum()) == 10
    assert float(ring[4].sum()) == (0 if function in {"recv", "read"} else 20)


@checked
def test_the_watch_goes_on_behind_a_system_call() -> None:
    ring = torch.zeros(8, 10).pin_memory()
    ring[3].copy_(torch.ones(10, device="npu"), non_blocking=True)
    write(bytes_of(ring[4:]))
    float(ring[3].sum())
    assert only_finding().later.function == "a load"


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


@checked
def test_neighbours_are_left_alone_beside_a_handler_of_the_programs() -> None:
    host = pinned(1000)
    host[500:].copy_(torch.ones(500, device="npu"), non_blocking=True)
    handler = signal.signal(signal.SIGTRAP, signal.default_int_handler)
    try:
        assert float(host[0]) == 0
    finally:
        signal.signal(signal.SIGTRAP, handler)
    assert take_after_waiting() == []


@checked
def test_neighbours_are_left_alone_where_the_thread_blocks_signals() -> None:
    host = pinned(1000)
    host[500:].copy_(torch.ones(500, device="npu"), non_blocking=True)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTRAP])
    assert float(host[0]) == 0
    assert take_after_waiting() == []


@checked
def test_a_forked_child_can_pass_what_is_on_its_way_to_the_system() -> None:
    host = pinned(1000)
    host.copy_(torch.ones(1000, device="npu"), non_blocking=True)
    with tempfile.TemporaryFile(buffering=0) as file:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGSEGV, signal.SIG_DFL)
            os._exit(0 if file.write(host.numpy().data) == host.nbytes else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert take_after_waiting() == []


@checked
def test_more_copies_on_their_way_than_are_watched_arrive() -> None:
    page = 1024  # elements
    host = torch.zeros(2 * 5000, page).pin_memory()
    x = torch.ones(page, device="npu")
    for slot in host[::2]:
        slot.copy_(x, non_blocking=True)
    assert take_after_waiting() == []
    assert int(host.sum()) == 5000 * page
