"""Operators that call graphs: which graph runs, and how often, depends on values of a run.

That cannot be traced. A call is one operator of the traced graph, `opwright_engine::control`, which
finds the node's graphs by a number, lowered for the shapes that the node was met with.
"""

from __future__ import annotations

import threading
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import torch

from opwright.graph_engine.errors import GraphFormError, KernelRunError, MetaError
from opwright.graph_engine.graph.model import INPUTS, GeGraph
from opwright.graph_engine.tensors.specs import Spec, spec_of, spec_text
from opwright.internals.fake_tensors import FakeTensorMode
from opwright.internals.modes import disable_current_modes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.graph_engine.graph.model import Node
    from opwright.graph_engine.lowering.lower import Lowered

__all__ = ["call_graphs"]

Specs = tuple[Spec, ...]
Tensors = list[torch.Tensor]
LOOPS = ("While", "StatelessWhile", "_While")


class Part:
    """A graph that a node calls, for inputs of given shapes.

    Parameters
    ----------
    positions
        Of each Data node, which operand it is: a graph may leave operands alone.
    """

    def __init__(self, lowered: Lowered, positions: Sequence[int]) -> None:
        self.lowered = lowered
        self.positions = [positions[index] for index in lowered.inputs]

    def __call__(self, tensors: Sequence[torch.Tensor]) -> Tensors:
        """Run it. The results are new tensors, whatever it answers."""
        given = [*(tensors[index] for index in self.positions), *self.lowered.constants]
        taken = {tensor.data_ptr() for tensor in given}
        results = self.lowered.module(*given)
        return [each.clone() if each.data_ptr() in taken else each for each in results]


class Control:
    """A node that calls graphs."""

    def __init__(self, node: Node) -> None:
        self.where = str(node)
        self.loops = node.type in LOOPS
        self.graphs = node.subgraphs
        self.outputs = len(node.outputs)
        self.parts: dict[tuple[int, Specs], Part] = {}
        self.lock = threading.RLock()

    def part(self, index: int, specs: Specs) -> Part:
        """Return one of the graphs, for operands of these shapes."""
        with self.lock:
            found = self.parts.get((index, specs))
            if found is None:
                found = self.parts[index, specs] = self.lower(self.graphs[index], specs)
            return found

    def lower(self, graph: GeGraph, specs: Specs) -> Part:
        """Lower a graph, whatever is being traced around it."""
        from opwright.graph_engine.lowering.lower import lower  # noqa: PLC0415 - its kernels are made here

        plain, positions = number_inputs(graph)
        if positions and positions[-1] >= len(specs):
            raise GraphFormError(
                where=f"{self.where}, graph '{graph.name}'",
                got=f"a Data node with index {positions[-1]}",
                allowed=[f"0 to {len(specs) - 1}, which the node passes"],
            )
        with disable_current_modes():
            with FakeTensorMode(allow_non_fake_inputs=True):
                fakes = [torch.empty(specs[i][0], dtype=specs[i][1]) for i in positions]
            return Part(lower(plain, fakes, on_host=[False] * len(fakes)), positions)

    def results(self, specs: Specs) -> Specs:
        """Return the outputs, which are the same whichever graph runs.

        Raises
        ------
        MetaError
            OPW-N007.
        """
        answers = [self.part(index, specs).lowered.outputs for index in range(len(self.graphs))]
        wanted = specs if self.loops else answers[0]
        for graph, answer in zip(self.graphs[self.loops :], answers[self.loops :], strict=True):
            if answer != wanted:
                raise MetaError(
                    where=f"{self.where}, graph '{graph.name}'",
                    got=f"outputs {render(answer)}",
                    allowed=[f"{render(wanted)}, as the other graph or the operands have them"],
                    fix="make the graphs of one node answer the same shapes and dtypes",
                )
        if len(wanted) != self.outputs:
            raise MetaError(
                where=self.where, got=f"{self.outputs} outputs", allowed=[str(len(wanted))]
            )
        return wanted

    def run(self, choice: Tensors, operands: Tensors) -> Tensors:
        """Run the graph that the values choose, or run one as long as they say."""
        specs = specs_of(operands)
        if not self.loops:
            return self.part(self.chosen(choice), specs)(operands)
        condition, body = self.part(0, specs), self.part(1, specs)
        values = operands
        while is_true(condition(values)[0]):
            values = body(values)
        return [each.clone() for each in values] if values is operands else values

    def chosen(self, choice: Tensors) -> int:
        """Return the index of the graph that runs: of If, 0 is the one for true."""
        if not choice:
            return 0
        if len(self.graphs) == 2 and choice[0].dtype == torch.bool:  # noqa: PLR2004 - If
            return 0 if is_true(choice[0]) else 1
        index = int(choice[0].item())
        return index if 0 <= index < len(self.graphs) else len(self.graphs) - 1


