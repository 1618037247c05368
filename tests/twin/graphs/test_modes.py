"""capture_error_mode: what other threads may do while a graph is being captured."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu

from tests.twin.graphs.captures import capture, check_usable, new_stream

if TYPE_CHECKING:
    from collections.abc import Callable


def on_another_thread(work: Callable[[], object]) -> str:
    """Run work on a thread with a stream of its own; return the text of its error, or nothing."""
    errors = [""]

    def run() -> None:
        torch_npu.npu.set_device(0)
        with torch_npu.npu.stream(new_stream()):
            try:
                work()
            except RuntimeError as error:
                errors.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return errors[-1]


def copy_to_and_from() -> None:
    x = torch.arange(4.0).to("npu")
    assert (x + 1).cpu().tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("mode", "allowed"), [("global", False), ("thread_local", True), ("relaxed", True)]
)
@pytest.mark.parametrize(
    ("work", "refused"),
    [
        (copy_to_and_from, "aclrtMemcpy: a synchronous copy or fill runs at once"),
        (torch_npu.npu.synchronize, "aclrtSynchronizeDeviceWithTimeout: cannot wait for the dev"),
    ],
)
def test_another_thread(
    mode: str, work: Callable[[], object], refused: str, *, allowed: bool
) -> None:
    x = torch.zeros(4).to("npu")
    errors = []

    def step() -> torch.Tensor:
        y = x + 1
        errors.append(on_another_thread(work))
        return y * 2

    graph, y = capture(step, capture_error_mode=mode)
    assert (errors == [""]) == allowed
    assert allowed or refused in errors[0]
    x.fill_(3)
    graph.replay()
    assert y.tolist() == [8] * 4
    assert on_another_thread(work) == ""
    check_usable()


@pytest.mark.parametrize("mode", ["global", "thread_local", "relaxed"])
def test_other_threads_launch_and_wait_for_their_streams(mode: str) -> None:
    x = torch.ones(4).to("npu")
    eager = torch.ones(4).to("npu")

    def work() -> None:
        for _ in range(50):
            eager.add_(1)
        torch_npu.npu.current_stream().synchronize()

    def step() -> torch.Tensor:
        y = x + 1
        assert on_another_thread(work) == ""
        return y

    graph, y = capture(step, capture_error_mode=mode)
    assert eager.tolist() == [51] * 4
    graph.replay()
    assert y.tolist() == [2] * 4
    assert eager.tolist() == [51] * 4


def test_a_relaxed_capture_allows_synchronous_copies_here_too() -> None:
    x = torch.zeros(4).to("npu")
    other = new_stream()

    def step() -> torch.Tensor:
        with torch_npu.npu.stream(other):
            factor = torch.tensor([2.0, 3, 4, 5]).to("npu")
        return x * factor

    graph, y = capture(step, capture_error_mode="relaxed")
    x.fill_(2)
    graph.replay()
    assert y.tolist() == [4, 6, 8, 10]


def test_an_unknown_mode() -> None:
    with pytest.raises(RuntimeError, match="Unknown capture error mode"):
        capture(lambda: None, capture_error_mode="strict")
    torch_npu.npu.set_stream(torch_npu.npu.default_stream())
    check_usable()


def test_threads_capture_at_once() -> None:
    """Each thread on a stream of its own; torch.npu.graph itself waits for the device first."""
    start = threading.Barrier(4, timeout=300)
    results: list[list[float]] = []

    def work(number: int) -> None:
        torch_npu.npu.set_device(0)
        stream = new_stream()
        with torch_npu.npu.stream(stream):
            x = torch.zeros(8, device="npu")
            stream.synchronize()
            for _ in range(10):
                graph = torch_npu.npu.NPUGraph()
                start.wait()
                graph.capture_begin(capture_error_mode="thread_local")
                y = x + number
                y.mul_(2)
                graph.capture_end()
                start.wait()
                x.fill_(1)
                graph.replay()
                results.append([number, *y.tolist()])
                start.wait()
                graph.reset()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 40
    assert all(values == [2 * (number + 1)] * 8 for number, *values in results)
    check_usable()


@pytest.mark.parametrize("mode", ["global", "relaxed"])
def test_an_end_on_another_thread(mode: str) -> None:
    """Mode relaxed allows it; otherwise it is an error, and the capture is over as well."""
    stream = new_stream()
    graph = torch_npu.npu.NPUGraph()
    x = torch.zeros(4).to("npu")
    torch_npu.npu.synchronize()
    with torch_npu.npu.stream(stream):
        graph.capture_begin(capture_error_mode=mode)
        y = x + 1
    errors: list[str] = []

    def end() -> None:
        torch_npu.npu.set_device(0)
        with torch_npu.npu.stream(stream):
            try:
                graph.capture_end()
            except RuntimeError as error:
                errors.append(str(error))

    thread = threading.Thread(target=end)
    thread.start()
    thread.join()
    if mode == "relaxed":
        graph.replay()
        assert (y.tolist(), errors) == ([1] * 4, [])
    else:
        assert "aclmdlRICaptureEnd: a capture has to end on the thread that began it" in errors[0]
    check_usable(stream)
