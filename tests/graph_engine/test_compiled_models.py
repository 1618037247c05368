"""The unmodified TorchAir compiles models in max-autotune mode, and the engine runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.twin.on_twin import output, run

if TYPE_CHECKING:
    from pathlib import Path

PRELUDE = """
import torchair

def compiled(function, dynamic=False):
    backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
    return torch.compile(function, backend=backend, dynamic=dynamic, fullgraph=True)
"""

MLP = """
model = torch.nn.Sequential(
    torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)
).npu().eval()

def step(x, counter):
    counter.add_(1)
    return model(x).view(x.shape[0] // 2, -1) * 2 + x.shape[0]
"""


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_model_matches_eager_and_writes_its_input(*, dynamic: bool) -> None:
    sizes = (8, 4, 16, 8) if dynamic else (8, 8, 8)
    printed = output(
        PRELUDE
        + MLP
        + f"""
with torch.no_grad():
    function = compiled(step, dynamic={dynamic})
    counter = torch.zeros(3).npu()
    for size in {sizes}:
        x = torch.randn(size, 16).npu()
        torch.testing.assert_close(function(x, counter), step(x, torch.zeros(3).npu()))
    print(counter.tolist())
"""
    )
    assert printed.splitlines()[-1] == str([float(len(sizes))] * 3)


def test_threads_compile_and_meet_new_shapes_at_the_same_time() -> None:
    """A graph that is lowered while it runs leaves torch.compile in other threads alone."""
    printed = output(
        PRELUDE
        + """
from concurrent.futures import ThreadPoolExecutor

compiled(torch.relu)(torch.ones(2).npu())  # TorchAir prepares itself once, in any thread

class Model(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return torch.relu(x) * self.factor + x.sum()

def work(factor):
    model = Model(factor)
    function = compiled(model, dynamic=True)
    for rows in range(2, 8):
        x = torch.full((rows, factor), float(rows))
        torch.testing.assert_close(function(x.npu()).cpu(), model(x))
    return factor

with ThreadPoolExecutor(4) as pool:
    print(list(pool.map(work, range(2, 6))))
"""
    )
    assert printed.splitlines()[-1] == "[2, 3, 4, 5]"


def test_runs_are_in_stream_order() -> None:
    printed = output(
        PRELUDE
        + """
with torch.no_grad():
    function = compiled(lambda x: x * 2)
    x = torch.ones(4).npu()
    for _ in range(10):
        x = function(x) + 1
    print(x.tolist())
"""
    )
    assert printed.splitlines()[-1] == str([2047.0] * 4)


def test_a_type_without_a_kernel_is_named_when_the_graph_is_compiled(tmp_path: Path) -> None:
    """TorchAir wants a prototype, as an installed operator package has it, before GE is asked."""
    header = tmp_path / "op_proto" / "inc" / "op_proto.h"
    header.parent.mkdir(parents=True)
    header.write_text(
        "REG_OP(LostAndFound).INPUT(x, TensorType::ALL()).OUTPUT(y, TensorType::ALL())"
        ".OP_END_FACTORY_REG(LostAndFound)"
    )
    done = run(
        PRELUDE
        + """
from torchair.ge import custom_op
from torchair import register_fx_node_ge_converter

library = torch.library.Library("lost", "DEF")
library.define("found(Tensor x) -> Tensor")
library.impl("found", lambda x: x.clone(), "PrivateUse1")
library.impl("found", torch.empty_like, "Meta")

@register_fx_node_ge_converter(torch.ops.lost.found.default)
def convert(x, meta_outputs=None):
    return custom_op("LostAndFound", inputs={"x": x}, outputs=["y"])

compiled(lambda x: torch.ops.lost.found(x))(torch.ones(2).npu())
""",
        ASCEND_CUSTOM_OPP_PATH=str(tmp_path),
    )
    assert done.returncode != 0
    assert "E10501" in done.stderr
    assert "node 'LostAndFound' (LostAndFound)" in done.stderr
