"""Errors of tasks, of torch_npu and of data dumps that a program does not ask for."""

from __future__ import annotations

import contextlib
import ctypes
import time

import pytest

import opwright.twin  # noqa: F401  # before torch_npu

import torch  # isort: skip
import torch_npu  # isort: skip

from opwright.graph_engine.running.dumping import DumpedNode
from tests.twin import on_twin
from tests.twin.log_lines import begin, logged

pytestmark = pytest.mark.twin


def let_a_task_fail() -> None:
    x = torch.arange(10.0).to("npu")
    bad = torch.tensor([10]).to("npu")
    torch_npu.npu.synchronize()
    torch.index_select(x, 0, bad)


def fail_without_a_wait() -> None:
    let_a_task_fail()
    # A query does not report the failure, unlike a wait.
    while not torch_npu.npu.current_stream().query():
        time.sleep(0.01)


def test_a_failed_task_that_nobody_waited_for_is_written_at_the_end() -> None:
    done = on_twin.run(fail_without_a_wait)
    assert "aclnnIndexSelect: index out of range" in done.stderr
    assert done.stderr.count("aclnnIndexSelect") == 1


def fail_and_wait() -> None:
    let_a_task_fail()
    with pytest.raises(RuntimeError, match="aclnnIndexSelect: index out of range"):
        torch_npu.npu.synchronize()


def test_a_failed_task_that_was_reported_is_not_written_again() -> None:
    done = on_twin.run(fail_and_wait)
    assert done.returncode == 0, done.stderr
    assert "[ERROR]" not in done.stderr


def fill_devices_and_go_on() -> None:
    x = torch.ones(10).to("npu")
    for device in range(2):
        kept: list[torch.Tensor] = []
        with contextlib.suppress(torch.OutOfMemoryError):
            while True:
                kept.append(torch.empty(16 << 20, device=f"npu:{device}"))
        with contextlib.suppress(RuntimeError):
            x + torch.ones(3).to("npu")
        del kept
    torch_npu.npu.empty_cache()
    (x * 2).cpu()


def test_what_torch_npu_handles_is_not_written() -> None:
    """It asks before it has a device, and frees its cache when there is no memory."""
    done = on_twin.run(fill_devices_and_go_on, OPWRIGHT_MEMORY="256M", OPWRIGHT_DEVICES="2")
    assert done.returncode == 0, done.stderr
    assert "[ERROR]" not in done.stderr


def dump_to_nowhere() -> None:
    acl = begin()
    node = DumpedNode(b"/dev/null/dumps", b"graph", 0, 0, b"Add", b"sum", 0, 0, 0, 0, None)
    for _ in range(30):
        acl.opwright_dump_node(ctypes.byref(node))


def test_dumps_that_cannot_be_written_do_not_bury_the_rest() -> None:
    _, stderr = logged(dump_to_nowhere)
    assert len(stderr) == 21
    assert "data dump: " in stderr[0]["message"]
    assert "/dev/null/dumps" in stderr[0]["message"]
