"""The Python API: ways to compile, inputs and outputs on the CPU and on the device npu, streams.

The device is torch_npu's on the twin where torch_npu is loaded (see conftest.py), else torch_aie's.
"""

from __future__ import annotations

import copy
import io
import sys
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn

import mindietorch
import torch_aie
from torch_aie import Input, TensorFormat

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# PyTorch calls TorchScript deprecated in each of its functions; this package is about it.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")

SHAPE = (2, 3, 8)
DEVICES = ("cpu", "npu:0")


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        y = torch.relu(self.linear(x)) * 2
        first, second = torch.split(y, 4, -1)
        return {"sum": first + second.flip(0), "cat": torch.cat([y, x], 1)}


@pytest.fixture(scope="module")
def model() -> Model:
    torch.manual_seed(0)
    return Model().eval()


def scripted(model: Model, **options: Any) -> Any:  # noqa: ANN401 - depends on ir
    return torch_aie.compile(torch.jit.script(model), inputs=[Input(SHAPE)], **options)


def dynamo(model: Model, **options: Any) -> Any:  # noqa: ANN401 - depends on ir
    return torch_aie.compile(model, ir="dynamo", inputs=[Input(SHAPE)], **options)


def from_program(model: Model, **options: Any) -> Any:  # noqa: ANN401 - depends on ir
    return torch_aie.compile(torch.export.export(model, (torch.rand(SHAPE),)), **options)


def from_graph_module(model: Model, **options: Any) -> Any:  # noqa: ANN401 - depends on ir
    graph = torch.fx.symbolic_trace(model)
    return torch_aie.compile(graph, inputs=[torch.rand(SHAPE)], **options)


WAYS = (scripted, dynamo, from_program, from_graph_module)


