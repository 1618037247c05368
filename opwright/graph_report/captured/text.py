"""A captured graph's properties in words: the same in the report and in the drawing."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from opwright.errors import write_count
from opwright.graph_report.captured.measures import count_moved
from opwright.graph_report.captured.model import is_copy, launches
from opwright.graph_report.text import make_printable, size_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opwright.graph_report.captured.edges import Waits
    from opwright.graph_report.captured.measures import Facts
    from opwright.graph_report.captured.memory import Block
    from opwright.graph_report.captured.model import Argument, CapturedGraph, Kind, Task

__all__ = [
    "MOST_NAMED",
    "argument_text",
    "launch_summary",
    "memory_summary",
    "operator_text",
    "title_text",
    "users_text",
    "waits_text",
    "writers_text",
]

KIND_NAMES: Mapping[Kind, tuple[str, str]] = {
    "kernel": ("kernel", "kernels"),
    "copy": ("memory copy", "memory copies"),
    "memset": ("memory set", "memory sets"),
    "host": ("host function", "host functions"),
    "conditional": ("conditional", "conditionals"),
    "other": ("other task", "other tasks"),
}
MOST_NAMED = 8  # launches; of a longer list the first are named


def title_text(graph: CapturedGraph, number: int) -> str:
    """Name a graph: its number in the list, its model and its device."""
    device = "" if graph.device is None else f" on npu:{graph.device}"
    return f"graph {number} (model {graph.model}){device}"


def launch_summary(graph: CapturedGraph) -> str:
    """Count the launches, and each kind if there are several."""
    kinds = Counter(graph.tasks[place].kind for place in launches(graph))
    parts = [write_count(kinds[kind], *names) for kind, names in KIND_NAMES.items() if kinds[kind]]
    total = write_count(sum(kinds.values()), "launch", "launches") or "no launches"
    return total if len(parts) < 2 else f"{total}: {', '.join(parts)}"  # noqa: PLR2004 - several


def operator_text(task: Task) -> str:
    """Name a launch, with what is special about it."""
    notes = [
        *(["copy"] if is_copy(task) else []),
        *([] if task.group is None else [f"group {task.group}"]),
    ]
    name = make_printable(task.name)
    return f"{name} ({', '.join(notes)})" if notes else name


def argument_text(argument: Argument) -> str:
    """Write an argument; a tensor with its address.

    >>> from opwright.graph_report.captured.model import Argument
    >>> argument_text(Argument(name="out", text="float32[2]", address=4096))
    'out float32[2] @0x1000'
    """
    address = "" if argument.address is None else f" @{argument.address:#x}"
    return make_printable(f"{argument.name} {argument.text}{address}")


def waits_text(waits: Waits, numbers: Mapping[int, int]) -> str:
    """Name what a launch waits for: launches by number, events from outside by handle."""
    parts = [f"#{numbers[place]}" for place in waits.launches]
    parts += ["event from outside" + (f" {each}" if each else "") for each in waits.external]
    return ", ".join(parts)


def users_text(places: Sequence[int], numbers: Mapping[int, int]) -> str:
    """List launches by number; of many the first."""
    found = [f"#{numbers[place]}" for place in places if place in numbers]
    more = f", ... ({len(found)})" if len(found) > MOST_NAMED else ""
    return ", ".join(found[:MOST_NAMED]) + more


def memory_summary(graph: CapturedGraph, facts: Facts) -> str:
    """Sum up the memory."""
    if not graph.detailed:
        return "not in this dump"
    if not facts.blocks:
        return "no blocks"
    total = sum(block.size for block in facts.blocks)
    read, written = (
        size_text(sum(count_moved(task, written=written) for task in graph.tasks))
        for written in (False, True)
    )
    return (
        f"{write_count(len(facts.blocks), 'block')}, {size_text(total)}, of which at "
        f"most {size_text(facts.most_alive)} at a time; a replay reads {read}, writes {written}"
    )


def writers_text(block: Block, numbers: Mapping[int, int]) -> str:
    """List who writes a block; of an input it is what comes after."""
    written = users_text(block.writers, numbers)
    if not block.is_input:
        return written
    return f"input, then {written}" if written else "input"
