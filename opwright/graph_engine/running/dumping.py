"""Data dumps: the inputs and outputs of a graph's nodes, written while it runs.

The files are written by the native side (native/runtime/data_dump), which does the same for single
operators. What is dumped comes from the options of GE (ge.exec.enableDump and those beside it), or
from aclmdlSetDump, whose file counts for the graphs that it names. A graph that is dumped runs node
by node.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import json
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import torch
from torch.nn import functional

from opwright.graph_engine.errors import OptionError
from opwright.graph_engine.options.options import read_steps
from opwright.graph_engine.tensors.four_bits import code_of, is_four_bits, pack
from opwright.twin.user_kernels.dtypes import RUNTIME_CODES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from opwright.graph_engine.graph.model import GeGraph, Node, Source
    from opwright.graph_engine.lowering.lower import Calls
    from opwright.graph_engine.running.program import Program

__all__ = ["DumpPlan", "Dumper", "overflows", "plan_for"]

UNDEFINED = 28  # aclDataType: one that ACL has no name for


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpPlan:
    """The choice of what to dump of one graph.

    Parameters
    ----------
    folder
        Where its files go: the folder of a configuration and the time at which it began.
    statistics
        Write a table of statistics in place of the tensors.
    steps
        The runs that are dumped, counted from 0; none: all.
    layers
        The nodes that are dumped, by name or type; none: all.
    overflowed
        Dump only nodes that give an infinity or a NaN.
    """

    folder: str
    inputs: bool
    outputs: bool
    statistics: bool
    steps: tuple[range, ...] = ()
    layers: frozenset[str] = frozenset()
    overflowed: bool = False

    def has_step(self, step: int) -> bool:
        """Return whether this run is dumped."""
        return not self.steps or any(step in each for each in self.steps)

    def has_node(self, node: Node) -> bool:
        """Return whether this node is dumped."""
        return not self.layers or node.name in self.layers or node.type in self.layers

    def has_outputs(self, outputs: Iterable[torch.Tensor]) -> bool:
        """Return whether a node with these outputs is dumped."""
        return not self.overflowed or any(overflows(each) for each in outputs)


def plan_for(graph: GeGraph, options: Mapping[str, str]) -> DumpPlan | None:
    """Return what is dumped of a graph that is compiled now; None for nothing.

    Raises
    ------
    OptionError
        OPW-N006: a folder that does not exist or cannot be written to, or a dump that the twin
        cannot make.
    """
    plan = find_configured_plan(graph.name) or plan_of_options(graph, options)
    if plan is not None:
        report_missing_layers(graph, plan)
    return plan


def find_configured_plan(name: str) -> DumpPlan | None:
    """Return what aclInit or aclmdlSetDump has configured for graphs of this name.

    Raises
    ------
    OptionError
        OPW-N006: the configuration asks for what the twin cannot dump. Only the first graph after
        it is refused.
    """
    text = runtime().opwright_dump_plan(name.encode())
    if not text:
        return None
    found = json.loads(text)
    if "refusal" in found:
        raise OptionError(
            where=f"graph '{name}', the file of aclmdlSetDump",
            got=found["refusal"],
            allowed=["the keys in docs/graph_engine.md#data-dumps"],
        )
    return DumpPlan(
        folder=found["folder"],
        inputs=bool(found["inputs"]),
        outputs=bool(found["outputs"]),
        statistics=bool(found["statistics"]),
        steps=read_steps(found["steps"]),
        layers=frozenset(found["layers"]),
        overflowed=bool(found["overflowed"]),
    )


def plan_of_options(graph: GeGraph, options: Mapping[str, str]) -> DumpPlan | None:
    """Return what the options of GE ask for. Without a mode it is the outputs, as in CANN.

    Raises
    ------
    OptionError
        OPW-N006: dumps of all nodes and of those that overflow are both asked for, or the folder
        does not exist or cannot be written to.
    """
    every = options.get("ge.exec.enableDump") == "1"
    overflowed = options.get("ge.exec.enableDumpDebug") == "1"
    if every and overflowed:
        raise OptionError(
            where=f"graph '{graph.name}', option 'ge.exec.enableDumpDebug'",
            got="'1' beside 'ge.exec.enableDump'",
            allowed=["one of the two"],
        )
    if not (every or overflowed):
        return None
    mode = "all" if overflowed else options.get("ge.exec.dumpMode", "output")
    return DumpPlan(
        folder=folder_for(options.get("ge.exec.dumpPath", "."), graph),
        inputs=mode != "output",
        outputs=mode != "input",
        statistics=options.get("ge.exec.dumpData") == "stats",
        steps=read_steps(options.get("ge.exec.dumpStep", "")),
        layers=frozenset(options.get("ge.exec.dumpLayer", "").split()),
        overflowed=overflowed,
    )


# Of this process: absolute path -> the folder below it, which has the time of its first use.
folders: dict[Path, str] = {}
folders_lock = threading.Lock()


def folder_for(path: str, graph: GeGraph) -> str:
    """Return the folder for dumps below a path.

    Raises
    ------
    OptionError
        OPW-N006.
    """
    place = Path(path).absolute()
    with folders_lock:
        if place not in folders:
            failed = ctypes.c_int32()
            text = runtime().opwright_dump_folder(bytes(place), ctypes.byref(failed)).decode()
            if failed.value:
                raise OptionError(
                    where=f"graph '{graph.name}', option 'ge.exec.dumpPath'",
                    got=text,
                    allowed=["a folder that exists and can be written to"],
                )
            folders[place] = text
        return folders[place]


def report_missing_layers(graph: GeGraph, plan: DumpPlan) -> None:
    """Say on standard error which nodes that should be dumped the graph does not have."""
    missing = plan.layers - {name for node in graph.nodes for name in (node.name, node.type)}
    if missing:
        names = ", ".join(sorted(missing))
        sys.stderr.write(f"opwright: data dump: graph '{graph.name}' has no node {names}\n")


class DumpedTensor(ctypes.Structure):
    """A tensor of a node."""

    _fields_: ClassVar = [
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("sizes", ctypes.POINTER(ctypes.c_int64)),
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_uint64),
    ]


class DumpedNode(ctypes.Structure):
    """A node that has run: OpwrightDumpNode."""

    _fields_: ClassVar = [
        ("folder", ctypes.c_char_p),
        ("graph", ctypes.c_char_p),
        ("graph_id", ctypes.c_uint64),
        ("step", ctypes.c_uint64),
        ("type", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("task", ctypes.c_uint64),
        ("statistics", ctypes.c_int32),
        ("input_count", ctypes.c_uint64),
        ("output_count", ctypes.c_uint64),
        ("tensors", ctypes.POINTER(DumpedTensor)),
    ]


@functools.cache
def runtime() -> ctypes.CDLL:
    """Return libascendcl, which writes."""
    library = ctypes.CDLL("libascendcl.so")
    library.opwright_dump_plan.restype = ctypes.c_char_p
    library.opwright_dump_folder.restype = ctypes.c_char_p
    library.opwright_dump_node.restype = None
    return library


class Dumper:
    """The runs of a graph that is dumped, whatever their shapes.

    Parameters
    ----------
    number
        The graph's number, a folder of its dumps.
    """

    def __init__(self, graph: GeGraph, plan: DumpPlan, number: int) -> None:
        self.graph = graph
        self.plan = plan
        self.number = number
        self.steps = itertools.count()
        self.tasks = {node.name: task for task, node in enumerate(graph.nodes)}

    def program(self, calls: Calls) -> Program:
        """Return a program that runs the calls one by one, and dumps what the plan says."""

        def run(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
            step = next(self.steps)
            observer = Observer(self, step) if self.plan.has_step(step) else None
            return calls.run(tensors, observer)

        return run

    def write(
        self,
        node: Node,
        step: int,
        inputs: Sequence[torch.Tensor],
        outputs: Sequence[torch.Tensor],
    ) -> None:
        """Write the file of one node."""
        given = (*inputs, *outputs)
        memory = [memory_of(each) for each in given]
        described = (DumpedTensor * len(given))(*map(describe, given, memory))
        dumped = DumpedNode(
            folder=self.plan.folder.encode(),
            graph=self.graph.name.encode(),
            graph_id=self.number,
            step=step,
            type=node.type.encode(),
            name=node.name.encode(),
            task=self.tasks[node.name],
            statistics=self.plan.statistics,
            input_count=len(inputs),
            output_count=len(outputs),
            tensors=described,
        )
        runtime().opwright_dump_node(ctypes.byref(dumped))


class Observer:
    """Writes the tensors of each node of a run, as they are before and after it."""

    def __init__(self, dumper: Dumper, step: int) -> None:
        self.dumper = dumper
        self.step = step
        self.inputs: list[torch.Tensor] = []

    def before(
        self, node: Node, values: Mapping[Source, torch.Tensor], written: Sequence[Source]
    ) -> None:
        """Keep the inputs of a node; copies of those that it may write."""
        self.inputs = []
        if self.dumper.plan.inputs and self.dumper.plan.has_node(node):
            given = [s for _, s in node.inputs if s is not None and s in values]
            self.inputs = [values[s].clone() if s in written else values[s] for s in given]

    def after(self, node: Node, results: Mapping[Source, torch.Tensor]) -> None:
        """Write the node's file."""
        plan = self.dumper.plan
        if plan.has_node(node) and plan.has_outputs(results.values()):
            outputs = [*results.values()] if plan.outputs else []
            self.dumper.write(node, self.step, self.inputs, outputs)