def number_inputs(graph: GeGraph) -> tuple[GeGraph, list[int]]:
    """Return a graph whose Data nodes count 0, 1, 2, …, and what their indices were."""
    data = graph.of_type(*INPUTS)
    positions = sorted(node.index for node in data)

    def renumbered(node: Node) -> Node:
        if node not in data:
            return node
        index = positions.index(node.index)
        return replace(node, attributes={**node.attributes, "index": index})

    if positions == list(range(len(positions))):
        return graph, positions
    nodes = tuple(map(renumbered, graph.nodes))
    return GeGraph(name=graph.name, nodes=nodes, attributes=graph.attributes), positions


def is_true(condition: torch.Tensor) -> bool:
    """Return the truth of a condition: a single value itself, more than one by being there.

    >>> is_true(torch.tensor(0.0)), is_true(torch.tensor([False, False])), is_true(torch.ones(0))
    (False, True, False)
    """
    return bool(condition.item()) if condition.numel() == 1 else condition.numel() > 0


def specs_of(tensors: Sequence[torch.Tensor]) -> Specs:
    """Return shape and dtype of each tensor."""
    return tuple(map(spec_of, tensors))


def render(specs: Specs) -> str:
    """Return shapes and dtypes, for an error."""
    return f"({', '.join(map(spec_text, specs))})"


# By the id of the node, as long as it lives.
controls: dict[int, Control] = {}


def call_graphs(
    node: Node, operands: Tensors, choice: torch.Tensor | None = None, *, graphs: int | None = None
) -> tuple[torch.Tensor, ...]:
    """Return what a control-flow node answers.

    Parameters
    ----------
    choice
        Says which graph runs, if there is a choice.
    graphs
        How many graphs the node calls; None: at least one.

    Raises
    ------
    GraphFormError
        OPW-N001: it calls more graphs, or less.
    """
    if not node.subgraphs or graphs not in (None, len(node.subgraphs)):
        raise GraphFormError(
            where=str(node),
            got=f"{len(node.subgraphs)} graphs",
            allowed=["at least 1" if graphs is None else str(graphs)],
        )
    key = id(node)
    if key not in controls:
        controls[key] = Control(node)
        weakref.finalize(node, controls.pop, key, None)
    chosen = [] if choice is None else [choice]
    found: Tensors = torch.ops.opwright_engine.control(key, len(chosen), [*chosen, *operands])
    return tuple(found)


def control_of(key: int) -> Control:
    """Return a node's graphs."""
    found = controls.get(key)
    if found is None:
        raise KernelRunError(where="a control-flow node", got="a run after its graph was removed")
    return found


def fake(key: int, choices: int, tensors: Tensors) -> Tensors:
    """Return outputs without values."""
    specs = control_of(key).results(specs_of(tensors[choices:]))
    return [torch.empty(shape, dtype=dtype) for shape, dtype in specs]


def real(key: int, choices: int, tensors: Tensors) -> Tensors:
    """Run a node."""
    control = control_of(key)
    control.results(specs_of(tensors[choices:]))
    return control.run(tensors[:choices], tensors[choices:])


library: Any = cast("Any", torch.library).Library("opwright_engine", "FRAGMENT")  # it has no types
library.define("control(int key, int choices, Tensor[] tensors) -> Tensor[]")
library.impl("control", real, "CompositeExplicitAutograd")
torch.library.register_fake("opwright_engine::control", fake, lib=library)
