"""torch_npu's profiler analyses what libascendcl records and opwright.twin.msprof exports."""

from __future__ import annotations

import csv
import json
import os
from typing import TYPE_CHECKING, Any

import pytest
import torch
import torch_npu
from torch_npu.profiler import (
    ProfilerActivity,
    ProfilerLevel,
    _ExperimentalConfig,
    profile,
    schedule,
    tensorboard_trace_handler,
)

from tests.twin import on_twin

if TYPE_CHECKING:
    from pathlib import Path

Event = dict[str, Any]
Row = dict[str, str]


def profile_a_model(folder: str) -> None:
    """Profile two steps with all that there is, and a call with what there is by default."""
    model = torch.nn.Linear(8, 4).to("npu")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(2, 8).to("npu")
    graph = torch_npu.npu.NPUGraph()
    with torch_npu.npu.graph(graph):
        torch.tanh(x)
    with profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.NPU],
        schedule=schedule(wait=0, warmup=1, active=2, repeat=1),
        record_shapes=True,
        profile_memory=True,
        experimental_config=_ExperimentalConfig(
            profiler_level=ProfilerLevel.Level1, data_simplification=False
        ),
        on_trace_ready=tensorboard_trace_handler(folder),
    ) as profiler:
        for _ in range(3):
            optimizer.zero_grad()
            torch.autograd.backward(model(x).sum())
            optimizer.step()
            with torch_npu.npu.stream(torch_npu.npu.Stream()):
                torch.erf(x)
            graph.replay()
            torch_npu.npu.synchronize()
            profiler.step()
    os.chdir(folder)  # torch_npu keeps a profile without a handler in the current folder
    with profile(with_stack=True) as short:
        model(x)
    short.export_stacks(f"{folder}/stacks.log")
    short.export_chrome_trace(f"{folder}/chrome.json")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("profile")
    done = on_twin.run(profile_a_model, str(folder))
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "ERROR" not in done.stdout + done.stderr
    (found,) = folder.glob("*_ascend_pt/ASCEND_PROFILER_OUTPUT")
    return found


def rows(results: Path, name: str) -> list[Row]:
    with (results / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def events(results: Path) -> list[Event]:
    loaded: list[Event] = json.loads((results / "trace_view.json").read_text("utf-8"))
    return loaded


def named(events: list[Event], name: str) -> list[Event]:
    return [event for event in events if event.get("name") == name]


def processes(events: list[Event]) -> dict[int, str]:
    return {e["pid"]: e["args"]["name"] for e in events if e.get("name") == "process_name"}


def test_kernels_have_steps_units_and_operands(results: Path) -> None:
    kernels = rows(results, "kernel_details")
    (first, second) = (row for row in kernels if row["Type"] == "Addmm" and row["Step Id"])
    assert (first["Step Id"], second["Step Id"]) == ("1", "2")
    assert first["Accelerator Core"] == "AI_CORE"
    assert first["Name"] == "aclnnAddmm_Addmm_Addmm"
    assert first["Input Shapes"] == '"4;2,8;8,4"'
    assert first["Output Shapes"] == '"2,4"'
    assert first["Input Data Types"] == "FLOAT;FLOAT;FLOAT"
    assert float(first["Duration(us)"]) > 0
    assert float(first["Start Time(us)"].strip()) < float(second["Start Time(us)"].strip())


def test_a_replayed_graph_shows_its_tasks(results: Path) -> None:
    replayed = [row for row in rows(results, "kernel_details") if row["Type"] == "Tanh"]
    assert len(replayed) >= 2
    assert {row["Model ID"] for row in replayed} != {"4294967295"}


def test_each_stream_has_its_tasks(results: Path) -> None:
    kernels = rows(results, "kernel_details")
    streams = {row["Type"]: row["Stream ID"] for row in kernels}
    assert streams["Erf"] != streams["Addmm"]
    tasks = rows(results, "task_time")
    assert {"AI_CORE", "AI_VECTOR_CORE", "MODEL_EXECUTE"} <= {row["kernel_type"] for row in tasks}


def test_operators_have_their_time_on_the_device(results: Path) -> None:
    details = rows(results, "operator_details")
    spent = {row["Name"]: float(row["Device Total Duration(us)"]) for row in details}
    assert spent["aten::addmm"] > 0
    assert spent["aten::erf"] > 0
    cores = {row["Name"]: float(row["Device Total Duration With AICore(us)"]) for row in details}
    assert cores["aten::addmm"] > 0
    assert cores["aten::erf"] == 0


def test_statistics_add_up(results: Path) -> None:
    statistic = rows(results, "op_statistic")
    assert sum(float(row["Ratio(%)"]) for row in statistic) == pytest.approx(100, abs=0.1)
    calls = {row["API Name"]: int(row["Count"]) for row in rows(results, "api_statistic")}
    assert calls["aclnnAddmm"] == calls["aclnnAddmmGetWorkspaceSize"] == 2
    assert not any(name.startswith("aclCreate") for name in calls)


def test_steps_are_divided_into_computing_and_free_time(results: Path) -> None:
    steps = rows(results, "step_trace_time")
    assert [row["Step"] for row in steps] == ["1", "2"]
    assert all(float(row["Computing"]) > 0 for row in steps)


def test_memory_is_reported_by_operator(results: Path) -> None:
    memory = rows(results, "operator_memory")
    assert "aten::addmm" in {row["Name"] for row in memory}
    assert {row["Device Type"] for row in rows(results, "memory_record")} == {"NPU:0"}


def test_the_timeline_ties_operators_to_kernels(events: list[Event]) -> None:
    assert {"Python", "CANN", "Ascend Hardware", "Overlap Analysis"} <= {
        *processes(events).values()
    }
    flows = {event["id"]: event for event in events if event.get("cat") == "HostToDevice"}
    assert flows
    arrows = [event for event in events if event.get("cat") == "async_npu"]
    ends = {(event["pid"], event["tid"], event["ts"]) for event in arrows if event["ph"] == "f"}
    kernels = named(events, "aclnnAddmm_Addmm_Addmm")
    assert len(kernels) == 2
    for kernel in kernels:
        assert processes(events)[kernel["pid"]] == "Ascend Hardware"
        assert (kernel["pid"], kernel["tid"], kernel["ts"]) in ends


def test_clocks_agree(events: list[Event]) -> None:
    """A kernel begins within its step: the host's records and the device's are on one clock."""
    steps = [event for event in events if event.get("name", "").startswith("ProfilerStep#")]
    kernels = named(events, "aclnnAddmm_Addmm_Addmm")
    assert len(steps) == len(kernels) == 2
    for step, kernel in zip(steps, kernels, strict=True):
        begin = float(step["ts"])
        assert begin <= float(kernel["ts"]) <= begin + step["dur"]


def test_a_short_profile_is_exported(results: Path) -> None:
    folder = results.parents[1]
    assert "aclnnAddmm_Addmm_Addmm" in (folder / "chrome.json").read_text("utf-8")
    assert "linear.py" in (folder / "stacks.log").read_text("utf-8")
