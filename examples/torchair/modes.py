"""Runs a model in each of TorchAir's modes and compares every number with plain PyTorch.

A sample's verify.py describes its model in a `Case` and calls `verify`. It serves both forms of
the sample, and nothing in it is about the machine that it runs on.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import traceback
from contextlib import contextmanager
from dataclasses import dataclass
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
    model: Callable[..., Any]
    reference: Callable[..., Any]
    inputs: Callable[[int], Sequence[Any]]
    writes: tuple[int, ...] = ()
    sizes: tuple[int, ...] = (4, 7, 12)


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
    config = torchair.CompilerConfig()
    config.mode = "reduce-overhead"
    backend = torchair.get_npu_backend(compiler_config=config)
    return torch.compile(model, backend=backend, dynamic=dynamic, fullgraph=True)


MODES = {"eager": eager, "npugraph_ex": npugraph_ex, "reduce-overhead": reduce_overhead}


# torch_npu 2.13.0: npugraph_ex and TorchAir patch the same operators, so a process can use one of them.
PROCESSES = (("meta", "eager", "npugraph_ex"), ("reduce-overhead",))


def verify(*cases: Case) -> None:
    """Check the cases in the modes that the command line names, or in all, and end the process.

    The exit code is 1 if anything is not as it has to be.
    """
    modes = sys.argv[1:]
    sys.exit(verify_modes(cases, modes) if modes else verify_in_processes())


def verify_in_processes() -> int:
    """Run this program once for each of the processes that all modes need; return the exit code."""
    command = [sys.executable, *sys.argv]
    children = [
        subprocess.Popen([*command, *modes], stdout=subprocess.PIPE, text=True)
        for modes in PROCESSES
    ]
    for child in children:
        print(child.communicate()[0], end="", flush=True)
    return max(child.returncode for child in children)


def verify_modes(cases: Sequence[Case], modes: Sequence[str]) -> int:
    """Run every case in some modes; print what holds, and return the exit code."""
    failures = 0
    for mode, case, dynamic in itertools.product(modes, cases, (False, True)):
        if mode == "meta" and not dynamic:
            continue  # there is no compiled form whose shapes could be fixed
        title = f"{mode:<16} {'dynamic' if dynamic else 'static':<8} {case.name:<24}"
        try:
            told = verify_case(case, mode, dynamic=dynamic)
        except Exception as error:  # noqa: BLE001 - whatever it is, the others have their turn
            failures += 1
            first_line = str(error).strip().partition("\n")[0]
            print(f"FAILED  {title} {type(error).__name__}: {first_line}", flush=True)
            if failures == 1:
                traceback.print_exc()
        else:
            print(f"ok      {title} {told}", flush=True)
    return min(failures, 1)


def verify_case(case: Case, mode: str, *, dynamic: bool) -> str:
    """Run a case in a mode; return what was compared."""
    torch.manual_seed(0)
    if mode == "meta":
        return verify_shapes(case)
    torch.compiler.reset()
    with counted_graphs() as graphs:
        calls = run(case, MODES[mode](case.model, dynamic=dynamic), dynamic=dynamic)
    if graphs.replays != (calls if mode != "eager" else 0):
        message = f"{graphs.replays} replays of a graph in {calls} calls"
        raise Mismatch(message)
    return f"{calls} calls compared, {graphs.replays} replays"


def verify_shapes(case: Case) -> str:
    """Run a model on tensors without values and compare the shapes and dtypes of its results."""
    for size in case.sizes:
        values = case.inputs(size)
        got = case.model(*pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.to("meta"), values))
        want = case.reference(*values)
        facts = [[(t.shape, t.dtype) for t in pytree.tree_leaves(results)] for results in (got, want)]
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
            told = f"argument {place} after the call: "
            torch.testing.assert_close(left, right, msg=lambda text, told=told: told + text)
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
            for into, out_of in zip(pytree.tree_leaves(target), pytree.tree_leaves(source), strict=True):
                if isinstance(into, torch.Tensor):
                    into.copy_(out_of)


class Graphs:
    """How often graphs were replayed."""

    replays = 0


@contextmanager
def counted_graphs() -> Iterator[Graphs]:
    """Count the replays of graphs."""
    graphs = Graphs()
    replay = torch.npu.NPUGraph.replay

    def counted(graph: torch.npu.NPUGraph) -> None:
        graphs.replays += 1
        replay(graph)

    torch.npu.NPUGraph.replay = counted
    try:
        yield graphs
    finally:
        torch.npu.NPUGraph.replay = replay
