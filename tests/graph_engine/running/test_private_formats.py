"""Graphs whose inputs lie in memory in blocks: weights in FRACTAL_NZ and FRACTAL_Z."""

from __future__ import annotations

import struct

import pytest
import torch
import torch_npu
import torchair

from opwright.graph_engine.errors import InputError
from opwright.graph_engine.graph.read import read_model
from opwright.graph_engine.lowering.variables import Variables
from opwright.graph_engine.running.compiled_graph import CompiledGraph, Input
from opwright.graph_engine.tensors.layouts import LAYOUTS
from tests.graph_engine import graphs
from tests.graph_engine.agreement import compiled

pytestmark = pytest.mark.twin

FRACTAL_Z, FRACTAL_NZ = 4, 29


def in_blocks(shape: tuple[int, ...], form: int) -> CompiledGraph:
    """Return the graph of a Relu whose input TorchAir describes in a private format."""
    made = graphs.model(
        graphs.data("x", 0), graphs.unary("Relu", "relu", "x:0"), graphs.output("relu:0")
    )
    data = made.graph[0].op[0]
    for desc in (*data.output_desc, *data.input_desc):
        del desc.shape.dim[:]
        desc.attr["format_for_int"].i = form
        desc.attr["origin_shape"].list.i.extend(shape)
    return CompiledGraph(read_model(made.SerializeToString()), variables=Variables())


@pytest.mark.isolated
def test_each_run_reads_what_lies_in_the_blocks() -> None:
    torch_npu.npu.config.allow_internal_format = True
    for dtype in (torch.float16, torch.int8, torch.float32):
        weight = torch.randint(-9, 9, (40, 72)).to(dtype).to("npu")
        blocks = torch_npu.npu_format_cast(weight, FRACTAL_NZ)
        function = compiled(lambda w: w.float() * 2)
        assert function(blocks).tolist() == (weight.float() * 2).tolist(), dtype
        weight[3, 50] = 11
        blocks.copy_(torch_npu.npu_format_cast(weight, FRACTAL_NZ))
        assert function(blocks).tolist() == (weight.float() * 2).tolist(), dtype


LAYERS = {
    FRACTAL_Z: (torch.nn.Conv2d, (16, 32, 3), (2, 16, 8, 8)),
    FRACTAL_NZ: (torch.nn.Linear, (72, 40), (5, 72)),
}


@pytest.mark.parametrize("form", LAYERS)
@pytest.mark.isolated
def test_a_layer_with_an_internal_format_runs_eagerly_and_compiled(form: int) -> None:
    kind, sizes, shape = LAYERS[form]
    layer = kind(*sizes).half().to("npu").eval()
    x = torch.randn(shape).half().to("npu")
    with torch.no_grad():
        expected = layer(x)
        torch_npu.npu.config.allow_internal_format = True
        torchair.use_internal_format_weight(layer)
        assert int(torch_npu.get_npu_format(layer.weight)) == form
        torch.testing.assert_close(layer(x), expected)
        for dynamic in (False, True):
            torch.testing.assert_close(compiled(layer, dynamic=dynamic)(x), expected)


@pytest.mark.parametrize(
    ("form", "shape"), [(FRACTAL_Z, (2, 3, 20, 1)), (FRACTAL_NZ, (3, 40)), (FRACTAL_NZ, (2, 2, 30))]
)
def test_blocks_are_unpacked(
    form: int, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs.provide_proto(monkeypatch)
    x = torch.arange(120.0).reshape(shape) - 60
    stored = LAYOUTS[form](shape, 16).pack(x).contiguous()
    result = torch.empty(shape)
    runner = in_blocks(shape, form).specialize([Input(tuple(stored.shape), x.dtype, None)])
    runner.run(struct.pack("2P", stored.data_ptr(), result.data_ptr()), torch.get_num_threads())
    assert torch.equal(result, x.relu())


def test_a_shape_that_is_not_the_formats_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs.provide_proto(monkeypatch)
    graph = in_blocks((3, 40), FRACTAL_NZ)
    with pytest.raises(InputError, match=r"lies as \[9, 9\] in the format FRACTAL_NZ"):
        graph.specialize([Input((9, 9), torch.float32, None)])
