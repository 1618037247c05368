"""Compiled graphs for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from opwright.graph_report.compiled.relate import relate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.graph_report.compiled.model import CompiledGraph, Vertex

__all__ = ["describe"]


def describe(graph: CompiledGraph) -> Mapping[str, object]:
    """Return both graphs, and FX node -> GE nodes."""
    return {
        "kind": "compiled",
        "name": graph.name,
        "attributes": dict(graph.attributes),
        "counts": {
            "fx_nodes": len(graph.fx),
            "ge_nodes": len(graph.ge),
        },
        "fx_is_complete": graph.fx_is_complete,
        "fx_to_ge": relate(graph),
        "fx": [vertex_of(vertex) for vertex in graph.fx],
        "ge": [vertex_of(vertex) for vertex in graph.ge],
    }


def vertex_of(vertex: Vertex) -> Mapping[str, object]:
    """Return a node; its attributes and marks as objects."""
    return asdict(vertex) | {
        "attributes": dict(vertex.attributes),
        "marks": dict(vertex.marks),
    }
