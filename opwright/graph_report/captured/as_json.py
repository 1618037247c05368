"""Captured graphs for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from opwright.graph_report.captured.measures import count_moved, gather

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.graph_report.captured.model import CapturedGraph

__all__ = ["describe"]


def describe(graph: CapturedGraph) -> Mapping[str, object]:
    """Return the graph's tasks and what is counted and measured about them.

    Tasks are named by their place in "tasks".
    """
    facts = gather(graph)
    return {
        "kind": "capture",
        "model": graph.model,
        "device": graph.device,
        "bodies": graph.bodies,
        "counts": {
            "launches": len(facts.numbers),
            "copies": len(facts.copies),
            "streams": len(facts.per_stream),
            "event_edges": len(facts.edges),
            "external_waits": facts.external,
            "task_groups": len(facts.groups),
            "bodies": len(graph.bodies),
            "blocks": len(facts.blocks),
            "bytes": sum(block.size for block in facts.blocks),
            "most_bytes_at_a_time": facts.most_alive,
        }
        | sum_moved(graph),
        "streams": [
            {"stream": stream, "launches": count} for stream, count in facts.per_stream.items()
        ],
        "copies": facts.copies,
        "edges": [asdict(edge) for edge in facts.edges],
        "launch_waits": [
            {"task": place, "launches": waits.launches, "external_events": waits.external}
            for place, waits in facts.waits.items()
        ],
        "forks_at_start": facts.ends.forks,
        "joins_at_end": [
            {"stream": stream, "launches": waits.launches, "external_events": waits.external}
            for stream, waits in facts.ends.joins.items()
        ],
        "blocks": [asdict(block) | {"input": block.is_input} for block in facts.blocks],
        "tasks": [asdict(task) for task in graph.tasks],
    }


def sum_moved(graph: CapturedGraph) -> dict[str, int]:
    """Return the bytes that a replay reads and writes."""
    return {
        f"bytes_{name}": sum(count_moved(task, written=written) for task in graph.tasks)
        for name, written in (("read", False), ("written", True))
    }
