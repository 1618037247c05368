"""Compiled graphs: one for each combination of input shapes and host values that was run."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import torch

from opwright.graph_engine.errors import InputError
from opwright.graph_engine.graph.model import CONSTANTS, INPUTS, OUTPUT, VARIABLES, WRITTEN_INPUT
from opwright.graph_engine.lowering.binding import kernel_of
from opwright.graph_engine.lowering.lower import inputs_of, lower
from opwright.graph_engine.lowering.tracing import hold_trace_lock
from opwright.graph_engine.lowering.variables import Variables
from opwright.graph_engine.options.settings import Settings
from opwright.graph_engine.running.program import program_of
from opwright.graph_engine.running.runner import Runner
from opwright.graph_engine.tensors.layouts import LAYOUTS, find_layout, usual_c0
from opwright.internals.fake_tensors import FakeTensorMode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from opwright.graph_engine.graph.model import GeGraph, Node, TensorSpec
    from opwright.graph_engine.lowering.lower import Lowered
    from opwright.graph_engine.running.dumping import Dumper
    from opwright.graph_engine.running.program import Program
    from opwright.graph_engine.tensors.layouts import Layout

    Compiler = Callable[[Lowered], Program]

__all__ = ["CompiledGraph", "Input"]

# TorchAir's note at a graph of where each input lies.
PLACEMENTS = "_input_placements"
ON_HOST = 0
SIZES = (torch.int32, torch.int64)
MOST_BYTES = 2**62  # of a tensor
MOST_SHAPES = 64  # that are kept for one graph; the one that was not used for longest goes first


@dataclass(frozen=True, slots=True)
class Input:
    """An input of a run.

    Parameters
    ----------
    value
        The tensor, if its values are known when the run is prepared.
    layout
        How the elements lie in memory, for a tensor in a private format.
    """

    shape: tuple[int, ...]
    dtype: torch.dtype
    value: torch.Tensor | None
    layout: Layout | None = None

    @property
    def key(self) -> object:
        """The properties that decide which compiled graph fits."""
        return (
            self.shape,
            self.dtype,
            None if self.value is None else tuple(self.value.flatten().tolist()),
            self.layout,
        )


class CompiledGraph:
    """A graph that can be run with inputs of any shape that it allows.

    Parameters
    ----------
    compile_
        Makes a program of a graph that was lowered.
    variables
        Those of the session.
    settings
        What the graph's options change.
    dumper
        Takes the tensors of its nodes.

    Raises
    ------
    MissingKernelError
        OPW-N002, as soon as the graph is made: which node has no kernel.
    """

    def __init__(
        self,
        graph: GeGraph,
        compile_: Compiler = program_of,
        *,
        variables: Variables | None = None,
        settings: Settings | None = None,
        dumper: Dumper | None = None,
    ) -> None:
        self.graph = graph
        self.compile = compile_
        self.dumper = dumper
        self.variables = variables or Variables()
        self.settings = settings or Settings()
        self.inputs = inputs_of(graph)
        self.lock = threading.Lock()
        self.runners: OrderedDict[object, Runner] = OrderedDict()
        computed = [
            kernel_of(node)
            for node in graph.nodes
            if node.type not in (*INPUTS, *VARIABLES, *CONSTANTS, OUTPUT)
        ]
        self.launches = any(kernel.launches for kernel in computed)

    @property
    def written_inputs(self) -> list[int]:
        """The places of the inputs that nodes write."""
        return [place for place, node in enumerate(self.inputs) if node.type == WRITTEN_INPUT]

    @property
    def is_static(self) -> bool:
        """Whether the outputs, or the largest of them, are known before a run."""
        return self.is_fixed or self.settings.gears is not None

    @property
    def is_fixed(self) -> bool:
        """Whether the graph says all shapes of its inputs."""
        specs = [node.outputs[0] for node in self.inputs]
        return not self.takes_sizes and all(
            spec.shape is not None and min(spec.shape, default=0) >= 0 for spec in specs
        )

    @property
    def takes_sizes(self) -> bool:
        """Whether an input may hold sizes: integers on the host, as TorchAir passes symbols."""
        placements = cast("Sequence[int]", self.graph.attributes.get(PLACEMENTS, ()))
        return any(
            placement == ON_HOST and node.outputs[0].dtype in SIZES
            for placement, node in zip(placements, self.inputs, strict=False)
        )

    def static_inputs(self) -> list[Input]:
        """Return the inputs that a static graph describes, or those of its largest gear."""
        gears = self.settings.gears
        largest = {} if gears is None else gears.largest
        specs = [node.outputs[0] for node in self.inputs]
        shapes = [largest.get(index, spec.shape or ()) for index, spec in enumerate(specs)]
        return [
            Input(shape_in_memory(spec, shape), spec.dtype or torch.float32, None)
            for shape, spec in zip(shapes, specs, strict=True)
        ]

    def specialize(self, inputs: Sequence[Input]) -> Runner:
        """Return the graph for these inputs, lowered and compiled at most once.

        Raises
        ------
        InputError
            OPW-N005.
        """
        inputs = [
            self.describe(node, each) for node, each in zip(self.inputs, inputs, strict=False)
        ] + [*inputs[len(self.inputs) :]]
        self.check(inputs)
        key = tuple(given.key for given in inputs)
        found = self.kept(key)
        if found is None:
            with hold_trace_lock():
                found = self.kept(key)  # another thread may have been first
                if found is None:
                    layouts = {i: e.layout for i, e in enumerate(inputs) if e.layout is not None}
                    found = self.runner(self.lower(inputs), layouts)
                    self.keep(key, found)
        return found

    def runner(self, lowered: Lowered, layouts: Mapping[int, Layout]) -> Runner:
        """Return what runs a graph that was lowered; node by node if it is dumped."""
        if self.dumper is None or lowered.calls is None:
            return Runner(lowered, self.compile(lowered), layouts)
        return Runner(lowered, self.dumper.program(lowered.calls), layouts, by_node=True)

    def kept(self, key: object) -> Runner | None:
        """Return the program for these inputs, if there is one; it is then the last one used."""
        with self.lock:
            found = self.runners.get(key)
            if found is not None:
                self.runners.move_to_end(key)
            return found

    def keep(self, key: object, runner: Runner) -> None:
        """Keep a program, in place of the one that was not used for longest if there are many."""
        with self.lock:
            self.runners[key] = runner
            while len(self.runners) > MOST_SHAPES:
                self.runners.popitem(last=False)

    def describe(self, node: Node, given: Input) -> Input:
        """Return the input as its descriptor has it.

        TorchAir passes a scalar as one element, and a tensor in a private format as it lies in
        memory.
        """
        spec = node.outputs[0]
        if spec.format in LAYOUTS and spec.shape is not None and given.value is None:
            try:
                layout = find_layout(spec.format, spec.shape, given.shape)
            except ValueError as error:
                where = f"graph '{self.graph.name}', {node}"
                raise InputError(where=where, got=str(error)) from error
            return Input(spec.shape, given.dtype, None, layout)
        if spec.shape != () or given.shape != (1,):
            return given
        value = None if given.value is None else given.value.reshape(())
        return Input((), given.dtype, value)

    def lower(self, inputs: Sequence[Input]) -> Lowered:
        """Lower the graph."""
        mode = FakeTensorMode(allow_non_fake_inputs=True)
        with mode:
            fakes = [torch.empty(given.shape, dtype=given.dtype) for given in inputs]
        tensors = [f if g.value is None else g.value for f, g in zip(fakes, inputs, strict=True)]
        return lower(
            self.graph,
            tensors,
            on_host=[given.value is not None for given in inputs],
            variables=self.variables,
            # Meta saw the first run, whose gear need not be this one.
            trust_meta=self.settings.gears is None,
            keep_calls=self.dumper is not None,
        )

    def check(self, inputs: Sequence[Input]) -> None:
        """Raise InputError (OPW-N005) if the inputs are not those that the graph describes."""
        where = f"graph '{self.graph.name}'"
        if len(inputs) != len(self.inputs):
            raise InputError(
                where=where, got=f"{len(inputs)} inputs", allowed=[str(len(self.inputs))]
            )
        for node, given in zip(self.inputs, inputs, strict=True):
            spec = node.outputs[0]
            if spec.dtype not in (None, given.dtype):
                raise InputError(
                    where=f"{where}, {node}", got=str(given.dtype), allowed=[str(spec.dtype)]
                )
            # Sizes of 0 do not keep strides small.
            strides = math.prod(max(size, 1) for size in given.shape)
            too_large = strides * given.dtype.itemsize > MOST_BYTES
            if too_large or (spec.shape is not None and not is_allowed(given.shape, spec.shape)):
                raise InputError(
                    where=f"{where}, {node}",
                    got=f"shape {list(given.shape)}",
                    allowed=[str(list(spec.shape or ()))],
                )
        gears = self.settings.gears
        shapes = [given.shape for given in inputs]
        if gears is not None and not gears.has(shapes):
            raise InputError(
                where=f"{where}, gears", got=str([*map(list, shapes)]), allowed=[str(gears)]
            )


def shape_in_memory(spec: TensorSpec, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape in which torch_npu lays out a tensor of a descriptor."""
    if spec.format not in LAYOUTS:
        return shape
    return LAYOUTS[spec.format](shape, usual_c0(spec.dtype or torch.float32)).stored


def is_allowed(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether a shape is one of those that a descriptor allows."""
    return len(shape) == len(wanted) and all(
        w < 0 or s == w for s, w in zip(shape, wanted, strict=True)
    )
