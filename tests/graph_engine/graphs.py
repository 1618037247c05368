"""Builds serialized graphs by hand, and runs them in the engine without a session."""

from __future__ import annotations

import functools
import importlib.util
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from opwright.graph_engine import kernels
from opwright.graph_engine.graph.read import read_model
from opwright.graph_engine.options.settings import Settings
from opwright.graph_engine.running.compiled_graph import CompiledGraph, Input
from opwright.graph_engine.table import load_kernels
from opwright.internals.modules import GE_PROTO as PROTO

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pytest

    from opwright.graph_engine.lowering.variables import Variables

FLOAT, INT32, INT64, BOOL = 1, 7, 8, 11  # of ge.proto
DTYPES = {FLOAT: torch.float32, INT32: torch.int32, INT64: torch.int64, BOOL: torch.bool}
SHAPE = (2, 3)
FILE = "torch_npu/dynamo/torchair/_ge_concrete_graph/ge_ir_by_protoc_3_19_pb2.py"

load_kernels(kernels)


@functools.cache
def proto() -> Any:  # noqa: ANN401 - a generated module
    """Return the classes of ge.proto as TorchAir has them, without importing TorchAir."""
    if PROTO in sys.modules:
        return sys.modules[PROTO]
    found = next(path for path in map(Path, sys.path) if (path / FILE).exists())
    spec = importlib.util.spec_from_file_location("ge_ir", found / FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def provide_proto(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the reader find the classes."""
    monkeypatch.setitem(sys.modules, PROTO, proto())


@dataclass(frozen=True)
class Op:
    """A node.

    Parameters
    ----------
    inputs
        Name -> edge, as in `x="a:0"`.
    outputs
        Name -> proto dtype and shape.
    graphs
        Names of the graphs that it calls.
    """

    type: str
    name: str
    inputs: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, tuple[int, Sequence[int]]] = field(default_factory=dict)
    attributes: Mapping[str, object] = field(default_factory=dict)
    graphs: Sequence[str] = ()
    after: Sequence[str] = ()


def data(name: str, index: int, dtype: int = FLOAT, shape: Sequence[int] = SHAPE) -> Op:
    """Return an input of the graph."""
    return Op("Data", name, outputs={"y": (dtype, shape)}, attributes={"index": index})


def output(*edges: str) -> Op:
    """Return the end of the graph."""
    return Op("NetOutput", "end", {f"input{i}": edge for i, edge in enumerate(edges)})


def unary(type_: str, name: str, edge: str) -> Op:
    """Return an operator with one input."""
    return Op(type_, name, {"x": edge}, {"y": (FLOAT, SHAPE)})


def binary(type_: str, name: str, left: str, right: str, dtype: int = FLOAT) -> Op:
    """Return an operator with two inputs."""
    return Op(type_, name, {"x1": left, "x2": right}, {"y": (dtype, SHAPE)})


def constant(name: str, value: torch.Tensor) -> Op:
    """Return a constant."""
    return Op(
        "Const", name, outputs={"y": (proto_dtype(value), value.shape)}, attributes={"value": value}
    )


def proto_dtype(tensor: torch.Tensor) -> int:
    """Return the number of a tensor's dtype."""
    return next(number for number, dtype in DTYPES.items() if dtype == tensor.dtype)


def model(*ops: Op, **others: Sequence[Op]) -> Any:  # noqa: ANN401 - a message
    """Return a ModelDef; `others` are graphs that nodes call."""
    made = proto().ModelDef()
    for name, nodes in {"main": ops, **others}.items():
        graph = made.graph.add(name=name)
        for op in nodes:
            add(graph, op)
    return made


def add(graph: Any, op: Op) -> None:  # noqa: ANN401 - a message
    """Add a node to a graph."""
    made = graph.op.add(name=op.name, type=op.type, subgraph_name=op.graphs)
    made.input.extend([*op.inputs.values(), *(f"{name}:-1" for name in op.after)])
    for name in op.inputs:
        made.input_desc.add(name=name, dtype=FLOAT)
    for name, (dtype, shape) in op.outputs.items():
        made.output_desc.add(name=name, dtype=dtype).shape.dim.extend(shape)
    for name, value in op.attributes.items():
        attribute = made.attr[name]
        if isinstance(value, torch.Tensor):
            attribute.t.desc.dtype = proto_dtype(value)
            attribute.t.desc.shape.dim.extend(value.shape)
            attribute.t.data = value.numpy().tobytes()
        elif isinstance(value, bool):
            attribute.b = value
        elif isinstance(value, int):
            attribute.i = value
        elif isinstance(value, float):
            attribute.f = value
        elif isinstance(value, str):
            attribute.s = value.encode()
        else:
            attribute.list.i.extend(value)


def run(
    made: Any,  # noqa: ANN401 - a message
    *tensors: torch.Tensor,
    variables: Variables | None = None,
    options: Mapping[str, str] | None = None,
) -> list[torch.Tensor]:
    """Compile a model and run it."""
    graph = read_model(made.SerializeToString())
    settings = Settings.of(graph, options or {})
    compiled = CompiledGraph(graph, variables=variables, settings=settings)
    return run_compiled(compiled, *tensors)


def run_compiled(compiled: CompiledGraph, *tensors: torch.Tensor) -> list[torch.Tensor]:
    """Run a compiled graph."""
    runner = compiled.specialize([Input(tuple(t.shape), t.dtype, None) for t in tensors])
    given = [tensors[index] for index in runner.lowered.inputs]
    with torch.no_grad():
        return [*runner.program(*given, *runner.lowered.constants)]


def messages(made: Any) -> Iterator[Any]:  # noqa: ANN401 - messages
    """Yield all nodes of a model."""
    for graph in made.graph:
        yield from graph.op
