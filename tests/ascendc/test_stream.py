"""Kernels on a stream of the twin: NPU tensors, faults as errors of the stream, the trace."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import torch

from tests.ascendc.kernels import run
from tests.ascendc.test_core import KERNELS
from tests.ascendc.test_corpus import FAULTY
from tests.twin import on_twin

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.twin, pytest.mark.build]


def launch_add() -> None:
    """Launch a sound kernel."""
    x, y = torch.arange(8192.0).reshape(2, 4096).to("npu")
    z = torch.empty_like(x)
    run(KERNELS, "add_custom", [x, y, z, 4096, 512], blocks=8)
    assert torch.equal(z, x + y)


@pytest.mark.isolated
def test_a_kernel_adds_npu_tensors() -> None:
    launch_add()


def launch_faulty(kernel: str) -> None:
    """Run a faulty kernel of the corpus without checks, then a sound launch."""
    x, y = torch.ones(2, 256).to("npu")
    try:
        run(FAULTY, kernel, [x, y, 256])
    except RuntimeError as error:
        print(error)  # noqa: T201 - read by the test
    print((x + y).sum().item())  # noqa: T201 - read by the test


@pytest.mark.parametrize(
    ("kernel", "identifier", "got"),
    [
        ("null_pointer", "OPW-X002", "a null pointer"),
        ("divided_by_zero", "OPW-X002", "divided an integer by zero"),
        ("dequeue_empty", "OPW-X001", "the queue is empty"),
    ],
)
def test_a_fault_is_an_error_of_the_stream(kernel: str, identifier: str, got: str) -> None:
    done = on_twin.run(launch_faulty, kernel)
    said = on_twin.printed(done)
    assert f"{kernel}: {identifier}" in said
    assert got in said
    assert "/corpus/faulty.cpp:" in said
    assert said.endswith("\n512.0\n")  # the process and the stream go on
    assert "fault" not in done.stderr  # nobody else explains it


def launch_what_exits(checks: bool) -> None:  # noqa: FBT001 - on_twin passes no names
    run(KERNELS, "exits", [torch.ones(1).to("npu")], blocks=2, checks=checks)


@pytest.mark.parametrize("checks", [False, True])
def test_a_kernel_that_exits_ends_the_process_with_a_word(*, checks: bool) -> None:
    done = on_twin.run(launch_what_exits, checks)
    assert done.returncode == 1
    assert "OPW-X002 the kernel called exit, block " in done.stderr


def test_the_trace_has_a_row_per_pipe(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    on_twin.output(launch_add, OPWRIGHT_TRACE=str(trace))
    events = json.loads(trace.read_text(encoding="utf-8"))
    rows = {
        event["args"]["name"]: event["tid"]
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"].startswith("block 0 PIPE_")
    }
    assert sorted(rows) == ["block 0 PIPE_MTE2", "block 0 PIPE_MTE3", "block 0 PIPE_V"]
    add, store = (
        next(event for event in events if event.get("tid") == rows[row] and event["ph"] == "X")
        for row in ("block 0 PIPE_V", "block 0 PIPE_MTE3")
    )
    assert (add["name"], store["name"]) == ("Add", "DataCopyPad")
    # It waits for the sum. Times are rounded to nanoseconds, and large for a float.
    assert store["ts"] >= add["ts"] + add["dur"] - 0.01
    task = next(event for event in events if event.get("cat") == "task" and "add" in event["name"])
    assert task["args"]["blocks"] == 8
