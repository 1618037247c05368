"""Dumps of captured graphs, written as the twin and as CANN write them."""

from __future__ import annotations

import json
from typing import Any

Event = dict[str, Any]


def head(
    model: int = 1, device: int = 0, *, verbose: bool = True, bodies: tuple[int, ...] = ()
) -> Event:
    """Return the event that names a graph."""
    args = {
        "name": f"NPU graph {model} on npu:{device}",
        "Model Id": model,
        "Device Id": device,
        "Verbose": verbose,
        "Body Model Ids": list(bodies),
    }
    pid = "77 aclGraph"
    return {
        "name": "process_name",
        "pid": pid,
        "tid": "graph",
        "ts": 0,
        "dur": 0,
        "ph": "M",
        "args": args,
    }


def task(number: int, stream: int, name: str, task_type: str, **more: object) -> Event:
    """Return the event of a task; `Waits_For` stands for the key "Waits For"."""
    args: Event = {"Model Id": 1, "Stream Id": stream, "Task Id": number, "Task Type": task_type}
    args |= {key.replace("_", " "): value for key, value in more.items()}
    return {
        "name": name,
        "pid": "77 aclGraph",
        "tid": f"stream{stream}",
        "ts": 10 * number,
        "dur": 9.5,
        "ph": "X",
        "args": args,
    }


def kernel(
    number: int, stream: int, name: str, *tensors: tuple[str, int, str], **more: object
) -> Event:
    """Return the event of an operator; a tensor is a parameter, an address and an access."""
    arguments = {parameter: f"float32[2, 3] @{address:#x}" for parameter, address, _ in tensors}
    memory = [
        {"Address": f"{address:#x}", "Bytes": 24, "Access": each, "Parameter": parameter}
        for parameter, address, each in tensors
    ]
    return task(number, stream, name, "KERNEL_AICORE", Arguments=arguments, Memory=memory, **more)


# x -> add -> event -> mul on a second stream -> event -> copy back into x.
FORKED = [
    head(),
    kernel(
        0,
        3,
        "aclnnAdd",
        ("self", 0x1000, "read"),
        ("other", 0x1000, "read"),
        ("out", 0x2000, "write"),
    ),
    task(1, 3, "EVENT_RECORD_0", "EVENT_RECORD"),
    task(2, 5, "EVENT_WAIT_0", "EVENT_WAIT", Waits_For=1),
    kernel(
        3,
        5,
        "aclnnMul",
        ("self", 0x2000, "read"),
        ("other", 0x1000, "read"),
        ("out", 0x3000, "write"),
    ),
    kernel(4, 3, "aclnnInplaceRelu", ("selfRef", 0x2000, "write")),
    task(5, 5, "EVENT_RECORD_1", "EVENT_RECORD"),
    task(6, 3, "EVENT_WAIT_1", "EVENT_WAIT", Waits_For=5),
    kernel(
        7,
        3,
        "aclnnInplaceCopy",
        ("selfRef", 0x1000, "write"),
        ("src", 0x3000, "read"),
        Task_Group=0,
    ),
]

# Two bodies, host memory, a task that the report does not know, and an event from outside.
MIXED = [
    head(4, 1, bodies=(5, 6)),
    *(
        event | {"args": event["args"] | {"Model Id": 4}}
        for event in (
            task(0, 3, "EVENT_WAIT", "EVENT_WAIT"),
            task(
                1,
                3,
                "aclrtMemcpyAsync",
                "MEMCPY_ASYNC",
                Arguments={"dst": "0x1000", "src": "0x7f00", "count": 2048},
                Memory=[
                    {"Parameter": "dst", "Address": "0x1000", "Bytes": 2048, "Access": "write"},
                    {
                        "Parameter": "src",
                        "Address": "0x7f00",
                        "Bytes": 2048,
                        "Access": "read",
                        "Host": True,
                    },
                ],
            ),
            task(2, 3, "EVENT_RESET", "EVENT_RESET"),
            task(
                3,
                3,
                "aclmdlRIAddCondTask",
                "CONDITION_OP",
                Arguments={"type": "if", "bodies": "graph 5, graph 6"},
            ),
            task(4, 3, "aclrtLaunchHostFunc", "HOSTFUNC_CALLBACK", Arguments={}),
            task(5, 3, "<&\x00>", "NOP"),
        )
    ),
]


def text(events: list[Event]) -> str:
    """Return the file."""
    return json.dumps(events)


def chain(count: int) -> list[Event]:
    """Return a chain of layers of four operators on one stream, after one operator."""
    names = ("aclnnMm", "aclnnAdd", "aclnnRelu", "aclnnMul")
    events = [head(), kernel(0, 3, "aclnnEmbedding", ("out", 0x1000, "write"))]
    for number in range(1, count):
        come, go = 0x1000 * number, 0x1000 * (number + 1)
        name = names[(number - 1) % len(names)]
        events.append(kernel(number, 3, name, ("self", come, "read"), ("out", go, "write")))
    return events
