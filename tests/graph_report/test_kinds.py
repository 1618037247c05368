"""Every kind of task that a C program can capture, in its dump and on standard error."""

from __future__ import annotations

import contextlib
import ctypes
from ctypes import byref, c_int, c_size_t, c_uint32, c_void_p
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import pytest

import opwright.twin  # noqa: F401  # before torch_npu

import torch  # isort: skip
import torch_npu  # noqa: F401  # isort: skip

from opwright.graph_report.captured.model import Access
from opwright.graph_report.captured.read import read_graphs
from tests.twin.acl import ascendcl, malloc, message

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.twin, pytest.mark.isolated]

DEVICE_TO_HOST, DEVICE_TO_DEVICE = 2, 3
RELAXED = 2  # how a capture treats other streams
EXTERNAL = 0x20  # of events
IF = 0  # of conditions
Task = ctypes.CFUNCTYPE(None, c_void_p)


class Condition(ctypes.Structure):
    _fields_: ClassVar = [
        ("handle", c_void_p),
        ("type", c_int),
        ("size", c_uint32),
        ("bodies", c_void_p),
    ]


@dataclass(frozen=True)
class Captured:
    """A graph with a task of every kind, and the memory that they use."""

    graph: c_void_p
    a: int
    b: int
    host: int


def check(status: int) -> None:
    assert status == 0, (status, message())


def new_stream() -> c_void_p:
    stream = c_void_p()
    check(ascendcl.aclrtCreateStream(byref(stream)))
    return stream


def fill(address: int, value: int, size: int, stream: c_void_p) -> None:
    limit = c_size_t(64)
    check(ascendcl.aclrtMemsetAsync(c_void_p(address), limit, value, c_size_t(size), stream))


def copy(to: c_void_p, source: c_void_p, size: int, kind: int, stream: c_void_p) -> None:
    check(ascendcl.aclrtMemcpyAsync(to, c_size_t(64), source, c_size_t(size), kind, stream))


def branch(model: c_void_p, stream: c_void_p) -> Iterator[c_void_p]:
    """Add a task with two graphs; yield each."""
    bodies, handle = (c_void_p * 2)(), c_void_p()
    check(ascendcl.aclmdlRICondHandleCreate(model, c_uint32(1), 1, byref(handle)))
    condition = Condition(handle, IF, 2, ctypes.cast(bodies, c_void_p))
    check(ascendcl.aclmdlRIAddCondTask(condition, stream, c_uint32(0)))
    yield from (c_void_p(body) for body in bodies)


@contextlib.contextmanager
def capture() -> Iterator[Captured]:
    torch.empty(1).to("npu")
    event, model, graph, host = (c_void_p() for _ in range(4))
    stream = new_stream()
    check(ascendcl.aclrtCreateEventExWithFlag(byref(event), c_uint32(EXTERNAL)))
    check(ascendcl.aclrtMallocHost(byref(host), c_size_t(64)))
    assert host.value is not None
    a, b = malloc(64), malloc(64)
    task = Task(lambda _: None)

    check(ascendcl.aclmdlRICaptureBegin(stream, RELAXED))
    check(ascendcl.aclmdlRICaptureGetInfo(stream, byref(c_int()), byref(model)))
    fill(a, 7, 32, stream)
    copy(c_void_p(b), c_void_p(a), 64, DEVICE_TO_DEVICE, stream)
    copy(host, c_void_p(b), 48, DEVICE_TO_HOST, stream)
    check(ascendcl.aclrtStreamWaitEvent(stream, event))
    check(ascendcl.aclrtResetEvent(event, stream))
    check(ascendcl.aclrtRecordEvent(event, stream))
    check(ascendcl.aclrtLaunchHostFunc(stream, task, None))
    inside = new_stream()
    for body in branch(model, stream):
        check(ascendcl.aclmdlRICaptureToModelRIBegin(inside, body, RELAXED))
        fill(a, 9, 16, inside)
        check(ascendcl.aclmdlRICaptureEnd(inside, byref(body)))
    check(ascendcl.aclmdlRICaptureEnd(stream, byref(graph)))
    yield Captured(graph, a, b, host.value)
    check(ascendcl.aclmdlRIDestroy(graph))


