"""The unmodified TorchAir compiles models in max-autotune mode, and the engine runs them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu  # noqa: F401 - torchair is found by way of it
import torchair

from tests.graph_engine.agreement import compiled, new_library
from tests.twin.on_twin import run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.isolated
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_model_matches_eager_and_writes_its_input(*, dynamic: bool) -> None:
    layers = torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)
    model = torch.nn.Sequential(*layers).to("npu").eval()

    def step(x: torch.Tensor, counter: torch.Tensor) -> torch.Tensor:
        counter.add_(1)
        result: torch.Tensor = model(x).view(x.shape[0] // 2, -1) * 2 + x.shape[0]
        return result

    sizes = (8, 4, 16, 8) if dynamic else (8, 8, 8)
    with torch.no_grad():
        function = compiled(step, dynamic=dynamic)
        counter = torch.zeros(3).to("npu")
        for size in sizes:
            x = torch.randn(size, 16).to("npu")
            torch.testing.assert_close(function(x, counter), step(x, torch.zeros(3).to("npu")))
    assert counter.tolist() == [len(sizes)] * 3


class Scaled(torch.nn.Module):
    def __init__(self, factor: int) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) * self.factor + x.sum()


@pytest.mark.isolated
def test_threads_compile_and_meet_new_shapes_at_the_same_time() -> None:
    """A graph that is lowered while it runs leaves torch.compile in other threads alone."""

    def work(factor: int) -> int:
        model = Scaled(factor)
        backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
        function = torch.compile(model, backend=backend, dynamic=True, fullgraph=True)
        for rows in range(2, 8):
            x = torch.full((rows, factor), float(rows))
            torch.testing.assert_close(function(x.to("npu")).cpu(), model(x))
        return factor

    compiled(torch.relu)(torch.ones(2).to("npu"))  # TorchAir prepares itself once, in any thread
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(2, 6))) == [2, 3, 4, 5]


@pytest.mark.isolated
def test_runs_are_in_stream_order() -> None:
    with torch.no_grad():
        function = compiled(lambda x: x * 2)
        x = torch.ones(4).to("npu")
        for _ in range(10):
            x = function(x) + 1
    assert x.tolist() == [2047.0] * 4


def compile_a_type_without_a_kernel() -> None:
    library = new_library("lost")
    library.define("found(Tensor x) -> Tensor")
    library.impl("found", lambda x: x.clone(), "PrivateUse1")
    library.impl("found", torch.empty_like, "Meta")
    torchair.register_fx_node_ge_converter(torch.ops.lost.found.default)(
        lambda x: torchair.ge.custom_op("LostAndFound", inputs={"x": x}, outputs=["y"])
    )
    compiled(torch.ops.lost.found)(torch.ones(2).to("npu"))


def test_a_type_without_a_kernel_is_named_when_the_graph_is_compiled(tmp_path: Path) -> None:
    """TorchAir wants a prototype, as an installed operator package has it, before GE is asked."""
    header = tmp_path / "op_proto" / "inc" / "op_proto.h"
    header.parent.mkdir(parents=True)
    header.write_text(
        "REG_OP(LostAndFound).INPUT(x, TensorType::ALL()).OUTPUT(y, TensorType::ALL())"
        ".OP_END_FACTORY_REG(LostAndFound)"
    )
    done = run(compile_a_type_without_a_kernel, ASCEND_CUSTOM_OPP_PATH=str(tmp_path))
    assert done.returncode != 0
    assert "E10501" in done.stderr
    assert "node 'LostAndFound' (LostAndFound)" in done.stderr