def check(compiled: Callable[..., Any], model: Model, x: torch.Tensor) -> None:
    with torch.no_grad():
        expected = model(x.cpu())
    results = compiled(x)
    assert [y.device for y in results.values()] == [x.device] * len(expected)
    on_cpu = {name: result.cpu() for name, result in results.items()}
    torch.testing.assert_close(on_cpu, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("forced", [[], ["aten::relu"], ["aten::linear"]])
@pytest.mark.parametrize("way", WAYS)
def test_outputs_follow_the_device_of_the_inputs(
    way: Callable[..., Any], forced: list[str], model: Model
) -> None:
    compiled = way(model, torch_executed_ops=forced)
    x = torch.rand(SHAPE)
    for device in DEVICES:
        check(compiled, model, x.to(device))


def test_forced_operators_of_pytorchs_own_objects(model: Model) -> None:
    compiled = dynamo(model, torch_executed_ops=[torch.ops.aten.relu.default])
    graph = str(compiled.script.graph)
    assert "aten::relu" in graph
    assert "torch_aie::execute_engine" in graph


def test_model_of_the_device(model: Model) -> None:
    moved = copy.deepcopy(model).to("npu:0")
    compiled = dynamo(moved)
    for device in DEVICES:
        check(compiled, model, torch.rand(SHAPE, device=device))


def test_order_of_a_stream(model: Model) -> None:
    compiled = scripted(model)
    stream = torch_aie.npu.Stream("npu:0")
    before = torch_aie.npu.current_stream()
    with torch_aie.npu.stream(stream):
        assert torch_aie.npu.current_stream() == stream
        x = torch.zeros(SHAPE, device="npu:0")
        for _ in range(50):
            x.add_(1)
        results = compiled(x)
        stream.synchronize()
    assert torch_aie.npu.current_stream() == before != stream
    assert stream.query()
    with torch.no_grad():
        expected = model(torch.full(SHAPE, 50.0))
    torch.testing.assert_close({name: y.cpu() for name, y in results.items()}, expected)


def test_streams() -> None:
    first, second = torch_aie.npu.Stream(), torch_aie.npu.Stream(0)
    assert first != second
    assert first.device() == torch.device("npu:0")
    assert torch_aie.npu.Stream("npu:0", first.id()) == first
    second.assign(first)
    assert second == first
    with pytest.raises(ValueError, match="device: got 'cpu', allowed are npu devices"):
        torch_aie.npu.Stream("cpu")
    for unknown in (-1, 7777, 2**70):
        with pytest.raises(ValueError, match=rf"stream_id: got {unknown}, npu:0 has no such"):
            torch_aie.npu.Stream("npu:0", unknown)
    with pytest.raises(ValueError, match=r"device npu:\d+: there is none, allowed are npu:0 to"):
        torch_aie.npu.Stream(2**40)
    default = torch_aie.npu.default_stream()
    assert torch_aie.npu.Stream("npu:0", default.id()) == default
    with pytest.raises(TypeError, match="stream_id: got 'x'"):
        torch_aie.npu.Stream("npu:0", "x")  # type: ignore[arg-type]


def test_torch_compile(model: Model) -> None:
    compiled = torch_aie.compile(model, ir="torch_compile", min_block_size=1)
    for rows in (2, 3):  # TorchDynamo makes the second size vary
        check(compiled, model, torch.rand(rows, 3, 8))
    moved = torch.compile(copy.deepcopy(model).to("npu:0"), backend="mindie")
    check(moved, model, torch.rand(SHAPE, device="npu:0"))


def test_torch_compile_sees_changed_parameters(model: Model) -> None:
    changed = copy.deepcopy(model)
    compiled = torch.compile(changed, backend="mindie")
    check(compiled, changed, torch.rand(SHAPE))
    with torch.no_grad():
        changed.linear.bias.add_(1)
    check(compiled, changed, torch.rand(SHAPE))


@pytest.mark.parametrize("size", [5, -1])
def test_sizes_that_vary(size: int) -> None:
    class Sizes(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = x.reshape(x.shape[0] * x.shape[1], -1) + torch.tensor([1.0, 2.0])
            return y.sum(1) * x.shape[0]

    given = Input(min_shape=(min(size, 1), 3, 2), max_shape=(size, 3, 2))
    compiled = torch_aie.compile(
        Sizes(), ir="dynamo", inputs=[given], allow_tensor_replace_int=True
    )
    for rows in (1, 2, 5):
        x = torch.rand(rows, 3, 2)
        torch.testing.assert_close(compiled(x), Sizes()(x))
    if size == 5:
        with pytest.raises(RuntimeError, match="got"):
            compiled(torch.rand(6, 3, 2))


def test_saved_program(model: Model) -> None:
    file = io.BytesIO()
    torch.save(dynamo(model), file)
    file.seek(0)
    check(torch.load(file, weights_only=False), model, torch.rand(SHAPE))


def test_exported_engine_is_written(tmp_path: Path) -> None:
    path = tmp_path / "model.om"
    engine = torch_aie.export_engine(nn.ReLU(), ir="dynamo", inputs=[Input(SHAPE)], path=path)
    assert path.read_bytes() == engine
    assert engine.startswith(b"ASCENDIE")


def test_program_that_changes_its_buffers() -> None:
    with pytest.raises(ValueError, match=r"the program changes '.*num_batches_tracked'"):
        torch_aie.compile(nn.BatchNorm1d(3), ir="dynamo", inputs=[Input((2, 3))])


def test_other_arguments_than_exported(model: Model) -> None:
    with pytest.raises(TypeError, match=r"arguments: got (.|\n)*, allowed is"):
        dynamo(model)(torch.rand(SHAPE), torch.rand(SHAPE))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"inputs": [[Input(SHAPE)], [Input(SHAPE)]]}, ValueError, "got 2 gears"),
        ({"inputs": [Input(SHAPE), [Input(SHAPE)]]}, TypeError, "lists beside inputs"),
        ({"inputs": "x"}, TypeError, "inputs: got str"),
        (
            {"optimization_level": 1},
            ValueError,
            r"got 1, allowed .* is 0$",
        ),
        ({"torch_executed_modules": ["a.B"]}, ValueError, r"got \[.a.B.\], allowed .* is \[\]$"),
        ({"torch_executed_ops": [1]}, TypeError, "torch_executed_ops: got 1"),
        ({"ir": "torch_compile"}, ValueError, "inputs: got some"),
        ({"ir": "ts"}, TypeError, "module: got Model"),
    ],
)
def test_compile_refuses(
    options: dict[str, Any], error: type[Exception], message: str, model: Model
) -> None:
    with pytest.raises(error, match=message):
        torch_aie.compile(model, **{"ir": "dynamo", "inputs": [Input(SHAPE)], **options})


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"shape": [2, 3]}, ((2, 3), (2, 3), "static")),
        ({"shape": torch.Size((2, 3))}, ((2, 3), (2, 3), "static")),
        ({"min_shape": (1, 3), "max_shape": (4, 3)}, ((1, 3), (4, 3), "dynamic")),
        ({"min_shape": (-1, 3), "max_shape": (-1, 3)}, ((-1, 3), (-1, 3), "dynamic")),
    ],
)
def test_input_forms(arguments: dict[str, Any], expected: tuple[Any, ...]) -> None:
    given = Input(**arguments)
    assert (given.min_shape, given.max_shape, given.shape_mode) == expected


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, ValueError, "give either shape, or both"),
        ({"shape": (1,), "min_shape": (1,)}, ValueError, "give either shape, or both"),
        ({"min_shape": (1,)}, ValueError, "give either shape, or both"),
        ({"min_shape": (2,), "max_shape": (1,)}, ValueError, r"got 2 in min_shape \(2,\) and 1"),
        ({"min_shape": (-1,), "max_shape": (1,)}, ValueError, "or -1, without bounds, in both"),
        ({"shape": (2**63, 3)}, ValueError, f"allowed are from 0 to {2**63 - 1}"),
        ({"min_shape": (1,), "max_shape": (1, 2)}, ValueError, "differ in length"),
        ({"shape": (1.5,)}, ValueError, "got dimension 1.5"),
        ({"shape": 5}, TypeError, "got 5 as a shape"),
        ({"shape": (1,), "dtype": "float"}, TypeError, "got 'float' as a dtype"),
        ({"shape": (1,), "dtype": torch.complex64}, TypeError, "got torch.complex64"),
        ({"shape": (1,), "format": "NCHW"}, TypeError, "got 'NCHW' as a format"),
        ({"shape": (1,), "name": 1}, TypeError, "got 1 as a name"),
    ],
)
def test_input_refuses(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Input(**arguments)


def test_names() -> None:
    given = Input((1, 2), dtype=torch.int64, format=torch.channels_last)
    assert (given.dtype, given.format) == (torch_aie.dtype.INT64, TensorFormat.NHWC)
    assert mindietorch.compile is torch_aie.compile
    assert mindietorch.npu.Stream is torch_aie.npu.Stream


@pytest.mark.twin
@pytest.mark.skipif("torch_npu" not in sys.modules, reason="its operators: torch_npu is not loaded")
def test_operator_that_torch_npu_alone_has() -> None:
    class Gelu(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = torch.ops.npu.fast_gelu(x * 2)
            return y + 1

    x = torch.rand(SHAPE, device="npu:0")
    traced = torch.jit.trace(Gelu().eval(), x)  # type: ignore[no-untyped-call]
    compiled = torch_aie.compile(traced, inputs=[Input(SHAPE)])
    assert str(compiled.graph).count("torch_aie::execute_engine") == 2
    for given in (x, x.cpu()):
        result = compiled(given)
        assert result.device == given.device
        torch.testing.assert_close(result.cpu(), traced(x).cpu())
