"""Runs a model in each of TorchAir's modes and compares every number with plain PyTorch.

A sample's verify.py describes its model in a `Case` and calls `verify`. It serves both forms of
the sample, and nothing in it is about the machine that it runs on.
"""

from __future__ import annotations

import itertools
import json
import sys
import tempfile
import traceback
import warnings
import weakref
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch_npu  # noqa: F401 - makes the device "npu"
import torchair
from torch.utils import _pytree as pytree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["Case", "verify"]

CALLS = 3  # with one set of tensors: the first call captures, those after it replay


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A model that calls the operator, and what it has to compute.

    Parameters
    ----------
    operator
        The device operator, as it is called in a captured graph.
    model
        What is compiled. It may write its arguments.
    reference
        The same in plain PyTorch, for the CPU.
    inputs
        Makes arguments on the CPU: a size -> tensors, lists of tensors, numbers, None.
    writes
        Positions of the arguments that the model writes.
    sizes
        Sizes for dynamic shapes; the first one is that of static shapes.
    """

    name: str
    operator: str
    model: Callable[..., Any]
    reference: Callable[..., Any]
    inputs: Callable[[int], Sequence[Any]]
    writes: tuple[int, ...] = ()
    sizes: tuple[int, ...] = (4, 7, 12)


# Parts of the name or type of a task that copies, on an NPU or on the twin.
COPIES = ("Copy", "TensorMove", "MEMCPY")


class Mismatch(Exception):  # noqa: N818 - what verify reports
    """Something is not what it has to be."""


def eager(model: Callable[..., Any], *, dynamic: bool) -> Callable[..., Any]:
    """Return the model as it is."""
    del dynamic
    return model


def npugraph_ex(model: Callable[..., Any], *, dynamic: bool) -> Callable[..., Any]:
    """Compile with the backend npugraph_ex."""
    return torch.compile(model, backend="npugraph_ex", dynamic=dynamic, fullgraph=True)


def reduce_overhead(model: Callable[..., Any], *, dynamic: bool) -> Callable[..., Any]:
    """Compile with TorchAir's backend in its mode reduce-overhead, also called aclgraph."""
    return with_torchair(model, "reduce-overhead", dynamic=dynamic)


def with_torchair(
    model: Callable[..., Any], mode: str, *, dynamic: bool, config: Any = None
) -> Callable[..., Any]:
    """Compile with TorchAir's backend."""
    config = config or torchair.CompilerConfig()
    config.mode = mode
    backend = torchair.get_npu_backend(compiler_config=config)
    return torch.compile(model, backend=backend, dynamic=dynamic, fullgraph=True)


MODES = {"eager": eager, "npugraph_ex": npugraph_ex, "reduce-overhead": reduce_overhead}
# npugraph_ex and TorchAir patch the same operators: in one process, TorchAir has to be the first to
# compile (torch_npu 2.13.0).
ALL = ("meta", "eager", "reduce-overhead", "max-autotune", "npugraph_ex")
# Errors that a wrong deliverable can end in, in the operator or a compiler: the other modes go on.
FAILURES = (AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


def verify(*cases: Case) -> None:
    """Check the cases in the modes that the command line names, or in all, and end the process.

    The exit code is 1 if anything is not as it has to be.
    """
    sys.exit(verify_modes(cases, sys.argv[1:] or ALL))


def verify_modes(cases: Sequence[Case], modes: Sequence[str]) -> int:
    """Run every case in some modes; print what holds, and return the exit code."""
    failures = 0
    for mode, case, dynamic in itertools.product(modes, cases, (False, True)):
        if mode == "meta" and not dynamic:
            continue  # there is no compiled form whose shapes could be fixed
        title = f"{mode:<16} {'dynamic' if dynamic else 'static':<8} {case.name:<24}"
        try:
            report = verify_case(case, mode, dynamic=dynamic)
        except (*FAILURES, Mismatch) as error:
            failures += 1
            cause = getattr(error, "inner_exception", error)  # of a compiler
            first_line = str(cause).strip().partition("\n")[0]
            print(f"FAILED  {title} {type(cause).__name__}: {first_line}", flush=True)
            if failures == 1:
                traceback.print_exc()
        else:
            print(f"ok      {title} {report}", flush=True)
    return min(failures, 1)


def verify_case(case: Case, mode: str, *, dynamic: bool) -> str:
    """Run a case in a mode; return what was compared."""
    torch.manual_seed(0)
    if mode == "meta":
        return verify_shapes(case)
    torch.compiler.reset()
    if mode == "max-autotune":  # that of a graph of Ascend IR
        return verify_ascend_ir(case, dynamic=dynamic)
    with watched_graphs() as graphs:
        calls = run(case, MODES[mode](case.model, dynamic=dynamic), dynamic=dynamic)
    if mode == "eager":
        return f"{calls} calls compared"
    check_graphs(case, graphs, calls)
    return f"{calls} calls compared, {calls} replays of {len(graphs.tasks)} graphs without a copy"


def verify_ascend_ir(case: Case, *, dynamic: bool) -> str:
    """Run a case in max-autotune, and check that one graph was made, which has the operator once.

    Raises
    ------
    Mismatch
        The operator is not in the graph, or there is more than one graph.
    """
    with tempfile.TemporaryDirectory() as folder:
        config = torchair.CompilerConfig()
        config.debug.graph_dump.type = "txt"
        config.debug.graph_dump.path = folder
        model = with_torchair(case.model, "max-autotune", dynamic=dynamic, config=config)
        calls = run(case, model, dynamic=dynamic)
        graphs = [file.read_text() for file in Path(folder).glob("dynamo_optimized_*")]
    found = [graph.count(f'type: "{case.operator}"') for graph in graphs]
    if found != [1]:
        message = f"{case.operator} is in {len(graphs)} graphs of Ascend IR, {found} times"
        raise Mismatch(message)
    return f"{calls} calls compared, 1 graph of Ascend IR"


def verify_shapes(case: Case) -> str:
    """Run a model on tensors without values and compare the shapes and dtypes of its results."""
    for size in case.sizes:
        values = case.inputs(size)
        got = case.model(
            *pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.to("meta"), values)
        )
        want = case.reference(*values)
        facts = [
            [(t.shape, t.dtype) for t in pytree.tree_leaves(results)] for results in (got, want)
        ]
        if facts[0] != facts[1]:
            message = f"Meta says {facts[0]}, the reference returns {facts[1]}"
            raise Mismatch(message)
    return f"shapes of {len(case.sizes)} calls compared"


