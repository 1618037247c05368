"""Captures of programs: their dumps, torch_npu's tools on them, `opwright graph`, the trace."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from opwright import twin  # noqa: F401  # before torch_npu  # isort: skip

import torch  # isort: skip
import torch_npu  # isort: skip

from opwright.graph_report.captured.read import read_graphs
from tests.twin import on_twin

if TYPE_CHECKING:
    from types import ModuleType

    from opwright.graph_report.captured.model import CapturedGraph

pytestmark = pytest.mark.twin


@dataclass(frozen=True)
class Capture:
    """A graph, and the tensors that it uses; the first is written."""

    graph: torch_npu.npu.NPUGraph
    tensors: tuple[torch.Tensor, ...]


def capture() -> Capture:
    """Capture a launch, a fork to a second stream, a join, an in-place operator and a copy."""
    x = torch.ones(2, 3).to("npu")
    w = torch.full((3, 3), 0.5).to("npu")
    side = torch_npu.npu.Stream()
    graph = torch_npu.npu.NPUGraph()
    with torch_npu.npu.graph(graph):
        y = x @ w
        side.wait_stream(torch_npu.npu.current_stream())
        with torch_npu.npu.stream(side):
            z = torch.abs(y)
        u = torch.neg(y)
        torch_npu.npu.current_stream().wait_stream(side)
        out = z - u
        x.mul_(out)
        x.copy_(z)
    return Capture(graph, (x, w, y, z, u, out))


def dump_and_replay(file: str) -> None:
    """Print the addresses of the tensors, and the result of the second replay."""
    captured = capture()
    sys.stdout.write(json.dumps([each.data_ptr() for each in captured.tensors]) + "\n")
    captured.graph.debug_dump(file)
    captured.graph.replay()
    captured.graph.replay()
    torch_npu.npu.synchronize()
    sys.stdout.write(json.dumps(captured.tensors[0].cpu().tolist()) + "\n")


def capture_two_and_fail() -> None:
    captured = capture()
    with torch_npu.npu.graph(torch_npu.npu.NPUGraph()):
        captured.tensors[0].add_(1)
    sys.stdout.write("done\n")
    sys.exit(3)


def dump_to(file: str) -> None:
    capture().graph.debug_dump(file)


WHEEL = Path(importlib.util.find_spec("torch_npu").submodule_search_locations[0])  # type: ignore[union-attr, index]
TOOLS = WHEEL / "dynamo" / "npugraph_ex" / "tools" / "aclgraph_check"

Event = dict[str, Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Capture, dump and replay once, with a trace and with a folder for the dumps of captures."""
    folder = tmp_path_factory.mktemp("captured")
    (folder / "all").mkdir()
    printed = on_twin.output(
        dump_and_replay,
        str(folder / "dump.json"),
        OPWRIGHT_GRAPH_DUMP=str(folder / "all"),
        OPWRIGHT_TRACE=str(folder / "trace.json"),
    )
    (folder / "printed.txt").write_text(printed, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def graph(folder: Path) -> CapturedGraph:
    (found,) = read_graphs(folder / "dump.json")
    return found


def test_the_dump_has_what_was_captured(folder: Path, graph: CapturedGraph) -> None:
    assert (graph.device, graph.detailed, len(graph.streams)) == (0, True, 2)
    main, side = graph.streams
    assert [(each.stream, each.name, each.waits_for) for each in graph.tasks] == [
        (main, "aclnnMatmul", None),
        (main, "EVENT_RECORD", None),
        (side, "EVENT_WAIT", 1),
        (side, "aclnnAbs", None),
        (main, "aclnnNeg", None),
        (side, "EVENT_RECORD", None),
        (main, "EVENT_WAIT", 5),
        (main, "aclnnSub", None),
        (main, "aclnnInplaceMul", None),
        (main, "aclnnInplaceCopy", None),
    ]
    printed = (folder / "printed.txt").read_text(encoding="utf-8").splitlines()
    x, w, y, z, u, out = json.loads(printed[0])
    matmul = graph.tasks[0]
    assert [(each.address, each.size, each.written) for each in matmul.accesses] == [
        (x, 24, False),
        (w, 36, False),
        (y, 24, True),
    ]
    assert [(each.name, each.text, each.address) for each in matmul.arguments[:3]] == [
        ("self", "float32[2, 3]", x),
        ("mat2", "float32[3, 3]", w),
        ("out", "float32[2, 3]", y),
    ]
    assert [(each.address, each.written) for each in graph.tasks[7].accesses] == [
        (z, False),
        (u, False),
        (out, True),
    ]
    assert {(each.address, each.written) for each in graph.tasks[9].accesses} == {
        (x, True),
        (z, False),
    }
    # The second replay starts from the result of the first: |x w| twice.
    assert json.loads(printed[1]) == [[2.25, 2.25, 2.25], [2.25, 2.25, 2.25]]


def test_each_capture_that_ends_is_written_to_the_folder(
    folder: Path, graph: CapturedGraph
) -> None:
    (file,) = (folder / "all").iterdir()
    assert read_graphs(file) == (graph,)


def test_a_dump_is_for_its_owner_only_and_leaves_nothing_beside_it(folder: Path) -> None:
    assert stat.S_IMODE((folder / "dump.json").stat().st_mode) == 0o600
    names = {file.name for file in folder.iterdir()}
    assert names == {"all", "dump.json", "dump.aligned.json", "printed.txt", "trace.json"}


def load(tool: str) -> ModuleType:
    """Return a module of torch_npu's tools; they need nothing of torch_npu."""
    spec = importlib.util.spec_from_file_location(tool, TOOLS / f"{tool}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.isolated
def test_a_dump_into_a_pipe_or_a_link_leaves_it_one(tmp_path: Path) -> None:
    """A device such as /dev/null is written like a pipe: a file in its place would end it."""
    pipe, link, file = (tmp_path / name for name in ("pipe.json", "link.json", "file.json"))
    os.mkfifo(pipe)
    file.write_text("before", encoding="utf-8")
    link.symlink_to(file)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    library = ctypes.CDLL("libascendcl.so")
    model = ctypes.c_void_p()
    stream = torch_npu.npu.Stream()
    assert library.aclmdlRICaptureBegin(ctypes.c_void_p(stream.npu_stream), 2) == 0
    with torch_npu.npu.stream(stream):
        event = torch_npu.npu.ExternalEvent()
        event.record(stream)
    assert library.aclmdlRICaptureEnd(ctypes.c_void_p(stream.npu_stream), ctypes.byref(model)) == 0
    for path in (pipe, link):
        assert library.aclmdlRIDebugJsonPrint(model, str(path).encode(), 1) == 0
    through_pipe = os.read(reader, 1 << 16).decode()
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert link.readlink() == file
    assert file.read_text(encoding="utf-8") == through_pipe
    assert [each.kind for (found,) in [read_graphs(file)] for each in found.tasks] == ["record"]
    assert len(list(tmp_path.iterdir())) == 3


def test_torch_npu_aligned_the_dump(folder: Path, graph: CapturedGraph) -> None:
    # debug_dump does that by itself, and only logs it if it fails.
    events: list[Event] = json.loads((folder / "dump.aligned.json").read_text(encoding="utf-8"))
    arrows = [event for event in events if event["ph"] in "sf"]
    assert len(arrows) == 4
    ends = {event["name"]: event["ts"] + event["dur"] for event in events if event["ph"] == "X"}
    assert ends["EVENT_WAIT_0"] >= ends["EVENT_RECORD_0"]
    assert read_graphs(folder / "dump.aligned.json") == (graph,)


def test_the_tools_of_npugraph_ex_accept_the_dump(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    load("align_trace").align_trace_json(folder / "dump.json", str(tmp_path / "a.json"))
    assert len(json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))) == 11 + 8
    load("filter_operators").filter_comm_ops(folder / "dump.json", str(tmp_path / "f.json"))
    names = [each["name"] for each in json.loads((tmp_path / "f.json").read_text("utf-8"))]
    assert names == ["EVENT_RECORD_0", "EVENT_WAIT_0", "EVENT_RECORD_1", "EVENT_WAIT_1"]
    load("deadlock_check").deadlock_check(folder / "dump.json", None, 48)
    said = capsys.readouterr()
    assert "Sync pairs found: 2" in said.err
    assert "No deadlock risks detected" in said.out


def test_the_trace_shows_the_capture_and_each_replay(folder: Path, graph: CapturedGraph) -> None:
    events: list[Event] = json.loads((folder / "trace.json").read_text(encoding="utf-8"))

    def found(category: str) -> list[Event]:
        return [event for event in events if event.get("cat") == category]

    names = sorted(task.name for task in graph.tasks if task.kind == "kernel")
    captured = found("capture")
    assert sorted(event["name"] for event in captured) == names
    replayed = found("replay")
    assert sorted(event["name"] for event in replayed) == sorted(names * 2)
    for event in (*captured, *replayed):
        assert event["args"]["graph"] == graph.model
        assert event["args"]["stream"] in graph.streams
    (matmul,) = (event for event in captured if event["name"] == "aclnnMatmul")
    assert matmul["args"]["mat2"].startswith("float32[3, 3]")

    calls = {event["name"]: event for event in found("call")}
    begin, end = calls["aclmdlRICaptureBegin"], calls["aclmdlRICaptureEnd"]
    for event in captured:
        assert begin["ts"] <= event["ts"] <= end["ts"] + end["dur"]
    # Nothing runs before the first replay: the tasks of a capture are in no stream's row.
    assert not {event["name"] for event in found("task")} & {"aclnnMatmul", "aclnnAbs", "aclnnSub"}

    runs = [
        e for e in found("task") if e["name"] == "aclmdlRIExecuteAsync" and "graph" in e["args"]
    ]
    assert [run["args"]["tasks"] for run in runs] == [6, 6]
    for event in replayed:
        around = [
            run
            for run in runs
            if run["ts"] <= event["ts"]
            and event["ts"] + event["dur"] <= run["ts"] + run["dur"] + 0.01  # rounded
        ]
        assert len(around) == 1


def opwright(*arguments: str) -> subprocess.CompletedProcess[str]:
    return on_twin.python("-m", "opwright", "graph", *arguments)


def test_a_command_is_run_and_its_captures_are_printed(tmp_path: Path) -> None:
    files = (tmp_path / "out.svg", tmp_path / "out.json")
    arguments = ("--svg", str(files[0]), "--json", str(files[1]), "--devices", "1")
    done = opwright(
        *arguments, "--", sys.executable, "-c", on_twin.call_of(capture_two_and_fail, ())
    )
    assert done.returncode == 3, done.stderr
    assert done.stdout.splitlines()[0] == "done"
    assert "opwright: the command ended with exit code 3" in done.stderr
    found = json.loads(files[1].read_text(encoding="utf-8"))
    assert [each["counts"]["launches"] for each in found] == [6, 1]
    assert [each["counts"]["copies"] for each in found] == [1, 0]
    for number in (1, 2):
        drawing = (tmp_path / f"out-{number}.svg").read_text(encoding="utf-8")
        assert f"graph {number} (model " in drawing
    assert not files[0].exists()


def test_a_command_without_a_capture_is_reported(tmp_path: Path) -> None:
    done = opwright("--", sys.executable, "-c", "print('nothing')")
    assert done.returncode == 2
    assert done.stderr.startswith("OPW-G002 the command captured no graph and compiled none\n")
    done = opwright("--", str(tmp_path / "none"))
    assert done.returncode == 2
    assert done.stderr.startswith("OPW-T021 command not found\n")


def test_a_graph_is_chosen_by_number(folder: Path) -> None:
    file = str(folder / "dump.json")
    chosen = opwright(file, file, "--graph", "2")
    assert chosen.returncode == 0, chosen.stderr
    assert chosen.stdout.splitlines()[0].startswith("graph 2 (model ")
    assert "copies       1 (#6 aclnnInplaceCopy)" in chosen.stdout
    data = opwright(file, file, "--graph", "2", "--json", "-")
    assert len(json.loads(data.stdout)) == 1
    missing = opwright(file, "--graph", "2")
    assert missing.returncode == 2
    assert missing.stderr == (
        "OPW-G003 there is no graph with that number\n"
        "  where:   opwright graph, --graph\n"
        "  got:     2\n"
        "  allowed: 1\n"
        "  fix:     give a number from the list; without --graph all graphs are shown\n"
    )


def test_a_file_that_cannot_be_written_is_reported_before_the_command_runs(tmp_path: Path) -> None:
    file = tmp_path / "none" / "x.svg"
    done = opwright("--svg", str(file), "--", "false")
    assert done.returncode == 2
    assert done.stderr == (
        "OPW-G004 the file cannot be written\n"
        "  where:   opwright graph, --svg\n"
        f"  got:     '{file}': there is no folder '{file.parent}'\n"
        "  fix:     name a file in an existing folder that you may write to\n"
    )
    assert "which is a folder" in opwright("--json", str(tmp_path), "--", "false").stderr


def test_a_dump_that_cannot_be_written_is_an_error_of_the_call(tmp_path: Path) -> None:
    # By number: CANN's 107000, and torch_npu's exception has the text.
    done = on_twin.run(
        dump_to,
        str(tmp_path / "none" / "x.json"),
        OPWRIGHT_GRAPH_DUMP=str(tmp_path / "none"),
    )
    assert done.returncode == 1
    assert "107000" in done.stderr
    assert f"'{tmp_path / 'none' / 'x.json'}' cannot be written: No such file" in done.stderr
    # The capture itself goes on without the dump that was asked for by the environment.
    assert "opwright: OPWRIGHT_GRAPH_DUMP: " in done.stderr


@pytest.mark.parametrize("option", ["--svg", "--json"])
def test_an_output_that_leads_nowhere_is_reported(
    folder: Path, tmp_path: Path, option: str
) -> None:
    link = tmp_path / "x.out"
    link.symlink_to(tmp_path / "none" / "x.out")
    command = [sys.executable, "-m", "opwright", "graph", str(folder / "dump.json"), option]
    done = subprocess.run([*command, str(link)], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("OPW-G004 the file cannot be written\n")
    assert f"'{link}': there is no folder '{tmp_path / 'none'}'" in done.stderr
