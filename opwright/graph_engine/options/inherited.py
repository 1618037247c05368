"""Options of GE and of a session, which hold for all graphs after them.

TorchAir initializes GE and makes its session once per process, with what the first configuration
asks for, and takes a failure there for one of every later graph. So these options are kept as they
are, and a graph is refused only if its own configuration asks for one that is not available. Of a
graph that TorchAir did not make the options are those of its maker.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from opwright.graph_engine.errors import OptionError, UnknownOptionError
from opwright.graph_engine.options.options import check_options
from opwright.graph_report.compiled.observe import concrete_graph, walk_outward

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = ["select_available"]

# Names of the graph and its options in the code that TorchAir generates for a graph.
GENERATED_GRAPH = "ge_graph"
GENERATED_OPTIONS = "global_compile_options"


def select_available(graph: str, inherited: Mapping[str, str]) -> dict[str, str]:
    """Return what holds for a graph of this name.

    Raises
    ------
    UnknownOptionError, OptionError
        OPW-N008, OPW-N006: an option that the graph's configuration asks for.
    """
    found: dict[str, str] = {}
    asked: Collection[str] | None = None
    for name, value in inherited.items():
        try:
            check_options("the engine", {name: value})
        except (UnknownOptionError, OptionError):
            asked = find_requested_options(graph, inherited) if asked is None else asked
            if name in asked:
                raise
        else:
            found[name] = value
    return found


def find_requested_options(graph: str, inherited: Mapping[str, str]) -> Collection[str]:
    """Return the options for the engine that the configuration of a graph names."""
    concrete = concrete_graph(graph)
    if concrete is not None:
        _, options = concrete.config.as_dict()
        return set(options)
    return find_generated_options(graph) or set(inherited)


def find_generated_options(graph: str) -> Collection[str]:
    """Return the options in the generated code that is compiling a graph, which caches keep."""
    for frame in sys._current_frames().values():  # noqa: SLF001 - documented
        for each in walk_outward(frame):
            owner = each.f_globals.get(GENERATED_GRAPH)
            if getattr(owner, "name", None) == graph:
                return set(each.f_globals.get(GENERATED_OPTIONS, ()))
    return set()
