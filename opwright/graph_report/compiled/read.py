"""Files of compiled graphs -> `CompiledGraph`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from opwright.graph_report.compiled.fx import read_fx
from opwright.graph_report.compiled.messages import read_messages
from opwright.graph_report.compiled.model import CompiledGraph
from opwright.graph_report.compiled.observe import FX_SUFFIX, TENSORS_SUFFIX
from opwright.graph_report.compiled.relate import fx_of_ge, linked, make_noted_fx
from opwright.graph_report.compiled.vertices import fx_targets, read_attributes, read_vertices
from opwright.graph_report.errors import GeDumpError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from opwright.graph_report.compiled.ge_proto import Message
    from opwright.graph_report.compiled.model import Vertex

__all__ = ["read_compiled"]


def read_compiled(file: Path) -> tuple[CompiledGraph, ...]:
    """Return the graphs of a file; the FX graph is in the file of that name beside it, if any.

    The first is the whole graph; control-flow nodes call the others by name.

    Raises
    ------
    GeDumpError
        OPW-G005.
    """
    beside, tensors = (file.with_suffix(suffix) for suffix in (FX_SUFFIX, TENSORS_SUFFIX))
    fx, made = read_fx(beside) if beside.exists() else (None, {})
    inferred = read_tensors(tensors) if tensors.exists() else {}
    first, *others = read_messages(file)
    return (
        read_graph(first, fx, made, inferred, file.stem),
        *(read_graph(graph, None, {}, {}, file.stem) for graph in others),
    )


def read_tensors(file: Path) -> dict[str, str]:
    """Return output of a node -> dtype and shape.

    Raises
    ------
    GeDumpError
        OPW-G005.
    """
    try:
        return {str(name): str(text) for name, text in json.loads(file.read_bytes()).items()}
    except (OSError, ValueError, AttributeError) as error:
        raise GeDumpError(where=str(file), got=f"{error!s:.100}") from error


def read_graph(
    graph: Message,
    fx: tuple[Vertex, ...] | None,
    made: Mapping[str, str],
    inferred: Mapping[str, str],
    name: str,
) -> CompiledGraph:
    """Return a graph of a file."""
    vertices = read_vertices(graph, inferred)
    known = make_noted_fx(vertices, fx_targets(graph)) if fx is None else fx
    ge = fx_of_ge(known, vertices, made)
    return CompiledGraph(
        name=graph.name or name,
        fx=linked(known, ge) if fx is None else known,
        ge=ge,
        fx_is_complete=fx is not None,
        attributes=read_attributes(graph.attr),
    )
