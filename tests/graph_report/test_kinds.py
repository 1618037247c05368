"""Every kind of task that a C program can capture, in its dump and on standard error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from opwright.graph_report.captured.model import Access
from opwright.graph_report.captured.read import read_graphs
from tests.twin import on_twin

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.twin

PROGRAM = """
import os
from ctypes import *
from tests.twin.acl import ascendcl as acl, malloc, message

def ok(status):
    assert status == 0, (status, message())

class Condition(Structure):
    _fields_ = [("handle", c_void_p), ("type", c_int), ("size", c_uint32), ("bodies", c_void_p)]

x = torch.empty(1).npu()
stream, event, model, graph, host, handle = (c_void_p() for _ in range(6))
ok(acl.aclrtCreateStream(byref(stream)))
ok(acl.aclrtCreateEventExWithFlag(byref(event), c_uint32(0x20)))  # external
ok(acl.aclrtMallocHost(byref(host), c_size_t(64)))
a, b = malloc(64), malloc(64)
function = CFUNCTYPE(None, c_void_p)(lambda pointer: None)
bodies = (c_void_p * 2)()

ok(acl.aclmdlRICaptureBegin(stream, 2))
ok(acl.aclmdlRICaptureGetInfo(stream, byref(c_int()), byref(model)))
ok(acl.aclrtMemsetAsync(c_void_p(a), c_size_t(64), 7, c_size_t(32), stream))
ok(acl.aclrtMemcpyAsync(c_void_p(b), c_size_t(64), c_void_p(a), c_size_t(64), 3, stream))
ok(acl.aclrtMemcpyAsync(host, c_size_t(64), c_void_p(b), c_size_t(48), 2, stream))
ok(acl.aclrtStreamWaitEvent(stream, event))
ok(acl.aclrtResetEvent(event, stream))
ok(acl.aclrtRecordEvent(event, stream))
ok(acl.aclrtLaunchHostFunc(stream, function, None))
ok(acl.aclmdlRICondHandleCreate(model, c_uint32(1), 1, byref(handle)))
condition = Condition(handle, 0, 2, cast(bodies, c_void_p))
ok(acl.aclmdlRIAddCondTask(condition, stream, c_uint32(0)))
inside = c_void_p()
ok(acl.aclrtCreateStream(byref(inside)))
for each in bodies:
    body = c_void_p(each)
    ok(acl.aclmdlRICaptureToModelRIBegin(inside, body, 2))
    ok(acl.aclrtMemsetAsync(c_void_p(a), c_size_t(64), 9, c_size_t(16), inside))
    ok(acl.aclmdlRICaptureEnd(inside, byref(body)))
ok(acl.aclmdlRICaptureEnd(stream, byref(graph)))

path = os.environ["DUMP"].encode()
ok(acl.aclmdlRIDebugJsonPrint(graph, path + b".verbose.json", c_uint32(1)))
ok(acl.aclmdlRIDebugJsonPrint(graph, path + b".json", c_uint32(0)))
ok(acl.aclmdlRIDebugPrint(graph))
print(hex(a), hex(b), hex(host.value))
for arguments in ((graph, path, 2), (graph, None, 0), (graph, b"/none/x.json", 0), (None, path, 0)):
    print(acl.aclmdlRIDebugJsonPrint(*arguments), message())
ok(acl.aclmdlRIDestroy(graph))
"""


def test_every_kind(tmp_path: Path) -> None:
    done = on_twin.run(PROGRAM, DUMP=str(tmp_path / "dump"))
    assert done.returncode == 0, done.stderr
    first, *refusals = done.stdout.splitlines()
    a, b, host = (int(each, 16) for each in first.split())

    (graph,) = read_graphs(tmp_path / "dump.verbose.json")
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

    (summary,) = read_graphs(tmp_path / "dump.json")
    assert not summary.detailed
    assert [each.name for each in summary.tasks] == [each.name for each in graph.tasks]
    assert not any(each.arguments or each.accesses for each in summary.tasks)

    place = f"opwright: graph {graph.model}, device 0, stream {graph.streams[0]}, task"
    lines = [line for line in done.stderr.splitlines() if line.startswith("opwright: graph")]
    assert len(lines) == 8
    assert lines[1] == f"{place} 1: aclrtMemcpyAsync"

    assert refusals[0] == (
        "107000 aclmdlRIDebugJsonPrint: flags 2 do not exist; allowed: 0, 1 (verbose)"
    )
    assert refusals[1] == "107000 aclmdlRIDebugJsonPrint: parameter 'path' is null"
    assert refusals[2] == (
        "107000 aclmdlRIDebugJsonPrint: '/none/x.json' cannot be written: No such file or directory"
    )
    assert refusals[3].startswith("107000 aclmdlRIDebugJsonPrint: ")