def dump(graph: c_void_p, path: Path, *, verbose: bool) -> None:
    check(ascendcl.aclmdlRIDebugJsonPrint(graph, str(path).encode(), c_uint32(verbose)))


def test_every_kind(tmp_path: Path) -> None:
    with capture() as captured:
        dump(captured.graph, tmp_path / "verbose.json", verbose=True)
        dump(captured.graph, tmp_path / "summary.json", verbose=False)

    (graph,) = read_graphs(tmp_path / "verbose.json")
    assert graph.bodies == (graph.model + 1, graph.model + 2)
    assert [(each.name, each.kind) for each in graph.tasks] == [
        ("aclrtMemsetAsync", "memset"),
        ("aclrtMemcpyAsync", "copy"),
        ("aclrtMemcpyAsync", "copy"),
        ("EVENT_WAIT", "wait"),
        ("EVENT_RESET", "reset"),
        ("EVENT_RECORD", "record"),
        ("aclrtLaunchHostFunc", "host"),
        ("aclmdlRIAddCondTask", "conditional"),
    ]
    a, b, host = captured.a, captured.b, captured.host
    assert [each.accesses for each in graph.tasks[:3]] == [
        (Access(address=a, size=32, written=True, parameter="devPtr"),),
        (
            Access(address=b, size=64, written=True, parameter="dst"),
            Access(address=a, size=64, written=False, parameter="src"),
        ),
        (
            Access(address=host, size=48, written=True, parameter="dst", host=True),
            Access(address=b, size=48, written=False, parameter="src"),
        ),
    ]
    texts = {each.name: each.text for each in graph.tasks[7].arguments}
    assert texts == {"type": "if", "bodies": f"graph {graph.model + 1}, graph {graph.model + 2}"}

    (summary,) = read_graphs(tmp_path / "summary.json")
    assert not summary.detailed
    assert [each.name for each in summary.tasks] == [each.name for each in graph.tasks]
    assert not any(each.arguments or each.accesses for each in summary.tasks)


def test_each_task_has_a_line_on_standard_error(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with capture() as captured:
        dump(captured.graph, tmp_path / "dump.json", verbose=True)
        check(ascendcl.aclmdlRIDebugPrint(captured.graph))
    (graph,) = read_graphs(tmp_path / "dump.json")
    place = f"opwright: graph {graph.model}, device 0, stream {graph.streams[0]}, task"
    printed = capfd.readouterr().err.splitlines()
    lines = [line for line in printed if line.startswith("opwright: graph")]
    assert len(lines) == 8
    assert lines[1] == f"{place} 1: aclrtMemcpyAsync"


def test_parameters_of_a_dump_are_checked(tmp_path: Path) -> None:
    def refusal(graph: c_void_p | None, path: bytes | None, flags: int) -> tuple[int, str]:
        return ascendcl.aclmdlRIDebugJsonPrint(graph, path, flags), message()

    file = str(tmp_path / "dump.json").encode()
    with capture() as captured:
        refusals = [
            refusal(*parameters)
            for parameters in (
                (captured.graph, file, 2),
                (captured.graph, None, 0),
                (captured.graph, b"/none/x.json", 0),
                (None, file, 0),
            )
        ]
    assert [status for status, _ in refusals] == [107000] * 4
    reasons = [text.removeprefix("aclmdlRIDebugJsonPrint: ") for _, text in refusals]
    assert reasons[:3] == [
        "flags 2 do not exist; allowed: 0, 1 (verbose)",
        "parameter 'path' is null",
        "'/none/x.json' cannot be written: No such file or directory",
    ]
    assert all(text.startswith("aclmdlRIDebugJsonPrint: ") for _, text in refusals)
