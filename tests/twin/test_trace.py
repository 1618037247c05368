"""The trace: every call with its arguments, stream and time, and a row of tasks per stream."""

from __future__ import annotations

import contextlib
import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

import opwright.twin  # noqa: F401  # before torch_npu

import torch  # isort: skip
import torch_npu  # isort: skip

from tests.twin import on_twin

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.twin

Event = dict[str, Any]


def run_on_two_streams() -> None:
    """Use both phases on two streams, wait, copy, and let a task fail."""
    x = torch.ones(2, 3).to("npu")
    side = torch_npu.npu.Stream()
    side.wait_stream(torch_npu.npu.current_stream())
    with torch_npu.npu.stream(side):
        y = torch.add(x, x, alpha=2)
    side.synchronize()
    (x * y).cpu()
    with contextlib.suppress(RuntimeError):
        torch.index_select(x, 0, torch.tensor([7]).to("npu")).cpu()


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> list[Event]:
    path: Path = tmp_path_factory.mktemp("trace") / "trace.json"
    on_twin.output(run_on_two_streams, OPWRIGHT_TRACE=str(path))
    loaded: list[Event] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def named(events: list[Event], name: str, category: str) -> list[Event]:
    return [event for event in events if event["name"] == name and event.get("cat") == category]


def test_every_event_has_a_time_and_a_row(events: list[Event]) -> None:
    assert {event["ph"] for event in events} == {"X", "M"}
    for event in events:
        assert {"name", "pid", "tid", "args"} <= event.keys()
        if event["ph"] == "X":
            assert event["cat"] in ("call", "task")
            assert event["ts"] > 0
            assert event["dur"] >= 0
    assert len({event["pid"] for event in events}) == 1


def test_both_phases_have_their_arguments(events: list[Event]) -> None:
    arguments = {
        "self": "float32[2, 3]",
        "other": "float32[2, 3]",
        "alpha": "2",
        "out": "float32[2, 3]",
    }
    (first,) = named(events, "aclnnAddGetWorkspaceSize", "call")
    assert first["args"] == arguments
    (second,) = named(events, "aclnnAdd", "call")
    assert second["args"]["workspaceSize"] == "0"
    (task,) = named(events, "aclnnAdd", "task")
    assert arguments.items() <= task["args"].items()
    assert first["ts"] + first["dur"] <= second["ts"] <= task["ts"]
    assert len({first["tid"], second["tid"], task["tid"]}) == 3  # caller, torch_npu's queue, worker


def test_each_stream_has_a_row_of_tasks(events: list[Event]) -> None:
    (add,) = named(events, "aclnnAdd", "task")
    (mul,) = named(events, "aclnnMul", "task")
    assert add["args"]["stream"] != mul["args"]["stream"]
    rows = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    for task in (add, mul):
        assert rows[task["tid"]] == f"npu:0 stream {task['args']['stream']}"


def test_tasks_of_a_stream_do_not_overlap(events: list[Event]) -> None:
    rows: dict[int, list[Event]] = {}
    for event in events:
        if event.get("cat") == "task":
            rows.setdefault(event["tid"], []).append(event)
    assert len(rows) == 2
    for tasks in rows.values():
        tasks.sort(key=lambda task: float(task["ts"]))
        for before, after in pairwise(tasks):
            assert before["ts"] + before["dur"] <= after["ts"] + 0.01  # rounded to nanoseconds


def test_runtime_calls_have_their_arguments(events: list[Event]) -> None:
    copies = named(events, "aclrtMemcpy", "call")
    assert any(copy["args"]["kind"] == "1" and copy["args"]["count"] == "24" for copy in copies)
    (tensor, *_) = (
        event
        for event in named(events, "aclCreateTensor", "call")
        if event["args"]["viewDims"] == "[2, 3]"
    )
    assert tensor["args"]["stride"] == "[3, 1]"
    for name in (
        "aclInit",
        "aclrtMallocAlign32",
        "aclrtStreamWaitEvent",
    ):
        (event, *_) = named(events, name, "call")
        assert event["args"], name


def test_a_failed_call_has_its_error(events: list[Event]) -> None:
    failed = [event for event in events if "error" in event["args"]]
    assert any(
        "aclnnIndexSelect: index out of range" in event["args"]["error"]
        and event["args"]["code"] == 161002
        for event in failed
    )
