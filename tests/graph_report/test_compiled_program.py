"""`opwright graph` of a program that TorchAir compiles: what the engine got, and its FX graph."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from opwright.graph_report.compiled.read import read_compiled
from tests.graph_report.test_captured import opwright

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.twin

# Text: `opwright graph` starts it as a user's file.
PROGRAM = """
import sys
import torch
import torch_npu
import torchair

def step(x, w, cache):
    left, right = torch.chunk(torch.softmax((x @ w).float(), -1), 2, -1)  # float() changes nothing
    cache.add_(1)
    with torchair.scope.npu_stream_switch("side <&>"):
        left = torch.relu(left)
    with torchair.scope.super_kernel("sp", ""), torchair.scope.limit_core_num(8, 16):
        right = right * 2 + x.shape[0]
    return left + right

config = torchair.CompilerConfig()
config.debug.graph_dump.type = "pbtxt"
config.debug.graph_dump.path = sys.argv[1]
backend = torchair.get_npu_backend(compiler_config=config)
with torch.no_grad():
    function = torch.compile(step, backend=backend, dynamic=True)
    function(torch.ones(4, 6).npu(), torch.ones(6, 8).npu(), torch.zeros(3).npu())
graph = torch.npu.NPUGraph()
x = torch.ones(3).npu()
with torch.npu.graph(graph):
    x.add_(1)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the program once and draw what it captured and compiled in every form."""
    folder = tmp_path_factory.mktemp("compiled")
    program = folder / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    outputs = [
        each
        for suffix in ("json", "svg", "html")
        for each in (f"--{suffix}", str(folder / f"out.{suffix}"))
    ]
    done = opwright(*outputs, "--", sys.executable, str(program), str(folder))
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def compiled(folder: Path) -> dict[str, Any]:
    captured, found = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    assert (captured["kind"], captured["counts"]["launches"]) == ("capture", 1)
    assert isinstance(found, dict)
    return found


def test_each_fx_node_has_the_ge_nodes_that_it_became(compiled: dict[str, Any]) -> None:
    assert (compiled["kind"], compiled["fx_is_complete"]) == ("compiled", True)
    types = {vertex["name"]: vertex["type"] for vertex in compiled["ge"]}
    targets = {vertex["name"]: vertex["type"] for vertex in compiled["fx"]}
    became = {
        targets[fx]: [types[name] for name in names]
        for fx, names in compiled["fx_to_ge"].items()
        if not fx.startswith("arg")
    }
    # Some releases of torch take matmul apart before TorchAir gets it.
    products = [name for name in ("aten.matmul.default", "aten.mm.default") if name in became]
    assert [became[name] for name in products] == [["MatMul"]]
    assert became["aten._softmax.default"] == ["SoftmaxV2"]
    assert became["aten.relu.default"] == ["Relu"]
    assert became["operator.getitem"] == ["SplitV"]
    assert became["aten.split.Tensor"][-1] == "SplitV"
    assert {"Const", "Pack"} <= set(became["aten.split.Tensor"])
    assert became["output"] == ["NetOutput"]
    assert all(vertex["fx"] for vertex in compiled["ge"])


def test_tensors_attributes_and_lines_are_those_of_the_program(compiled: dict[str, Any]) -> None:
    by_type = {vertex["type"]: vertex for vertex in compiled["ge"]}
    matmul, pack = by_type["MatMul"], by_type["Pack"]
    assert matmul["attributes"]["transpose_x1"] == "False"
    assert [link["name"] for link in matmul["inputs"][:2]] == ["x1", "x2"]
    assert matmul["outputs"][0].startswith("float32[s")  # symbols, as Meta has them
    assert pack["outputs"] == ["int64[2]"]  # inferred by the engine
    relu = next(each for each in compiled["fx"] if each["type"] == "aten.relu.default")
    assert relu["source"].endswith("program.py:11 in step: left = torch.relu(left)")


def test_streams_scopes_and_cores_are_reported(compiled: dict[str, Any]) -> None:
    by_type = {vertex["type"]: vertex for vertex in compiled["ge"]}
    assert by_type["Relu"]["marks"]["stream"] == "side <&>"
    marks = by_type["Mul"]["marks"]
    assert [marks[name] for name in ("super kernel", "AI cores", "vector cores")] == [
        "sp",
        "8",
        "16",
    ]


def test_each_graph_is_drawn(folder: Path) -> None:
    for suffix in ("svg", "html"):
        first, second = (
            (folder / f"out-{number}.{suffix}").read_text(encoding="utf-8") for number in (1, 2)
        )
        assert "graph 1 (model " in first
        assert "graph 2 (compiled, graph_1)" in second
        assert "side &lt;&amp;&gt;" in second


def test_torchairs_own_dump_has_the_same_nodes(folder: Path, compiled: dict[str, Any]) -> None:
    (file,) = folder.glob("dynamo_optimized_*.pbtxt")
    (found,) = read_compiled(file)
    assert [(vertex.name, vertex.type) for vertex in found.ge] == [
        (vertex["name"], vertex["type"]) for vertex in compiled["ge"]
    ]
    assert [dict(vertex.marks) for vertex in found.ge] == [
        vertex["marks"] for vertex in compiled["ge"]
    ]
    (matmul,) = (vertex for vertex in found.ge if vertex.type == "MatMul")
    assert matmul.attributes == (("transpose_x1", "False"), ("transpose_x2", "False"))
