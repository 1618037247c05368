"""A graph of the engine as text, for callers that ask GE for it.

The JSON has the form of a captured graph's (`opwright.graph_report.captured.read`): a Chrome trace
with one event for each node, so that TorchAir's deadlock check and opwright's own drawing read it.
What scopes wrote at a node stands among its arguments.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING

from opwright.graph_engine.graph.model import CONSTANTS, INPUTS, OUTPUT, VARIABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from opwright.graph_engine.graph.model import GeGraph, Node

__all__ = ["DESCRIPTIONS"]

STREAM = "_user_stream_label"
DEFAULT = "default"
# Nodes that are no work.
NO_TASKS = (*INPUTS, *VARIABLES, *CONSTANTS, OUTPUT)
LENGTH = 9.5  # of an event in the drawing; it is no time
PERIOD = 10


def streams_of(graph: GeGraph) -> dict[str, list[Node]]:
    """Return the nodes that do something, by the label of their stream."""
    found: dict[str, list[Node]] = defaultdict(list)
    for node in graph.nodes:
        if node.type not in NO_TASKS:
            found[str(node.notes.get(STREAM, DEFAULT))].append(node)
    return dict(found)


def as_json(graph: GeGraph) -> str:
    """Return the graph as a Chrome trace."""
    numbers = {node.name: number for number, node in enumerate(graph.nodes)}
    events: list[dict[str, object]] = [
        {
            "name": "process_name",
            "pid": graph.name,
            "tid": "graph",
            "ts": 0,
            "dur": 0,
            "ph": "M",
            "args": {"name": f"GE graph {graph.name}", "Model Id": 0, "Body Model Ids": []},
        }
    ]
    for stream, (label, nodes) in enumerate(streams_of(graph).items()):
        for place, node in enumerate(nodes):
            events.append(
                {
                    "name": node.name,
                    "pid": graph.name,
                    "tid": f"stream{stream}",
                    "ts": place * PERIOD,
                    "dur": LENGTH,
                    "ph": "X",
                    "args": {
                        "Model Id": 0,
                        "Stream Id": stream,
                        "Task Id": numbers[node.name],
                        "Task Type": "KERNEL_AICORE",
                        "Arguments": arguments(node, label),
                    },
                }
            )
    lines = ",\n".join(json.dumps(event) for event in events)
    return f"[\n{lines}\n]\n"


def arguments(node: Node, label: str) -> dict[str, str]:
    """Return the description of a node."""
    found = {"type": node.type, "stream": label}
    if node.origin:
        found["from"] = node.origin
    found |= {name: f"{s.node}:{s.index}" for name, s in node.inputs if s is not None}
    notes = {name: str(value) for name, value in node.notes.items() if name != STREAM}
    return found | {name: value for name, value in notes.items() if not name.endswith("_meta")}


def streams(graph: GeGraph) -> str:
    """Return the graph's name and one line for each stream that its scopes ask for."""
    lines = [
        f"stream {number} '{label}': {len(nodes)} nodes, {nodes[0].name} to {nodes[-1].name}"
        for number, (label, nodes) in enumerate(streams_of(graph).items())
    ]
    return "\n".join([graph.name, *lines])


DESCRIPTIONS: Mapping[str, Callable[[GeGraph], str]] = {"json": as_json, "streams": streams}
