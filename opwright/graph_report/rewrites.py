"""In the process that captures: name rewrites of a compiler that change what a graph computes.

The in-place passes of torch_npu turn `b = a - c` into `a.sub_(c)` where nobody uses `a` afterwards.
They look whether `c` is the same node as `a`, not whether it is another view of the same memory.
Then the operator reads elements that it has already written, and the result depends on the order
in which a kernel goes through them. The twin finds such launches when they are captured, by their
memory (`native/nnopbase/overlap.h`). Here the node of the FX graph is found that each one came
from: torch_npu keeps it in the object that runs the compiled graph, which is on the stack.
"""

from __future__ import annotations

import json
import sys
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from opwright.graph_report.compiled.fx import source_text, target_text
from opwright.internals.modules import ACL_GRAPH, ACL_GRAPH_OF_NPUGRAPH_EX

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import FrameType

    from torch.fx import GraphModule, Node

__all__ = ["InPlaceRewriteWarning", "warn"]


class InPlaceRewriteWarning(UserWarning):
    """A compiled graph computes in place what reads its own result: the numbers may be wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiler:
    """How to switch the in-place passes of a compiler off."""

    of_values: str
    of_inputs: str


NPUGRAPH_EX = Compiler(
    of_values='options={"inplace_pass": False}',
    of_inputs='options={"input_inplace_pass": False}',
)
TORCHAIR = Compiler(
    of_values="config.debug.aclgraph.disable_reinplace_inplaceable_ops_pass = True",
    of_inputs="config.debug.aclgraph.disable_reinplace_input_mutated_ops_pass = True",
)
CAPTURING = {
    ACL_GRAPH_OF_NPUGRAPH_EX: NPUGRAPH_EX,
    ACL_GRAPH: TORCHAIR,
}


def warn(found: str) -> None:
    """Warn of launches that depend on the order of elements, if a compiled graph was captured.

    Called by libascendcl when a capture ends, on the thread that ends it.

    Parameters
    ----------
    found
        The launches, as JSON: `native/runtime/streams/capture/order.cpp`.
    """
    captured = find_compiled_graph()
    if captured is None:
        return  # an operator that the program itself calls in place
    compiler, module = captured
    lines = [line for launch in json.loads(found) for line in describe(launch, compiler, module)]
    warnings.warn("\n".join(lines), InPlaceRewriteWarning, stacklevel=2)


def find_compiled_graph() -> tuple[Compiler, GraphModule | None] | None:
    """Return the compiler that captures on this thread, and its graph after all passes.

    A graph that was compiled earlier and read from a file has no FX graph any more.
    """
    compiler = None
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - documented
    while frame is not None:
        if compiler is None and frame.f_code.co_name == "capture":
            compiler = CAPTURING.get(frame.f_globals.get("__name__", ""))
        elif compiler is not None and frame.f_code.co_name == "__call__":
            runner = getattr(frame.f_locals.get("self"), "runner", None)
            module = getattr(runner, "fx_graph", None)
            if module is not None:
                return compiler, module
        frame = frame.f_back
    return None if compiler is None else (compiler, None)


def describe(
    launch: Mapping[str, Any], compiler: Compiler, module: GraphModule | None
) -> Iterator[str]:
    """Yield the lines about one launch."""
    written, read = (operand_text(launch[each]) for each in ("written", "read"))
    yield (
        f"{launch['operation']} (launch {launch['launch']} of the captured graph) writes {written} "
        f"while it reads {read}, another view of the same memory: the result depends on the order "
        "in which a kernel goes through the elements, on an NPU as here."
    )
    nodes = [] if module is None else list(in_place_nodes(launch, module))
    for node in nodes:
        origin = source_text(node.stack_trace or "") or "an operator that is not in place"
        yield (
            f"  node {node.name} = {target_text(node.target)}{node.args}, which torch_npu's "
            f"in-place pass has made of {origin}"
        )
    of_input = bool(nodes) and all(is_input(node) for node in nodes)
    yield f"  fix: compile with {compiler.of_inputs if of_input else compiler.of_values}"


def operand_text(operand: Mapping[str, Any]) -> str:
    """Name an operand, with the geometry of its view."""
    return (
        f"{operand['parameter']} {operand['dtype']}{operand['shape']} "
        f"with strides {operand['strides']} from element {operand['offset']}"
    )


def in_place_nodes(launch: Mapping[str, Any], module: GraphModule) -> Iterator[Node]:
    """Yield the nodes that write and read tensors of the launch's shapes.

    Several are found if the graph does the same more than once.
    """
    wanted = tuple(launch["written"]["shape"]), tuple(launch["read"]["shape"])
    for node in module.graph.nodes:
        written = find_written_argument(node)
        if written is None or shape_of(written) != wanted[0]:
            continue
        others = (each for each in node.all_input_nodes if each is not written)
        if any(shape_of(each) == wanted[1] for each in others):
            yield node


def find_written_argument(node: Node) -> Node | None:
    """Return the first argument of an operator that computes in place; None for other nodes."""
    schema = getattr(node.target, "_schema", None)
    if schema is None or not schema.arguments or not node.args:
        return None
    alias = schema.arguments[0].alias_info
    if alias is None or not alias.is_write or not hasattr(node.args[0], "all_input_nodes"):
        return None
    return cast("Node", node.args[0])


def shape_of(node: Node) -> tuple[int, ...] | None:
    """Return the shape of what a node returns, if it is one tensor."""
    shape = getattr(node.meta.get("val"), "shape", None)
    return None if shape is None else tuple(shape)


def is_input(node: Node) -> bool:
    """Return whether a node computes in place on an input of the graph."""
    written = find_written_argument(node)
    return written is not None and written.op in ("placeholder", "get_attr")
