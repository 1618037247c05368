"""msprof_*.json: events for chrome://tracing, in the rows that CANN's own timeline has."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from opwright.twin.msprof.kinds import is_communication, is_kernel, name_of, unit_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from opwright.twin.msprof.recording import Launch, Recording, Task

__all__ = ["microseconds", "timeline"]

Event = dict[str, Any]
Span = tuple[int, int]

# Rows of the page: a "process" each, in this order.
HOST, DEVICE, OVERLAP = 1, 2, 3
ROWS = {HOST: "CANN", DEVICE: "Ascend Hardware", OVERLAP: "Overlap Analysis"}
COMPUTING, COMMUNICATION, EXPOSED, FREE = range(4)
LANES = {
    COMPUTING: "Computing",
    COMMUNICATION: "Communication",
    EXPOSED: "Communication(Not Overlapped)",
    FREE: "Free",
}


def microseconds(nanoseconds: int) -> str:
    """Return a time in microseconds without loss: a float cannot hold one of the day."""
    return f"{nanoseconds // 1000}.{nanoseconds % 1000:03d}"


def timeline(recording: Recording) -> list[Event]:
    """Return all events of a recording."""
    devices = sorted({task.device for task in recording.tasks})
    events = row(recording, HOST, None)
    events += host(recording)
    for device in devices:
        tasks = [task for task in recording.tasks if task.device == device]
        events += row(recording, DEVICE, device) + hardware(recording, tasks)
        events += row(recording, OVERLAP, device) + overlap(recording, device, tasks)
    return events


def row_id(recording: Recording, kind: int, device: int | None) -> int:
    """Return the number of a row; torch_npu's own row has that of the process."""
    return recording.process * 1000 + (device or 0) * 10 + kind


def row(recording: Recording, kind: int, device: int | None) -> list[Event]:
    """Return what names a row and puts it into its place."""
    label = "CPU" if device is None else f"NPU {device}"
    facts = (
        ("process_name", "name", ROWS[kind]),
        ("process_labels", "labels", label),
        ("process_sort_index", "sort_index", 10 + kind),
    )
    number = row_id(recording, kind, device)
    return [
        {"name": name, "pid": number, "tid": 0, "ph": "M", "args": {key: value}}
        for name, key, value in facts
    ]


def lane(number: int, lane_id: int, name: str) -> list[Event]:
    """Return what names a lane of a row."""
    shown = (("thread_name", "name", name), ("thread_sort_index", "sort_index", lane_id))
    return [
        {"name": kind, "pid": number, "tid": lane_id, "ph": "M", "args": {key: value}}
        for kind, key, value in shown
    ]


def span(name: str, place: tuple[int, int], begin: int, end: int, args: Event) -> Event:
    """Return a complete event."""
    return {
        "name": name,
        "pid": place[0],
        "tid": place[1],
        "ts": microseconds(begin),
        "dur": (end - begin) / 1000,
        "ph": "X",
        "args": args,
    }


def host(recording: Recording) -> list[Event]:
    """Return the calls of each thread and the launches inside them."""
    number = row_id(recording, HOST, None)
    threads = sorted({call.thread for call in recording.calls})
    events = [event for thread in threads for event in lane(number, thread, f"Thread {thread}")]
    for call in recording.calls:
        args = {"Thread Id": call.thread, "level": "acl", "id": call.name}
        name = f"AscendCL@{call.name}"
        events.append(span(name, (number, call.thread), call.begin, call.end, args))
    ends = Ends(recording)
    for task in recording.tasks:
        if task.launch is None or not is_kernel(task):
            continue
        launch = task.launch
        args = {"Thread Id": launch.thread, "level": "node", "id": name_of(task)[0]}
        end = ends.after(launch)
        events.append(span("Node@launch", (number, launch.thread), launch.time, end, args))
    return events


