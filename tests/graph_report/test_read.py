"""The JSON of a capture -> a graph: every key, dumps of CANN, and what is no dump."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opwright.graph_report.captured.model import Access, Argument, CapturedGraph, Task
from opwright.graph_report.captured.read import parse_graphs, read_graphs
from opwright.graph_report.errors import DumpError
from tests.graph_report.dumps import FORKED, Event, head, kernel, task, text

if TYPE_CHECKING:
    from pathlib import Path


def read(events: list[Event]) -> CapturedGraph:
    (graph,) = parse_graphs(text(events), where="dump.json")
    return graph


def test_a_graph_has_its_tasks_in_the_order_of_the_capture() -> None:
    graph = read(FORKED)
    assert (graph.model, graph.device, graph.detailed) == (1, 0, True)
    assert graph.streams == (3, 5)
    assert [each.name for each in graph.tasks] == [
        "aclnnAdd",
        "EVENT_RECORD",
        "EVENT_WAIT",
        "aclnnMul",
        "aclnnInplaceRelu",
        "EVENT_RECORD",
        "EVENT_WAIT",
        "aclnnInplaceCopy",
    ]
    assert graph.tasks[0] == Task(
        stream=3,
        name="aclnnAdd",
        kind="kernel",
        arguments=tuple(
            Argument(name=name, text="float32[2, 3]", address=address)
            for name, address in (("self", 0x1000), ("other", 0x1000), ("out", 0x2000))
        ),
        accesses=(
            Access(address=0x1000, size=24, written=False, parameter="self"),
            Access(address=0x1000, size=24, written=False, parameter="other"),
            Access(address=0x2000, size=24, written=True, parameter="out"),
        ),
    )
    assert graph.tasks[6] == Task(stream=3, name="EVENT_WAIT", kind="wait", event=1, waits_for=5)
    assert graph.tasks[7].group == 0


@pytest.mark.parametrize(
    ("task_type", "kind"),
    [
        ("KERNEL_AICORE", "kernel"),
        ("KERNEL_MIX_AIC", "kernel"),
        ("MEMCPY_ASYNC", "copy"),
        ("MEMSET_ASYNC", "memset"),
        ("HOSTFUNC_CALLBACK", "host"),
        ("CONDITION_OP", "conditional"),
        ("EVENT_RECORD", "record"),
        ("MEM_WRITE_VALUE", "record"),
        ("EVENT_WAIT", "wait"),
        ("MEM_WAIT_VALUE", "wait"),
        ("EVENT_RESET", "reset"),
        ("NOP", "other"),
    ],
)
def test_the_kind_of_a_task_is_that_of_its_type(task_type: str, kind: str) -> None:
    assert read([task(0, 3, "x", task_type)]).tasks[0].kind == kind


def test_an_address_comes_from_the_memory_where_the_text_has_none() -> None:
    event = kernel(0, 3, "aclnnAbs", ("self", 0x1000, "read"))
    event["args"]["Arguments"] = {"self": "float32[2, 3]", "count": 4, "factor": "0.5"}
    assert read([event]).tasks[0].arguments == (
        Argument(name="self", text="float32[2, 3]", address=0x1000),
        Argument(name="count", text="4"),
        Argument(name="factor", text="0.5"),
    )


def test_pinned_memory_of_the_host_is_marked() -> None:
    memory = [{"Address": "0x10", "Bytes": 4, "Access": "read", "Host": True}]
    graph = read([task(0, 3, "aclrtMemcpyAsync", "MEMCPY_ASYNC", Memory=memory)])
    assert graph.tasks[0].accesses == (Access(address=0x10, size=4, written=False, host=True),)


def cann(number: int, stream: int, name: str, task_type: str) -> Event:
    """Return an event as CANN writes it: "Task Id" counts on each stream."""
    return task(number, stream, name, task_type, Numblocks=24, Schem_Mode=0)


def test_a_dump_of_cann_is_merged_along_its_events() -> None:
    graph = read(
        [
            cann(0, 1, "MatMul_1", "KERNEL_AICORE"),
            cann(1, 1, "EVENT_WAIT_20622287575192", "EVENT_WAIT"),
            cann(2, 1, "Add_2", "KERNEL_AIVEC"),
            cann(0, 2, "Mul_3", "KERNEL_AIVEC"),
            cann(1, 2, "Sub_4", "KERNEL_AIVEC"),
            cann(2, 2, "EVENT_RECORD_20622287575192", "EVENT_RECORD"),
        ]
    )
    assert (graph.device, graph.detailed) == (None, False)
    names = [each.name for each in graph.tasks]
    assert names == ["MatMul_1", "Mul_3", "Sub_4", "EVENT_RECORD", "EVENT_WAIT", "Add_2"]
    assert graph.tasks[4].waits_for == 3


def test_a_wait_for_an_event_from_outside_has_no_record() -> None:
    graph = read(
        [task(0, 3, "EVENT_WAIT_12", "EVENT_WAIT"), task(1, 3, "EVENT_WAIT", "EVENT_WAIT")]
    )
    assert [(each.event, each.waits_for) for each in graph.tasks] == [(12, None), (None, None)]


def test_an_event_of_too_many_digits_has_no_handle() -> None:
    name = "EVENT_WAIT_" + "9" * 6000
    (wait,) = read([task(0, 1, name, "EVENT_WAIT")]).tasks
    assert (wait.name, wait.event, wait.waits_for) == (name, None, None)


def test_events_that_draw_arrows_are_no_tasks() -> None:
    arrow = {"name": "PAIR_1", "cat": "event_record->wait", "ph": "s", "tid": "stream3", "ts": 1}
    assert read([*FORKED, arrow]) == read(FORKED)


def test_a_file_may_have_several_graphs() -> None:
    second = kernel(0, 3, "aclnnAbs")
    second["args"]["Model Id"] = 2
    graphs = parse_graphs(text([*FORKED, head(2, 1, bodies=(7, 8)), second]), where="dump.json")
    assert [(graph.model, graph.device, graph.bodies) for graph in graphs] == [
        (1, 0, ()),
        (2, 1, (7, 8)),
    ]


def test_an_empty_graph_is_a_graph() -> None:
    assert read([head()]).tasks == ()


def without(key: str) -> str:
    event = kernel(0, 3, "aclnnAbs", ("self", 0x1000, "read"))
    del event["args"][key]
    return text([event])


def changed(key: str, *, value: object) -> str:
    return text(
        [kernel(0, 3, "aclnnAbs") | {"args": kernel(0, 3, "aclnnAbs")["args"] | {key: value}}]
    )


@pytest.mark.parametrize(
    ("content", "where", "got"),
    [
        ("{", "d.json", "no JSON: "),
        ('{"traceEvents": []}', "d.json", "JSON that is not an array of events"),
        ("[]", "d.json", "no event of a captured graph"),
        ("[3]", "d.json, event 0", "the event is 3 instead of an object"),
        (without("Stream Id"), "d.json, event 0", "'Stream Id' is None instead of a number"),
        (without("Task Type"), "d.json, event 0", "'Task Type' is None instead of a text"),
        (
            changed("Task Id", value=True),
            "d.json, event 0",
            "'Task Id' is True instead of a number",
        ),
        (
            changed("Task Id", value=1 << 64),
            "d.json, event 0",
            "'Task Id' is 18446744073709551616 instead of a number of 64 bits",
        ),
        ("[" + "9" * 5000 + "]", "d.json", "no JSON: Exceeds the limit"),
        (
            changed("Memory", value=[{"Address": "0x1" + "0" * 16, "Bytes": 1, "Access": "read"}]),
            "d.json, event 0",
            "'Address' is '0x10000000000000000' instead of a number such as 0x7f00",
        ),
        (
            changed("Memory", value=[{"Address": "0x7", "Bytes": 10**400, "Access": "read"}]),
            "d.json, event 0",
            "'Bytes' is 1000000000",
        ),
        (changed("Memory", value={}), "d.json, event 0", "'Memory' is {} instead of an array"),
        (
            changed("Memory", value=[1]),
            "d.json, event 0",
            "an item of 'Memory' is 1 instead of an object",
        ),
        (
            changed("Memory", value=[{"Address": "7", "Bytes": 1, "Access": "read"}]),
            "d.json, event 0",
            "'Address' is '7' instead of a number such as 0x7f00",
        ),
        (
            changed("Memory", value=[{"Address": "0x7", "Bytes": -1, "Access": "read"}]),
            "d.json, event 0",
            "'Bytes' is -1 instead of 0 or more",
        ),
        (
            changed("Memory", value=[{"Address": "0x7", "Bytes": 1, "Access": "both"}]),
            "d.json, event 0",
            "'Access' is 'both' instead of read, write or read and write",
        ),
        (
            changed("Arguments", value={"self": []}),
            "d.json, event 0",
            "'self' is [] instead of a text or a number",
        ),
        (
            text(
                [
                    task(0, 1, "EVENT_WAIT_1", "EVENT_WAIT"),
                    task(1, 1, "EVENT_RECORD_2", "EVENT_RECORD"),
                    task(0, 2, "EVENT_WAIT_2", "EVENT_WAIT"),
                    task(1, 2, "EVENT_RECORD_1", "EVENT_RECORD"),
                ]
            ),
            "d.json, model 1",
            "waits that wait for each other in a circle",
        ),
    ],
)
def test_what_is_no_dump_is_reported(content: str, where: str, got: str) -> None:
    with pytest.raises(DumpError) as caught:
        parse_graphs(content, where="d.json")
    assert caught.value.where == where
    assert caught.value.got.startswith(got)


def test_the_text_of_an_error_says_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    file.write_text("[]", encoding="utf-8")
    with pytest.raises(DumpError) as caught:
        read_graphs(file)
    assert str(caught.value) == (
        "OPW-G001 not a dump of a captured graph\n"
        f"  where:   {file}\n"
        "  got:     no event of a captured graph\n"
        "  fix:     name a file that torch.npu.NPUGraph.debug_dump(path) wrote"
    )


def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DumpError, match="No such file"):
        read_graphs(tmp_path / "none.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe")
    with pytest.raises(DumpError, match="utf-8"):
        read_graphs(tmp_path / "binary.json")


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(st.sampled_from(sorted(FORKED[7 + 1]["args"])), JSON_VALUES, st.sampled_from(range(9)))
def test_any_value_of_any_key_is_read_or_refused(key: str, value: object, place: int) -> None:
    events = json.loads(text(FORKED))
    events[place]["args"][key] = value
    assert outcome(json.dumps(events)) in ("8 tasks", "d.json")


def outcome(content: str) -> str:
    """Count the tasks, or name the file that the refusal names."""
    try:
        graphs = parse_graphs(content, where="d.json")
    except DumpError as error:
        return error.where.split(",", maxsplit=1)[0]
    return f"{sum(len(graph.tasks) for graph in graphs)} tasks"
