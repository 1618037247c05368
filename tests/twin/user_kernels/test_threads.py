"""Python reference functions while several threads call operators."""

from __future__ import annotations

import threading
import time

import pytest
import torch
import torch_npu

from opwright import twin
from tests.twin.aclnn_calls import call

pytestmark = [pytest.mark.twin, pytest.mark.build, pytest.mark.usefixtures("device")]


def test_waiting_threads_leave_the_gil_to_the_kernel() -> None:
    steps = 200

    @twin.kernel("aclnnTestPython(aclTensor *out)")
    def slow(out: torch.Tensor) -> None:
        for _ in range(steps):
            out += 1
            time.sleep(0)  # gives the GIL up, so that it must be taken again

    out = torch.zeros(1, device="npu")
    stop = threading.Event()
    busy = threading.Thread(target=lambda: sum(1 for _ in iter(stop.is_set, 1)))
    busy.start()
    call("aclnnTestPython", out)
    torch_npu.npu.synchronize()
    stop.set()
    busy.join()
    assert out.item() == steps


def test_threads_on_their_own_streams() -> None:
    @twin.kernel("aclnnTestThreads(const aclTensor *x, int64_t n, aclTensor *out)")
    def scale(x: torch.Tensor, n: int, out: torch.Tensor) -> None:
        torch.mul(x, n, out=out)

    results: dict[int, float] = {}

    def work(number: int) -> None:
        torch_npu.npu.set_device(0)
        with torch_npu.npu.stream(torch_npu.npu.Stream()):
            x, out = torch.ones(64, device="npu"), torch.empty(64, device="npu")
            for _ in range(20):
                call("aclnnTestThreads", x, number, out)
            results[number] = out.cpu().sum().item()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: 64.0 * number for number in range(8)}


def test_gradients_and_devices_of_the_caller_do_not_reach_the_kernel() -> None:
    states: list[tuple[bool, str]] = []  # does it record gradients, where does it allocate?

    @twin.kernel("aclnnTestState(const aclTensor *x)")
    def state(_: torch.Tensor) -> None:
        states.append((torch.is_grad_enabled(), torch.ones(1).device.type))

    with torch.device("npu"):
        call("aclnnTestState", torch.ones(1))
        torch_npu.npu.synchronize()
    assert states == [(False, "cpu")]
