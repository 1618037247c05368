"""Order between streams as a program sees it: `opwright run --order`."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

import opwright.twin  # noqa: F401  # before torch_npu

import torch  # isort: skip
import torch_npu  # isort: skip

from opwright.twin.order import take_findings
from tests.twin import on_twin
from tests.twin.order_findings import checked, functions_of, only_finding, take_after_waiting

if TYPE_CHECKING:
    from types import FrameType

    from opwright.twin.order import Access

pytestmark = pytest.mark.twin


def is_in(access: Access, function: str) -> bool:
    return access.lines[0].endswith(f" in {function}") and "test_order.py:" in access.lines[0]


@checked
def test_a_read_beside_a_write_is_named_with_both_places() -> None:
    def write(x: torch.Tensor) -> None:
        x.mul_(2)

    def read(x: torch.Tensor) -> torch.Tensor:
        return x.exp()

    x = torch.ones(100, device="npu")
    torch_npu.npu.synchronize()
    write(x)
    with torch_npu.npu.stream(torch_npu.npu.Stream()):
        read(x)
    finding = only_finding()
    assert functions_of([finding]) == [("aclnnInplaceMuls", "aclnnExp")]
    assert finding.earlier.writes
    assert finding.later.reads
    assert not finding.later.writes
    assert finding.earlier.stream != finding.later.stream
    assert (finding.earlier.address, finding.later.size) == (x.data_ptr(), 400)
    assert is_in(finding.earlier, "write")
    assert is_in(finding.later, "read")


@checked
def test_two_writes_are_found() -> None:
    x = torch.ones(100, device="npu")
    torch_npu.npu.synchronize()
    x.mul_(2)
    with torch_npu.npu.stream(torch_npu.npu.Stream()):
        x.add_(1)
    finding = only_finding()
    assert finding.earlier.writes
    assert finding.later.writes


@checked
def test_a_read_of_part_of_what_is_written_is_found() -> None:
    x = torch.ones(10, 20, device="npu")
    torch_npu.npu.synchronize()
    x.mul_(2)
    with torch_npu.npu.stream(torch_npu.npu.Stream()):
        x[3:5].exp()
    finding = only_finding()
    assert finding.later.address == x.data_ptr() + 4 * 60
    assert finding.later.size == 4 * 40


@checked
def test_memory_that_another_tensor_gets_while_a_stream_reads_it_is_found() -> None:
    """The stream waits for the tensor, but the allocator does not know of the stream."""
    x = torch.ones(1000, device="npu")
    stream = torch_npu.npu.Stream()
    stream.wait_stream(torch_npu.npu.current_stream())
    with torch_npu.npu.stream(stream):
        x.exp()
    address = x.data_ptr()
    del x
    y = torch.zeros(1000, device="npu")
    assert y.data_ptr() == address
    finding = only_finding()
    assert (finding.earlier.function, finding.later.writes) == ("aclnnExp", True)


@checked
def test_a_host_read_of_what_a_stream_still_writes_is_found() -> None:
    x = torch.ones(1000, device="npu")
    torch_npu.npu.synchronize()
    with torch_npu.npu.stream(torch_npu.npu.Stream()):
        x.mul_(2)
    x.cpu()  # torch_npu waits for the current stream alone
    finding = only_finding()
    assert finding.earlier.function == "aclnnInplaceMuls"
    assert finding.later.reads


@checked
def test_programs_that_order_their_streams_are_left_alone() -> None:
    def by_wait_stream(x: torch.Tensor, stream: torch_npu.npu.Stream) -> None:
        stream.wait_stream(torch_npu.npu.current_stream())
        with torch_npu.npu.stream(stream):
            x.mul_(2)
        torch_npu.npu.current_stream().wait_stream(stream)

    def by_an_event(x: torch.Tensor, stream: torch_npu.npu.Stream) -> None:
        event = torch_npu.npu.Event()
        event.record()
        with torch_npu.npu.stream(stream):
            event.wait()
            x.mul_(2)
            event.record()
        event.wait()

    def by_the_host(x: torch.Tensor, stream: torch_npu.npu.Stream) -> None:
        torch_npu.npu.current_stream().synchronize()
        with torch_npu.npu.stream(stream):
            x.mul_(2)
        stream.synchronize()

    def by_an_event_that_the_host_sees(x: torch.Tensor, stream: torch_npu.npu.Stream) -> None:
        torch_npu.npu.synchronize()
        with torch_npu.npu.stream(stream):
            x.mul_(2)
            event = stream.record_event()
        while not event.query():
            pass

    def over_a_third(x: torch.Tensor, stream: torch_npu.npu.Stream) -> None:
        between = torch_npu.npu.Stream()
        between.wait_stream(torch_npu.npu.current_stream())
        stream.wait_stream(between)
        with torch_npu.npu.stream(stream):
            x.mul_(2)
        between.wait_stream(stream)
        torch_npu.npu.current_stream().wait_stream(between)

    for order in (
        by_wait_stream,
        by_an_event,
        by_the_host,
        by_an_event_that_the_host_sees,
        over_a_third,
    ):
        x = torch.ones(1000, device="npu")
        x.add_(1)
        order(x, torch_npu.npu.Stream())
        assert x.sum().item() == 4000
        assert functions_of(take_findings()) == [], order.__name__


@checked
def test_bytes_that_lie_between_each_other_are_not_the_same() -> None:
    """Two streams write the halves of each row, and the even and odd elements of a vector."""
    rows, vector = torch.zeros(50, 40, device="npu"), torch.zeros(5000, device="npu")
    torch_npu.npu.synchronize()
    rows[:, :20].add_(1)
    vector[::2].add_(1)
    with torch_npu.npu.stream(torch_npu.npu.Stream()):
        rows[:, 20:].add_(2)
        vector[1::2].add_(2)
    torch_npu.npu.synchronize()
    assert functions_of(take_findings()) == []
    assert (rows.sum().item(), vector.sum().item()) == (3000, 7500)

    vector[::2].add_(1)
    with torch_npu.npu.stream(torch_npu.npu.Stream()):
        vector[1234:1236].exp()
    assert only_finding().later.function == "aclnnExp"

    vector.exp()
    vector[::2].exp()
    with torch_npu.npu.stream(torch_npu.npu.Stream()):
        vector[1:2].add_(1)
    assert only_finding().later.function == "aclnnInplaceAdds"


@checked
def test_memory_with_record_stream_is_left_alone() -> None:
    for _ in range(20):
        x = torch.ones(1000, device="npu")
        stream = torch_npu.npu.Stream()
        stream.wait_stream(torch_npu.npu.current_stream())
        with torch_npu.npu.stream(stream):
            y = x.exp()
        x.record_stream(stream)
        del x
        torch.zeros(1000, device="npu")
        torch_npu.npu.current_stream().wait_stream(stream)
        del y
    torch_npu.npu.synchronize()
    assert functions_of(take_findings()) == []


@checked
def test_training_over_two_devices_is_left_alone() -> None:
    w = torch.randn(10, 5).to("npu:0").requires_grad_()
    b = torch.randn(10).to("npu:1").requires_grad_()
    x = torch.randn(5).to("npu:0")
    optimizer = torch.optim.SGD([w, b], lr=1e-3)
    for _ in range(20):
        optimizer.zero_grad()
        torch.autograd.backward((w.mv(x).to("npu:1") + b).pow(2).sum())
        optimizer.step()
    torch_npu.npu.synchronize(0)
    torch_npu.npu.synchronize(1)
    assert functions_of(take_findings()) == []


@checked
def test_what_backward_launches_has_the_line_that_called_it() -> None:
    w = torch.ones(100, device="npu", requires_grad=True)
    stream = torch_npu.npu.Stream()
    stream.wait_stream(torch_npu.npu.current_stream())
    with torch_npu.npu.stream(stream):
        torch.autograd.backward((w * 2).sum())
    assert w.grad is not None
    w.grad.norm()
    (line, *_) = only_finding().earlier.lines
    assert line.startswith("in the backward of ")
    assert line.endswith(" in test_what_backward_launches_has_the_line_that_called_it")


@checked
def test_what_backward_launches_has_no_line_if_two_threads_call_it() -> None:
    """It is not known for which of them a thread of autograd works."""

    def is_in_backward(frame: FrameType) -> bool:
        return frame.f_code.co_name == "_engine_run_backward"

    def wait_for_both(_: torch.Tensor) -> None:
        while sum(map(is_in_backward, sys._current_frames().values())) < 2:  # noqa: SLF001
            time.sleep(0.001)

    weights = [torch.ones(100, device="npu", requires_grad=True) for _ in range(2)]
    results = [w * 2 for w in weights]
    results[0].register_hook(wait_for_both)  # type: ignore[no-untyped-call]
    sums = [each.sum() for each in results]
    torch_npu.npu.synchronize()
    threads = [threading.Thread(target=torch.autograd.backward, args=(each,)) for each in sums]
    for thread in threads:
        thread.start()
        time.sleep(0.1)  # the first one has the hook
    for thread in threads:
        thread.join()
    gradient = weights[0].grad
    assert gradient is not None
    with torch_npu.npu.stream(torch_npu.npu.Stream()):
        gradient.norm()
    assert only_finding().earlier.lines == ()


def race() -> None:
    x = torch.ones(100, device="npu")
    with torch_npu.npu.stream(torch_npu.npu.Stream()):
        x.exp()
    torch_npu.npu.synchronize()


@checked
def test_what_was_taken_is_found_again() -> None:
    for _ in range(2):
        x = torch.ones(100, device="npu")
        torch_npu.npu.synchronize()
        x.mul_(2)
        with torch_npu.npu.stream(torch_npu.npu.Stream()):
            x.exp()
        assert only_finding().later.function == "aclnnExp"


@checked
def test_the_remedy_knows_whether_a_tensor_was_freed() -> None:
    x = torch.ones(1000, device="npu")
    torch_npu.npu.synchronize()
    side = torch_npu.npu.Stream()
    with torch_npu.npu.stream(side):
        x.exp()
    x.add_(1)
    assert "record_stream" not in str(only_finding())
    with torch_npu.npu.stream(side):
        x.exp()
    del x
    torch.zeros(1000, device="npu")
    assert "has gone from one tensor to another" in str(only_finding())


@checked
def test_the_remedy_knows_whether_the_host_fills_the_memory_of_a_tensor_that_was_freed() -> None:
    x = torch.ones(1000, device="npu")
    side = torch_npu.npu.Stream()
    side.wait_stream(torch_npu.npu.current_stream())
    with torch_npu.npu.stream(side):
        x.exp()
    del x
    torch.rand(1000).to("npu")
    finding = only_finding()
    assert finding.later.stream is None
    assert "record_stream before the first one is freed, or synchronize it first" in str(finding)


@checked
def test_a_wait_for_an_older_record_is_named() -> None:
    x = torch.ones(1000, device="npu")
    side, event = torch_npu.npu.Stream(), torch_npu.npu.Event()
    torch_npu.npu.synchronize()

    def record_too_early() -> None:
        event.record()
        x.mul_(2)

    record_too_early()
    side.wait_event(event)
    with torch_npu.npu.stream(side):
        x.exp()
    words = str(only_finding())
    assert "is for an event that was recorded before the first one" in words
    assert " in record_too_early" in words.split("the event was recorded here")[1]


@checked
def test_a_missing_edge_is_found_once_for_all_operands() -> None:
    x, y = torch.ones(100, device="npu"), torch.ones(100, device="npu")
    torch_npu.npu.synchronize()
    torch._foreach_add_([x, y], 1)
    with torch_npu.npu.stream(torch_npu.npu.Stream()):
        torch.add(x, y)
    assert len(take_after_waiting()) == 1


@checked
def test_an_exception_survives_the_tensors_that_it_frees() -> None:
    x = torch.ones(6, device="npu")
    with pytest.raises(RuntimeError, match=r"\[7\]' is invalid for input of size 6"):
        (x + 1).view(7)


def test_findings_are_written_when_they_are_made() -> None:
    done = on_twin.run(race, OPWRIGHT_ORDER="1", TASK_QUEUE_ENABLE="0")
    assert done.returncode == 66
    found = done.stderr
    assert "opwright: nothing orders " in found
    assert " and aclnnExp, which use the same memory" in found
    assert found.count(" in race") == 2
    assert "does not wait for stream" in found
    assert "nothing orders" not in on_twin.run(race).stderr


def race_in_a_forked_child() -> None:
    child = multiprocessing.get_context("fork").Process(target=race)
    child.start()
    child.join()
    assert child.exitcode == 0  # multiprocessing ends it by os._exit


def test_findings_of_a_forked_child_count_in_its_parent() -> None:
    done = on_twin.run(race_in_a_forked_child, OPWRIGHT_ORDER="1", TASK_QUEUE_ENABLE="0")
    assert done.stderr.count("opwright: nothing orders ") == 1
    assert done.returncode == 66, done.stderr


def race_in_a_child_that_is_checked() -> None:
    """Fork as a server does that knows only then whether the child's order is checked."""
    child = os.fork()
    if not child:
        os.environ["OPWRIGHT_ORDER"] = "1"
        race()
        os._exit(len(take_findings()))
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 1


def test_a_forked_child_can_be_checked_where_its_parent_is_not() -> None:
    done = on_twin.run(race_in_a_child_that_is_checked, TASK_QUEUE_ENABLE="0")
    assert done.returncode == 0, done.stderr


def test_a_wrong_setting_is_named() -> None:
    done = on_twin.run(race, OPWRIGHT_ORDER="2")
    assert done.returncode != 0
    assert "OPWRIGHT_ORDER='2'" in done.stderr + done.stdout
