"""The JSON of a captured graph -> `CapturedGraph`.

The form is that of CANN's aclmdlRIDebugJsonPrint: a JSON array of events of the Chrome trace
format, which chrome://tracing and Perfetto show. torch_npu's own tools read it as well
(torch_npu/npu/_npugraph_utils.py, torch_npu/dynamo/npugraph_ex/tools/aclgraph_check). One event is
one task::

    {"name": "aclnnAdd", "pid": "77 aclGraph", "tid": "stream3", "ts": 0, "dur": 9.5, "ph": "X",
     "args": {"Model Id": 1, "Stream Id": 3, "Task Id": 0, "Task Type": "KERNEL_AICORE", ...}}

`ts` and `dur` are no times but places in a drawing: each stream starts at 0. The tasks of a stream
stand in its order. "Task Id" counts them; on the twin it counts through the whole graph, in the
order of the capture. The name of a record, wait or reset ends in the handle of its event, a decimal
number, and a record and a wait with the same handle are an edge: EVENT_RECORD_<handle>,
EVENT_WAIT_<handle>, EVENT_RESET_<handle>, MEM_WRITE_VALUE_<handle>, MEM_WAIT_VALUE_<handle>. On the
twin each record has a handle of its own.

"Task Type" is KERNEL_AICORE and others that start with KERNEL_, MEMCPY_ASYNC, MEMSET_ASYNC,
HOSTFUNC_CALLBACK, CONDITION_OP, EVENT_RECORD, EVENT_WAIT, EVENT_RESET, MEM_WRITE_VALUE,
MEM_WAIT_VALUE, or another that is shown as it is. CANN's dumps of kernels also have "Numblocks",
"Schem Mode" and for mixed kernels "Task Ration" (sic), which count cores; the twin has none and
leaves them out.

The twin adds to `args`:

========================  ==========================================================================
"Waits For"               Task Id of the record that a wait waits for; left out for one outside of
                          the graph
"Task Group"              number of the task group
"Arguments"               object: parameter -> text or number; a tensor is "float32[2, 3]", maybe
                          with its address, as in "float32[2, 3] @0x7f00"
"Memory"                  array of {"Parameter": "self", "Address": "0x7f00", "Bytes": 24,
                          "Access": "read" | "write" | "read and write"}, with "Host": true for
                          pinned host memory
========================  ==========================================================================

The last two are there with bit 0 of the flags (verbose), which torch.npu.NPUGraph.debug_dump sets.
The first event is no task but names the graph; it has a row of its own, and a length of 0, because
torch_npu's tools add up `ts` and `dur` of all events::

    {"name": "process_name", "pid": "77 aclGraph", "tid": "graph", "ts": 0, "dur": 0, "ph": "M",
     "args": {"name": "NPU graph 1 on npu:0", "Model Id": 1, "Device Id": 0, "Verbose": true,
              "Body Model Ids": []}}

"Body Model Ids" are those of the graphs that its conditional tasks may run; each has a dump of its
own.

A file without it (a dump of CANN), or with the events that torch_npu's alignment adds, is read too.

Source: runtime/core/src/stream/stream.cc and docs of hicann/runtime, 681ef7610 (August 2026).
"""

from __future__ import annotations

import heapq
import json
import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from opwright.graph_report.captured.model import Access, Argument, CapturedGraph, Kind, Task
from opwright.graph_report.errors import DumpError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["parse_graphs", "read_graphs"]

T = TypeVar("T")
Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

KINDS: Mapping[str, Kind] = {
    "MEMCPY_ASYNC": "copy",
    "MEMSET_ASYNC": "memset",
    "HOSTFUNC_CALLBACK": "host",
    "CONDITION_OP": "conditional",
    "EVENT_RECORD": "record",
    "MEM_WRITE_VALUE": "record",
    "NOTIFY_RECORD": "record",
    "EVENT_WAIT": "wait",
    "MEM_WAIT_VALUE": "wait",
    "NOTIFY_WAIT": "wait",
    "EVENT_RESET": "reset",
}
TENSOR = re.compile(r"(?P<text>.*\S)\s*@(?P<address>0x[0-9a-fA-F]{1,16})", re.DOTALL)
HANDLE = re.compile(r"_(\d{1,20})\Z")  # as many digits as 64 bits have
BITS = 64  # of numbers; Python's have no end, but texts and floats made of them do


