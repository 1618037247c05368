"""The report, the drawing and the JSON: golden files, and what holds for graphs of any size.

OPWRIGHT_ACCEPT=1 writes the golden files anew; the difference is what a reviewer reads.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opwright.graph_report import printing
from opwright.graph_report.captured.model import Argument, CapturedGraph, Task
from opwright.graph_report.captured.read import parse_graphs
from opwright.graph_report.captured.report import to_text
from opwright.graph_report.captured.svg import to_svg
from opwright.graph_report.shown import json_of
from opwright.graph_report.text import size_text
from tests.graph_report.dumps import FORKED, MIXED, Event, chain, head, kernel, task, text

GOLDEN = Path(__file__).parent / "golden"
DUMPS = {"forked": FORKED, "mixed": MIXED, "layers": chain(201)}
SVG = "{http://www.w3.org/2000/svg}"
WIDTH = 120


def read(events: list[Event]) -> CapturedGraph:
    (graph,) = parse_graphs(text(events), where="dump.json")
    return graph


def accepted(name: str, found: str) -> str:
    """Return the golden file; write it first, if that is asked for."""
    file = GOLDEN / name
    if os.environ.get("OPWRIGHT_ACCEPT"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(found, encoding="utf-8")
    return file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", DUMPS)
def test_the_report_is_as_accepted(name: str) -> None:
    found = to_text(read(DUMPS[name]), 1, width=WIDTH) + "\n"
    assert found == accepted(f"{name}.txt", found)


@pytest.mark.parametrize("name", DUMPS)
def test_the_drawing_is_as_accepted(name: str) -> None:
    found = to_svg(read(DUMPS[name]), 1)
    assert found == accepted(f"{name}.svg", found)


def test_the_documentation_shows_a_real_report() -> None:
    page = (GOLDEN.parents[2] / "docs" / "graphs.md").read_text(encoding="utf-8")
    assert (GOLDEN / "forked.txt").read_text(encoding="utf-8") in page


def test_a_copy_is_seen_at_a_glance() -> None:
    lines = to_text(read(FORKED), 1, width=WIDTH).splitlines()
    assert "  copies       1 (#4 aclnnInplaceCopy)" in lines
    assert "  copies       0" in to_text(read(FORKED[:-1]), 1, width=WIDTH).splitlines()


def test_forks_before_the_first_launch_and_joins_behind_the_last_are_reported() -> None:
    ends = [
        head(),
        task(0, 3, "EVENT_RECORD_0", "EVENT_RECORD"),
        task(1, 5, "EVENT_WAIT_0", "EVENT_WAIT", Waits_For=0),
        kernel(2, 3, "aclnnAdd", ("out", 0x1000, "write")),
        kernel(3, 5, "aclnnMul", ("out", 0x2000, "write")),
        task(4, 5, "EVENT_RECORD_1", "EVENT_RECORD"),
        task(5, 3, "EVENT_WAIT_1", "EVENT_WAIT", Waits_For=4),
    ]
    assert (
        "  ends         stream 5 forks off stream 3 before its first launch; "
        "stream 3 ends waiting for #2"
    ) in to_text(read(ends), 1).splitlines()
    (found,) = json.loads(json_of([read(ends)]))
    assert found["forks_at_start"] == [[3, 5]]
    assert found["joins_at_end"] == [{"stream": 3, "launches": [3], "external_events": []}]


def test_a_long_list_without_repetition_ends_somewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "MOST_ROWS", 100)
    assert "... 50 rows more; --json FILE writes all" in to_text(read(tangled(150)), 1)


def test_a_summary_says_that_it_has_no_memory() -> None:
    assert "memory       not in this dump" in to_text(read([head(verbose=False)]), 1)


def test_an_empty_graph_is_shown() -> None:
    lines = to_text(read([head()]), 3, width=WIDTH).splitlines()
    assert lines[:2] == ["graph 3 (model 1) on npu:0", "  launches     no launches"]
    assert lines[-1] == "  memory       no blocks"
    assert "no launches" in to_svg(read([head()]), 3)


def boxes(drawing: ET.Element, kind: str) -> list[ET.Element]:
    wanted = f"box {kind}"
    return [
        group
        for group in drawing.iter(f"{SVG}g")
        if (rect := group.find(f"{SVG}rect")) is not None and rect.get("class") == wanted
    ]


def test_a_drawing_has_a_box_per_task_an_arrow_per_edge_and_a_bar_per_block() -> None:
    drawing = ET.fromstring(to_svg(read(FORKED), 1))  # noqa: S314 - our own text
    assert {kind: len(boxes(drawing, kind)) for kind in ("kernel", "copy", "record", "wait")} == {
        "kernel": 3,
        "copy": 1,
        "record": 2,
        "wait": 2,
    }
    assert len(drawing.findall(f"{SVG}path[@class='edge']")) == 2
    assert len(drawing.findall(f"{SVG}g/{SVG}line[@class='live']")) == 3
    (copy,) = boxes(drawing, "copy")
    assert copy.findtext(f"{SVG}title") == (
        "#4 aclnnInplaceCopy (copy, group 0), stream 3\n"
        "selfRef float32[2, 3] @0x1000\n"
        "src float32[2, 3] @0x3000\n"
        "waits for #2"
    )


def tangled(count: int) -> list[Event]:
    """Return tasks without sections that repeat, on three streams."""
    events = [head()]
    for number in range(count):
        stream = 3 + number * number % 3
        tensors = (("self", 64 * (number % 97), "read"), ("out", 64 * (number % 89 + 100), "write"))
        events.append(kernel(number, stream, f"aclnnOperator{number * number % 101}", *tensors))
    return events


@pytest.mark.parametrize("count", [1, 119, 121, 399, 1000])
def test_a_drawing_of_any_size_is_within_its_page(count: int) -> None:
    drawing = ET.fromstring(to_svg(read(tangled(count)), 1))  # noqa: S314 - our own text
    width, height = (float(drawing.get(name, "")) for name in ("width", "height"))
    rects = [rect for rect in drawing.iter(f"{SVG}rect") if rect.get("x")]
    assert len(boxes(drawing, "kernel")) == count
    for rect in rects:
        assert 0 <= float(rect.get("x", "")) <= width - float(rect.get("width", ""))
        assert 0 <= float(rect.get("y", "")) <= height - float(rect.get("height", ""))
    tops = [
        float(rect.get("y", ""))
        for each in boxes(drawing, "kernel")
        for rect in each.findall(f"{SVG}rect")
    ]
    assert tops == sorted(set(tops))
    assert height < 9000


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_text_can_be_drawn_and_printed(name: str, value: str) -> None:
    arguments = (Argument(name="self", text=value),)
    each = Task(stream=1, name=name, kind="kernel", arguments=arguments)
    graph = CapturedGraph(model=1, device=0, detailed=True, tasks=(each,))
    ET.fromstring(to_svg(graph, 1))  # noqa: S314 - our own text
    assert "1 launch" in to_text(graph, 1)


def test_the_json_has_the_counts_and_the_tasks() -> None:
    (found,) = json.loads(json_of([read(FORKED)]))
    assert found["counts"] == {
        "launches": 4,
        "copies": 1,
        "streams": 2,
        "event_edges": 2,
        "external_waits": 0,
        "task_groups": 1,
        "bodies": 0,
        "blocks": 3,
        "bytes": 72,
        "most_bytes_at_a_time": 72,
        "bytes_read": 120,
        "bytes_written": 96,
    }
    assert found["copies"] == [7]
    assert found["edges"] == [{"record": 1, "wait": 2}, {"record": 5, "wait": 6}]
    assert found["launch_waits"] == [
        {"task": 3, "launches": [0], "external_events": []},
        {"task": 7, "launches": [3], "external_events": []},
    ]
    assert [each["name"] for each in found["tasks"]][7] == "aclnnInplaceCopy"
    assert found["blocks"][0]["input"] is True


@pytest.mark.parametrize(
    ("size", "wanted"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (1 << 31, "2 GiB"), (3 << 52, "12288 TiB")],
)
def test_sizes(size: int, wanted: str) -> None:
    assert size_text(size) == wanted


def test_a_long_list_shows_what_repeats_once() -> None:
    printed = to_text(read(chain(1001)), 1)
    assert "250 times the next 4 rows: #2 to #1001" in printed
    assert printed.count("aclnnMm") == 1
    assert len(to_svg(read(chain(1001)), 1)) < 30_000


def test_a_task_of_an_unknown_type_is_shown_as_it_is() -> None:
    assert "aclrtSomething" in to_text(read([task(0, 1, "aclrtSomething", "NEW_TYPE")]), 1)