class Ends:
    """When the call in which a launch happened returned."""

    def __init__(self, recording: Recording) -> None:
        self.spans: dict[int, list[Span]] = {}
        for call in recording.calls:
            self.spans.setdefault(call.thread, []).append((call.end, call.begin))
        for spans in self.spans.values():
            spans.sort()

    def after(self, launch: Launch) -> int:
        """Return the end of the innermost call around the launch, or the launch's own time."""
        spans = self.spans.get(launch.thread, [])
        at = bisect_right(spans, (launch.time, launch.time))
        if at < len(spans) and spans[at][1] <= launch.time:
            return spans[at][0]
        return launch.time


def hardware(recording: Recording, tasks: Sequence[Task]) -> list[Event]:
    """Return the tasks of a device by stream, and the arrows from their launches."""
    number = row_id(recording, DEVICE, tasks[0].device)
    caller = row_id(recording, HOST, None)
    streams = sorted({task.stream for task in tasks})
    events = [event for stream in streams for event in lane(number, stream, f"Stream {stream}")]
    for index, task in enumerate(tasks):
        unit = unit_of(task)
        args = {
            "Model Id": 4294967295 if task.graph is None else task.graph,
            "Task Type": unit,
            "Physic Stream Id": task.stream,
            "Task Id": task.number or index,
            "Batch Id": 0,
            "Subtask Id": 4294967295,
            "connection_id": index,
        }
        name = name_of(task)[0] if is_kernel(task) else unit
        events.append(span(name, (number, task.stream), task.begin, task.end, args))
        if task.launch is not None:
            link = f"{task.device}{task.stream:04d}{index:08d}"
            start = (caller, task.launch.thread, task.launch.time)
            events += arrow(link, start, (number, task.stream, task.begin))
    for mark in recording.marks:
        if mark.device == tasks[0].device:
            place = (number, mark.stream)
            events.append(span(mark.name, place, mark.time, mark.time, {"Task Type": "MARK"}))
    return events


def arrow(link: str, start: tuple[int, int, int], end: tuple[int, int, int]) -> list[Event]:
    """Return an arrow from the host to the device; torch_npu follows it by the end's time."""
    shared = {"name": f"HostToDevice{link}", "id": link, "cat": "HostToDevice"}
    return [
        {"ph": "s", **shared, "pid": start[0], "tid": start[1], "ts": microseconds(start[2])},
        {
            "ph": "f",
            "bp": "e",
            **shared,
            "pid": end[0],
            "tid": end[1],
            "ts": microseconds(end[2]),
        },
    ]


def overlap(recording: Recording, device: int, tasks: Sequence[Task]) -> list[Event]:
    """Return when the device computed, communicated, did both, or nothing."""
    number = row_id(recording, OVERLAP, device)
    computing = union((task.begin, task.end) for task in tasks if is_kernel(task))
    communication = union((task.begin, task.end) for task in tasks if is_communication(task))
    busy = union([*computing, *communication])
    lanes = {
        COMPUTING: computing,
        COMMUNICATION: communication,
        EXPOSED: subtract(communication, computing),
        FREE: [(first[1], second[0]) for first, second in pairwise(busy)],
    }
    events = [event for lane_id, name in LANES.items() for event in lane(number, lane_id, name)]
    for lane_id, spans in lanes.items():
        args = {"analysis_type": LANES[lane_id]}
        events += [
            span(LANES[lane_id], (number, lane_id), begin, end, args) for begin, end in spans
        ]
    return events


def union(spans: Iterable[Span]) -> list[Span]:
    """Return the spans in order, those that touch as one."""
    result: list[Span] = []
    for begin, end in sorted(spans):
        if result and begin <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((begin, end))
    return result


def subtract(spans: Sequence[Span], others: Sequence[Span]) -> list[Span]:
    """Return the parts of spans that no other span covers; both in order and apart."""
    result: list[Span] = []
    for begin, end in spans:
        at = begin
        for other_begin, other_end in others:
            if other_end <= at or other_begin >= end:
                continue
            if other_begin > at:
                result.append((at, other_begin))
            at = max(at, other_end)
        if at < end:
            result.append((at, end))
    return result