class FormError(Exception):
    """An event that is not of the form; the caller adds the file and the event's place."""

    def __init__(self, *, key: str, found: object, wanted: str) -> None:
        super().__init__(f"{key} is {found!r:.60} instead of {wanted}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One event of the file: a task before its edges are known."""

    model: int
    id: int
    waited_id: int | None
    detailed: bool
    task: Task


@dataclass(slots=True)
class Found:
    """A file's content about one model."""

    entries: list[Entry] = field(default_factory=list)
    device: int | None = None
    bodies: tuple[int, ...] = ()
    detailed: bool = False


def read_graphs(file: Path) -> tuple[CapturedGraph, ...]:
    """Return the graphs of a file, usually one.

    Raises
    ------
    DumpError
        OPW-G001, if the file cannot be read or is not of the form.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DumpError(where=str(file), got=str(error)) from error
    return parse_graphs(text, where=str(file))


def parse_graphs(text: str, *, where: str) -> tuple[CapturedGraph, ...]:
    """Return the graphs of a text, else raise DumpError (OPW-G001)."""
    try:
        events: Json = json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also numbers of too many digits
        raise DumpError(where=where, got=f"no JSON: {error}") from error
    if not isinstance(events, list):
        raise DumpError(where=where, got="JSON that is not an array of events")
    models: dict[int, Found] = {}
    for place, event in enumerate(events):
        try:
            read_event(event, models)
        except FormError as error:
            raise DumpError(where=f"{where}, event {place}", got=str(error)) from error
    if not models:
        raise DumpError(where=where, got="no event of a captured graph")
    return tuple(assemble(model, found, where=where) for model, found in models.items())


def read_event(event: Json, models: dict[int, Found]) -> None:
    """Add what an event says to its model; events of other kinds say nothing about it."""
    if not isinstance(event, dict):
        raise FormError(key="the event", found=event, wanted="an object")
    if event.get("ph") == "X":
        entry = read_entry(event)
        found = models.setdefault(entry.model, Found())
        found.entries.append(entry)
        found.detailed = found.detailed or entry.detailed
    elif event.get("ph") == "M" and event.get("name") == "process_name":
        args = take(event, "args", dict, "an object")
        found = models.setdefault(take(args, "Model Id", int, "a number"), Found())
        found.device = take(args, "Device Id", int, "a number")
        found.bodies = read_bodies(args)
        found.detailed = found.detailed or take(args, "Verbose", bool, "true or false")


def take(owner: Mapping[str, Json], key: str, kind: type[T], wanted: str) -> T:
    """Return a member of the kind that it must have."""
    value = owner.get(key)
    # JSON's true is no number, though Python's is.
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise FormError(key=repr(key), found=value, wanted=wanted)
    if isinstance(value, int) and value.bit_length() > BITS:
        raise FormError(key=repr(key), found=value, wanted=f"{wanted} of {BITS} bits")
    return value


def read_entry(event: Mapping[str, Json]) -> Entry:
    """Read the event of a task."""
    name = take(event, "name", str, "a text")
    args = take(event, "args", dict, "an object")
    task_type = take(args, "Task Type", str, "a text")
    kind = "kernel" if task_type.startswith("KERNEL_") else KINDS.get(task_type, "other")
    handle = HANDLE.search(name) if kind in ("record", "wait", "reset") else None
    accesses = read_memory(args)
    task = Task(
        stream=take(args, "Stream Id", int, "a number"),
        name=name[: handle.start()] if handle else name,
        kind=kind,
        arguments=read_arguments(args, accesses),
        accesses=accesses,
        event=int(handle[1]) if handle else None,
        group=take(args, "Task Group", int, "a number") if "Task Group" in args else None,
    )
    return Entry(
        model=take(args, "Model Id", int, "a number"),
        id=take(args, "Task Id", int, "a number"),
        waited_id=take(args, "Waits For", int, "a number") if "Waits For" in args else None,
        detailed="Memory" in args,
        task=task,
    )


def read_arguments(args: Mapping[str, Json], accesses: Sequence[Access]) -> tuple[Argument, ...]:
    """Read the arguments of a launch; where an address is not in the text, the memory has it."""
    if "Arguments" not in args:
        return ()
    addresses: dict[str | None, set[int]] = defaultdict(set)
    for access in accesses:
        addresses[access.parameter].add(access.address)
    found = []
    for name, value in take(args, "Arguments", dict, "an object").items():
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise FormError(key=repr(name), found=value, wanted="a text or a number")
        text = str(value)
        address: int | None = None
        if tensor := TENSOR.fullmatch(text):
            text, address = tensor["text"], int(tensor["address"], 16)
        elif len(addresses[name]) == 1 and not text.startswith("0x"):
            (address,) = addresses[name]
        found.append(Argument(name=name, text=text, address=address))
    return tuple(found)


def read_memory(args: Mapping[str, Json]) -> tuple[Access, ...]:
    """Read the ranges of memory that a task touches."""
    if "Memory" not in args:
        return ()
    found = []
    for item in take(args, "Memory", list, "an array"):
        if not isinstance(item, dict):
            raise FormError(key="an item of 'Memory'", found=item, wanted="an object")
        address = take(item, "Address", str, "a text")
        if not re.fullmatch("0x[0-9a-fA-F]{1,16}", address):
            raise FormError(key="'Address'", found=address, wanted="a number such as 0x7f00")
        access = take(item, "Access", str, "a text")
        if access not in ("read", "write", "read and write"):
            raise FormError(key="'Access'", found=access, wanted="read, write or read and write")
        size = take(item, "Bytes", int, "a number")
        if size < 0:
            raise FormError(key="'Bytes'", found=size, wanted="0 or more")
        found.append(
            Access(
                address=int(address, 16),
                size=size,
                written=access != "read",
                in_place=access == "read and write",
                parameter=take(item, "Parameter", str, "a text") if "Parameter" in item else None,
                host=take(item, "Host", bool, "true or false") if "Host" in item else False,
            )
        )
    return tuple(found)


def read_bodies(args: Mapping[str, Json]) -> tuple[int, ...]:
    """Read the numbers of the graphs that a conditional task may run."""
    found = []
    for item in take(args, "Body Model Ids", list, "an array") if "Body Model Ids" in args else []:
        if not isinstance(item, int) or isinstance(item, bool):
            raise FormError(key="an item of 'Body Model Ids'", found=item, wanted="a number")
        found.append(item)
    return tuple(found)


def assemble(model: int, found: Found, *, where: str) -> CapturedGraph:
    """Put the tasks of one graph in order and find the record of each wait."""
    entries = found.entries
    records = record_of_each_wait(entries)
    order = merge(entries, records)
    if order is None:
        raise DumpError(
            where=f"{where}, model {model}", got="waits that wait for each other in a circle"
        )
    place_of = {index: place for place, index in enumerate(order)}
    tasks = (
        replace(
            entries[index].task,
            waits_for=place_of[records[index]] if index in records else None,
        )
        for index in order
    )
    return CapturedGraph(
        model=model,
        device=found.device,
        bodies=found.bodies,
        detailed=found.detailed,
        tasks=tuple(tasks),
    )


def record_of_each_wait(entries: Sequence[Entry]) -> dict[int, int]:
    """Return index of a wait -> index of its record, for those whose record is in the graph."""
    by_id: dict[int, int] = {}
    by_event: dict[int, int] = {}
    for index, entry in enumerate(entries):
        if entry.task.kind == "record":
            by_id[entry.id] = index
            if entry.task.event is not None:
                by_event[entry.task.event] = index
    records: dict[int, int | None] = {}
    for index, entry in enumerate(entries):
        if entry.task.kind == "wait" and entry.waited_id is not None:
            records[index] = by_id.get(entry.waited_id)
        elif entry.task.kind == "wait" and entry.task.event is not None:
            records[index] = by_event.get(entry.task.event)
    return {wait: record for wait, record in records.items() if record is not None}


def merge(entries: Sequence[Entry], records: Mapping[int, int]) -> list[int] | None:
    """Return the indices in an order that respects streams and edges; None if there is none.

    Of the tasks that may come next, the one with the smallest "Task Id" does: on the twin this is
    the order of the capture, and it interleaves the streams of a dump of CANN.
    """
    after: dict[int, list[int]] = defaultdict(list)
    missing = [0] * len(entries)
    last: dict[int, int] = {}
    for index, entry in enumerate(entries):
        before = {last[entry.task.stream]} if entry.task.stream in last else set()
        if index in records:
            before.add(records[index])
        for each in before:
            after[each].append(index)
        missing[index] = len(before)
        last[entry.task.stream] = index
    ready = [(entries[index].id, index) for index, count in enumerate(missing) if not count]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        _, index = heapq.heappop(ready)
        order.append(index)
        for following in after[index]:
            missing[following] -= 1
            if not missing[following]:
                heapq.heappush(ready, (entries[following].id, following))
    return order if len(order) == len(entries) else None