def run(case: Case, model: Callable[..., Any], *, dynamic: bool) -> int:
    """Call a model with changing values and compare results and arguments; return the calls."""
    compared = 0
    for size in case.sizes if dynamic else case.sizes[:1]:
        for _ in range(2):  # once more with tensors at other addresses
            on_npu = to_npu(case.inputs(size))
            for _ in range(CALLS):
                overwrite(on_npu, case.inputs(size), keep=case.writes)
                compare(case, model, on_npu)
                compared += 1
    return compared


def compare(case: Case, model: Callable[..., Any], on_npu: Sequence[Any]) -> None:
    """Call a model once and compare with the reference what it returned and what it wrote."""
    before = to_cpu(on_npu)
    on_cpu = to_cpu(on_npu)
    want = case.reference(*on_cpu)
    with torch.no_grad():
        got = model(*on_npu)
    torch.npu.synchronize()
    torch.testing.assert_close(to_cpu(got), want, msg=lambda text: f"result: {text}")
    for place, (left, right) in enumerate(zip(to_cpu(on_npu), on_cpu, strict=True)):
        if left is not None:
            report = f"argument {place} after the call: "
            torch.testing.assert_close(left, right, msg=lambda text, report=report: report + text)
    for place in case.writes:
        if torch.equal(before[place], on_cpu[place]):
            message = f"argument {place} did not change; the sample has to choose other values"
            raise Mismatch(message)


def to_npu(values: Any) -> Any:
    """Return copies on the NPU."""
    return pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.npu(), values)


def to_cpu(values: Any) -> Any:
    """Return copies on the CPU."""
    return pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.cpu(), values)


def overwrite(tensors: Sequence[Any], values: Sequence[Any], keep: Sequence[int]) -> None:
    """Write new values into tensors that a graph knows; what the model writes goes on."""
    for place, (target, source) in enumerate(zip(tensors, values, strict=True)):
        if place not in keep:
            for into, out_of in zip(
                pytree.tree_leaves(target), pytree.tree_leaves(source), strict=True
            ):
                if isinstance(into, torch.Tensor):
                    into.copy_(out_of)


@dataclass(frozen=True, slots=True)
class Task:
    """One launch of a captured graph: its name, whether it copies, and whether onto itself."""

    name: str
    copies: bool
    copies_itself: bool

    @classmethod
    def of(cls, name: str, facts: dict[str, Any]) -> Task:
        """Read an event of NPUGraph.debug_dump; that of the twin says which memory is touched."""
        copies = any(word in name + facts["Task Type"] for word in COPIES)
        memory = {block["Address"] for block in facts.get("Memory", ())}
        return cls(name, copies, copies and len(memory) == 1)


class Graphs:
    """Captures and replays: the number of replays, and the tasks of each graph."""

    def __init__(self) -> None:
        self.replays = 0
        self.tasks: list[list[Task]] = []
        self.seen: weakref.WeakSet[torch.npu.NPUGraph] = weakref.WeakSet()

    def add(self, graph: torch.npu.NPUGraph) -> None:
        """Count a replay, and read a graph that is new."""
        self.replays += 1
        if graph not in self.seen:
            self.seen.add(graph)
            self.tasks.append(read_tasks(graph))


def read_tasks(graph: torch.npu.NPUGraph) -> list[Task]:
    """Return the tasks of a graph, in the order of its capture."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the dump is for debugging
        file = Path(folder, "graph.json")
        graph.debug_dump(str(file))
        events = json.loads(file.read_text(encoding="utf-8"))
    return [Task.of(event["name"], event["args"]) for event in events if event["ph"] == "X"]


@contextmanager
def watched_graphs() -> Iterator[Graphs]:
    """Collect the graphs that are replayed."""
    graphs = Graphs()
    replay = torch.npu.NPUGraph.replay

    def watched(graph: torch.npu.NPUGraph) -> None:
        graphs.add(graph)
        replay(graph)

    torch.npu.NPUGraph.replay = watched
    try:
        yield graphs
    finally:
        torch.npu.NPUGraph.replay = replay


def check_graphs(case: Case, graphs: Graphs, calls: int) -> None:
    """Check that every call replayed a graph, and that each graph has the operator, and no copy.

    In the mode reduce-overhead, TorchAir of torch_npu 2.13.0 copies a written input onto itself at
    the end (npugraph_ex removes that). It moves nothing, and is not counted.

    Raises
    ------
    Mismatch
        Something else ran, or more.
    """
    if graphs.replays != calls:
        message = f"{graphs.replays} replays of a graph in {calls} calls"
        raise Mismatch(message)
    for tasks in graphs.tasks:
        launches = sum(case.operator in task.name for task in tasks)
        copies = sum(task.copies and not task.copies_itself for task in tasks)
        if launches != 1 or copies:
            names = [task.name for task in tasks]
            message = f"{case.operator} is launched {launches} times, with {copies} copies: {names}"
            raise Mismatch(message)