def overflows(tensor: torch.Tensor) -> bool:
    """Return whether a floating-point or complex tensor has an infinity or a NaN.

    >>> overflows(torch.tensor([1.0, float("inf")])), overflows(torch.tensor([1]))
    (True, False)
    """
    if not (tensor.is_floating_point() or tensor.is_complex()) or is_four_bits(tensor.dtype):
        return False
    # ATen's isfinite does not take every type of one byte.
    numbers = tensor.float() if tensor.element_size() == 1 else tensor
    return not bool(torch.isfinite(numbers).all())


def memory_of(tensor: torch.Tensor) -> torch.Tensor:
    """Return what CANN has in memory for a tensor: contiguous, numbers of four bits in pairs."""
    if not is_four_bits(tensor.dtype):
        return tensor.detach().resolve_conj().resolve_neg().contiguous()
    numbers = tensor.view(torch.int8).flatten()
    return pack(functional.pad(numbers, (0, numbers.numel() % 2)))


def describe(tensor: torch.Tensor, memory: torch.Tensor) -> DumpedTensor:
    """Describe a tensor for the native side; the memory has to live until that is done with it."""
    sizes = (ctypes.c_int64 * tensor.dim())(*tensor.shape)
    dtype = tensor.dtype
    code = code_of(dtype) if is_four_bits(dtype) else RUNTIME_CODES.get(dtype, UNDEFINED)
    return DumpedTensor(code, tensor.dim(), sizes, memory.data_ptr(), memory.nbytes)
