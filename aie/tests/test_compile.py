"""torch_aie.compile: results beside TorchScript's, partition, saving, refusals."""

from __future__ import annotations

import io
from typing import Any

import pytest
import torch
from torch import nn

import torch_aie
from aie.tests.scripts import engines_of
from torch_aie import Input, PrecisionPolicy


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, 8, 3, padding=1)
        self.linear = nn.Linear(128, 10)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.relu(self.convolution(x))
        y = self.linear(nn.functional.adaptive_avg_pool2d(y, 4).flatten(1))
        z = torch.softmax(torch.cumsum(y, -1) * 2 + 1, -1)
        return z, y.view(y.size(0), -1, 2).transpose(1, 2)


# PyTorch calls TorchScript deprecated in each of its functions; this package is about it.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")

SHAPE = (2, 3, 8, 8)
TOLERANCE = {PrecisionPolicy.FP32: 1e-4, PrecisionPolicy.FP16: 2e-2}


@pytest.fixture(params=["trace", "script"])
def module(request: pytest.FixtureRequest) -> torch.jit.ScriptModule:
    torch.manual_seed(0)
    model = Model().eval()
    if request.param == "script":
        return torch.jit.script(model)
    traced: torch.jit.ScriptModule
    traced = torch.jit.trace(model, torch.rand(SHAPE))  # type: ignore[no-untyped-call]
    return traced


@pytest.mark.parametrize("policy", TOLERANCE)
@pytest.mark.parametrize(
    ("forced", "engines"), [((), 1), (("aten::relu",), 2), (("aten::cumsum",), 2)]
)
def test_results_equal_torchscripts(
    module: torch.jit.ScriptModule,
    policy: PrecisionPolicy,
    forced: tuple[str, ...],
    engines: int,
) -> None:
    compiled = torch_aie.compile(
        module, inputs=[Input(SHAPE)], precision_policy=policy, torch_executed_ops=list(forced)
    )
    x = torch.rand(SHAPE)
    with torch.no_grad():
        expected = module(x)
    torch.testing.assert_close(compiled(x), expected, atol=TOLERANCE[policy], rtol=0)
    assert engines_of(compiled) == engines


def test_whole_graph(module: torch.jit.ScriptModule) -> None:
    compiled = torch_aie.compile(module, inputs=[torch.rand(SHAPE)], require_full_compilation=True)
    assert engines_of(compiled) == 1


def test_min_block_size_leaves_short_runs_to_libtorch(module: torch.jit.ScriptModule) -> None:
    compiled = torch_aie.compile(
        module, inputs=[Input(SHAPE)], torch_executed_ops=["aten::relu"], min_block_size=2
    )
    assert engines_of(compiled) == 1


def test_saved_module_gives_the_same(module: torch.jit.ScriptModule) -> None:
    compiled = torch_aie.compile(module, inputs=[Input(SHAPE)])
    file = io.BytesIO()
    torch.jit.save(compiled, file)
    file.seek(0)
    x = torch.rand(SHAPE)
    loaded = torch.jit.load(file)  # type: ignore[no-untyped-call]  # torch's
    torch.testing.assert_close(loaded(x), compiled(x), atol=0, rtol=0)


def test_exported_engine_has_its_magic(module: torch.jit.ScriptModule) -> None:
    assert torch_aie.export_engine(module, inputs=[Input(SHAPE)]).startswith(b"ASCENDIE")


def test_operators_without_converter_are_listed_with_their_lines() -> None:
    module = torch.jit.script(nn.Sequential(nn.ReLU(), nn.ChannelShuffle(2)).eval())
    with pytest.raises(ValueError, match=r"as a whole(.|\n)*aten::channel_shuffle.* at .*:\d+"):
        torch_aie.compile(module, inputs=[Input((1, 4, 2, 2))], require_full_compilation=True)


def test_layer_that_does_not_fit_names_the_node() -> None:
    class Wrong(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.matmul(x, x)

    module = torch.jit.script(Wrong().eval())
    with pytest.raises(ValueError, match=r"aten::matmul\(%x.*\) at .*: MatrixMultiply: .*$"):
        torch_aie.compile(module, inputs=[Input((2, 3))])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (torch.rand(1, 3, 8, 8), r"got shape \[1, 3, 8, 8\], allowed is \[2, 3, 8, 8\]"),
        (torch.zeros(SHAPE, dtype=torch.int64), "got dtype Long, allowed is Float"),
    ],
)
def test_run_refuses(module: torch.jit.ScriptModule, given: torch.Tensor, message: str) -> None:
    compiled = torch_aie.compile(module, inputs=[Input(SHAPE)])
    with pytest.raises(RuntimeError, match=message):
        compiled(given)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"min_block_size": 1025}, ValueError, "min_block_size: got 1025, allowed are 0 to 1024"),
        ({"optimization_level": 3}, ValueError, "optimization_level: got 3"),
        ({"default_buffer_size_vec": [0]}, ValueError, "default_buffer_size_vec: got 0"),
        ({"precision_policy": "FP16"}, TypeError, "precision_policy: got 'FP16'"),
        ({"truncate": True}, TypeError, "got the option 'truncate'"),
        ({"ir": "onnx"}, ValueError, "ir: got 'onnx'"),
        ({"inputs": []}, ValueError, "got 0 inputs, but the graph has 1"),
    ],
)
def test_compile_refuses(
    module: torch.jit.ScriptModule,
    options: dict[str, Any],
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        torch_aie.compile(module, **{"inputs": [Input(SHAPE)], **options})


@pytest.mark.parametrize(
    ("shape", "message"),
    [((-1, 2), "got dimension -1"), ((1,) * 9, "got 9 dimensions, allowed are at most 8")],
)
def test_input_refuses(shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Input(shape)


def test_set_device_refuses() -> None:
    with pytest.raises(ValueError, match="got 1025, allowed are 0 to 1024"):
        torch_aie.set_device(1025)
    with pytest.raises(ValueError, match="allowed are 0 to 1024"):
        torch_aie.set_device(2**40)
