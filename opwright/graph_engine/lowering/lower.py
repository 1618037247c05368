"""A graph, for inputs of given shapes -> one FX graph of ATen operators.

First the nodes are walked with fake tensors: what depends on constants, host inputs and shapes only
is computed, everything else gets a shape and a dtype. Then the calls that remain are traced.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from opwright.graph_engine.errors import GraphFormError, KernelRunError
from opwright.graph_engine.graph.model import (
    CONSTANTS,
    INPUTS,
    OUTPUT,
    VARIABLES,
    Source,
    find_port,
)
from opwright.graph_engine.lowering.agreement import check_outputs
from opwright.graph_engine.lowering.binding import Call, bind, kernel_of
from opwright.graph_engine.lowering.simplify import simplify
from opwright.graph_engine.lowering.variables import Variables
from opwright.graph_engine.tensors.specs import Spec, spec_of, spec_text
from opwright.graph_report.compiled import observe
from opwright.internals.fake_tensors import FakeTensorMode
from opwright.kit.shipped._internals import FakeTensor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from opwright.graph_engine.graph.model import GeGraph, Node

__all__ = ["Calls", "Lowered", "Observer", "inputs_of", "lower"]

# How kernels, and the operators of torch that they call, refuse what they are given.
REJECTIONS = (
    RuntimeError,
    ValueError,
    TypeError,
    LookupError,
    AssertionError,
    ArithmeticError,
    AttributeError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowered:
    """A graph for inputs of given shapes.

    Parameters
    ----------
    module
        Takes the tensors that `inputs` names and then `constants`; returns the outputs.
    inputs
        Indices of the graph's inputs that are not known on the host.
    specs
        Shape and dtype of each of these.
    outputs
        Shape and dtype of each output.
    calls
        What was traced, if it is to be run node by node.
    """

    module: torch.fx.GraphModule
    inputs: tuple[int, ...]
    specs: tuple[Spec, ...]
    constants: tuple[torch.Tensor, ...]
    outputs: tuple[Spec, ...]
    calls: Calls | None = None


class Observer(Protocol):
    """Whoever looks at the tensors of a run."""

    def before(
        self, node: Node, values: Mapping[Source, torch.Tensor], written: Sequence[Source]
    ) -> None:
        """Look at the inputs of a node that is about to run, and may write some of them."""

    def after(self, node: Node, results: Mapping[Source, torch.Tensor]) -> None:
        """Look at what a node has computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """The calls that a run of a graph consists of.

    Parameters
    ----------
    sources
        What the tensors of a run are.
    constants
        The values of those at the end.
    known
        Every tensor whose values were known before.
    """

    calls: tuple[Call, ...]
    sources: tuple[Source, ...]
    constants: Mapping[Source, torch.Tensor]
    known: Mapping[Source, torch.Tensor]
    results: tuple[Source, ...]

    def trace(self, tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """Run them with a tensor for each source."""
        return self.compute(dict(zip(self.sources, tensors, strict=True)), None)

    def run(
        self, tensors: Sequence[torch.Tensor], observer: Observer | None
    ) -> tuple[torch.Tensor, ...]:
        """Run them with tensors of which those that are no constants count."""
        count = len(self.sources) - len(self.constants)
        values = dict(zip(self.sources[:count], tensors[:count], strict=True))
        return self.compute({**self.known, **values, **self.constants}, observer)

    def compute(
        self, values: dict[Source, torch.Tensor], observer: Observer | None
    ) -> tuple[torch.Tensor, ...]:
        """Run them, beginning with these values."""
        written = dict.fromkeys(s for call in self.calls for s in find_written(call))
        for source in written:  # the next run begins with the constant as it is
            if source in self.constants:
                values[source] = values[source].clone()
        for call in self.calls:
            if observer is not None:
                observer.before(call.node, values, find_written(call))
            results = results_of(call, call_kernel(call, values))
            values.update(results)
            if observer is not None:
                observer.after(call.node, results)
        return tuple(values[source] for source in self.results)


def inputs_of(graph: GeGraph) -> tuple[Node, ...]:
    """Return the Data nodes by index.

    Raises
    ------
    GraphFormError
        OPW-N001: indices that are not 0, 1, 2, ….
    """
    nodes = sorted(graph.of_type(*INPUTS), key=lambda node: node.index)
    indices = [node.index for node in nodes]
    if indices != list(range(len(nodes))):
        raise GraphFormError(
            where=f"graph '{graph.name}'", got=f"Data nodes with indices {indices}"
        )
    return tuple(nodes)


def lower(
    graph: GeGraph,
    inputs: Sequence[torch.Tensor],
    *,
    on_host: Sequence[bool],
    variables: Variables | None = None,
    trust_meta: bool = True,
    keep_calls: bool = False,
) -> Lowered:
    """Lower a graph.

    Parameters
    ----------
    inputs
        Fake tensors; real ones where `on_host` is true.
    variables
        Those of the session; their tensors are constants that keep what is written.
    trust_meta
        What Meta says of shapes holds for these inputs.
    keep_calls
        The graph is to be run node by node.

    Raises
    ------
    MissingKernelError, KernelArgumentError, KernelRunError, GraphFormError
        OPW-N002, OPW-N003, OPW-N004, OPW-N001.
    """
    walk = Walk(next((i.fake_mode for i in inputs if isinstance(i, FakeTensor)), FakeTensorMode()))
    placeholders: list[tuple[int, Source]] = []
    for index, (node, tensor) in enumerate(zip(inputs_of(graph), inputs, strict=True)):
        source = Source(node.name, 0)
        if on_host[index]:
            walk.known[source] = tensor
        else:
            walk.fake[source] = tensor
            placeholders.append((index, source))
    kept = walk.keep(graph.of_type(*VARIABLES), variables or Variables())
    for node in graph.nodes:
        walk.visit(node)
    observe.infer(graph.name, walk.tensors())
    results = outputs_of(graph)
    if trust_meta:
        check_outputs(graph, results, walk.find)
    constants = {source: walk.known[source] for source in walk.wanted(results)}
    calls = Calls(
        calls=tuple(walk.calls),
        sources=(*(source for _, source in placeholders), *kept, *constants),
        constants=constants,
        known=walk.known,
        results=results,
    )
    examples = [walk.value(source) for source in calls.sources]
    with walk.mode:
        examples = [e if isinstance(e, FakeTensor) else walk.mode.from_tensor(e) for e in examples]

    def run(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return calls.trace(tensors)

    module = make_fx(run, tracing_mode="real", _allow_non_fake_inputs=True)(*examples)
    return Lowered(
        module=module,
        inputs=tuple(index for index, _ in placeholders),
        specs=tuple(spec_of(walk.value(source)) for _, source in placeholders),
        constants=(*kept.values(), *simplify(module, list(constants.values()))),
        outputs=tuple(spec_of(walk.value(source)) for source in results),
        calls=calls if keep_calls else None,
    )


def outputs_of(graph: GeGraph) -> tuple[Source, ...]:
    """Return what the graph answers.

    Raises
    ------
    GraphFormError
        OPW-N001: not one NetOutput.
    """
    ends = graph.of_type(OUTPUT)
    if len(ends) != 1:
        raise GraphFormError(
            where=f"graph '{graph.name}'", got=f"{len(ends)} NetOutput nodes", allowed=["1"]
        )
    return tuple(source for _, source in ends[0].inputs if source is not None)


class Walk:
    """The tensors of a graph that are known so far."""

    def __init__(self, mode: FakeTensorMode) -> None:
        self.mode = mode
        self.known: dict[Source, torch.Tensor] = {}
        self.fake: dict[Source, torch.Tensor] = {}
        self.calls: list[Call] = []

    def value(self, source: Source) -> torch.Tensor:
        """Return a tensor, real if its values are known.

        Raises
        ------
        GraphFormError
            OPW-N001: its node computes no such output.
        """
        found = self.find(source)
        if found is None:
            raise GraphFormError(
                where=f"node '{source.node}'",
                got=f"no output {source.index}, which another node takes",
            )
        return found

    def find(self, source: Source) -> torch.Tensor | None:
        """Return a tensor; None for an output that its kernel left out."""
        found = self.known.get(source)
        return self.fake.get(source) if found is None else found

    def tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield the name of each tensor in the serialized graph, and the tensor."""
        for source, value in (*self.fake.items(), *self.known.items()):
            yield f"{source.node}:{source.index}", value

    def keep(self, nodes: Sequence[Node], variables: Variables) -> dict[Source, torch.Tensor]:
        """Return the tensors of variables; their values are those of the run."""
        kept = {Source(node.name, 0): variables.value(node) for node in nodes}
        for source, tensor in kept.items():
            self.fake[source] = self.mode.from_tensor(tensor)
        return kept

    def visit(self, node: Node) -> None:
        """Compute the node, or find out the shapes of its outputs."""
        if node.type in (*INPUTS, *VARIABLES, OUTPUT):
            return
        if node.type in CONSTANTS:
            self.known[Source(node.name, 0)] = constant_of(node)
            return
        kernel = kernel_of(node)
        call = bind(node, kernel, self.known)
        if kernel.of_shapes or (self.is_known(node) and not kernel.launches):
            for source in find_written(call):
                self.known[source] = self.known[source].clone()
            self.known.update(results_of(call, call_kernel(call, Values(self))))
            return
        with self.mode:
            self.fake.update(results_of(call, call_kernel(call, Values(self, self.mode))))
        self.calls.append(call)

    def is_known(self, node: Node) -> bool:
        """Whether the node can be computed now; those without inputs draw random numbers."""
        sources = [source for _, source in node.inputs if source is not None]
        return bool(sources) and all(source in self.known for source in sources)

    def wanted(self, results: Sequence[Source]) -> list[Source]:
        """Return the known tensors that the remaining calls or the outputs take."""
        taken = [
            s for call in self.calls for entry in call.tensors.values() for s in as_sources(entry)
        ]
        return [source for source in dict.fromkeys([*taken, *results]) if source in self.known]


class Values:
    """The tensors of a walk for a call: known ones as fake ones if a mode is given."""

    def __init__(self, walk: Walk, mode: FakeTensorMode | None = None) -> None:
        self.walk = walk
        self.mode = mode

    def __getitem__(self, source: Source) -> torch.Tensor:
        """Return a tensor."""
        value = self.walk.value(source)
        if self.mode is None or isinstance(value, FakeTensor):
            return value
        return self.mode.from_tensor(value)


def as_sources(entry: Source | tuple[Source, ...] | None) -> tuple[Source, ...]:
    """Return the sources of a call's argument."""
    if entry is None:
        return ()
    return (entry,) if isinstance(entry, Source) else entry


def find_written(call: Call) -> tuple[Source, ...]:
    """Return the inputs of a call that have the name of an output: the kernel may write them."""
    outputs = {find_port(spec.name, call.tensors) for spec in call.node.outputs}
    return tuple(s for name, e in call.tensors.items() if name in outputs for s in as_sources(e))


def constant_of(node: Node) -> torch.Tensor:
    """Return the value of a constant.

    Raises
    ------
    GraphFormError
        OPW-N001.
    """
    value = node.attributes.get("value")
    if not isinstance(value, torch.Tensor):
        raise GraphFormError(where=str(node), got="no tensor in the attribute 'value'")
    return value


def call_kernel(call: Call, values: Mapping[Source, torch.Tensor] | Values) -> object:
    """Run the kernel of a call.

    Raises
    ------
    KernelRunError
        OPW-N004.
    """
    tensors = {
        name: [values[s] for s in entry] if isinstance(entry, tuple) else entry and values[entry]
        for name, entry in call.tensors.items()
    }
    try:
        return call.function(**tensors, **call.constants)
    except REJECTIONS as error:
        shapes = ", ".join(f"{name} {render(value)}" for name, value in tensors.items())
        raise KernelRunError(where=str(call.node), got=f"{shapes}: {error}") from error


def render(value: object) -> str:
    """Return dtype and shape of an argument, for an error."""
    if isinstance(value, torch.Tensor):
        return spec_text(spec_of(value))
    if isinstance(value, list):
        return "[" + ", ".join(map(render, value)) + "]"
    return "none"


def results_of(call: Call, result: object) -> dict[Source, torch.Tensor]:
    """Return the tensors that a kernel answered, by output."""
    results = result if isinstance(result, tuple | list) else (result,)
    if len(results) < len(call.node.outputs):
        raise KernelRunError(
            where=str(call.node),
            got=f"{len(results)} results",
            allowed=[str(len(call.node.outputs))],
        )
    return {
        Source(call.node.name, index): value
        for index, value in enumerate(results)
        if value is not None
    }
