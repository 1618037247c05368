"""Which nodes run on engines, which on libtorch, and that the results are TorchScript's."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn

import torch_aie
from aie.tests.scripts import engines_of
from torch_aie import PrecisionPolicy

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")


def compiled_of(
    module: torch.jit.ScriptModule,
    inputs: Sequence[torch.Tensor],
    **options: Any,  # noqa: ANN401 - as compile has them
) -> torch.jit.ScriptModule:
    compiled: torch.jit.ScriptModule
    compiled = torch_aie.compile(
        module, inputs=inputs, precision_policy=PrecisionPolicy.FP32, **options
    )
    return compiled


def check(model: nn.Module, engines: int, *inputs: torch.Tensor, **options: object) -> None:
    """Compare three runs: PyTorch's executor changes the graph in the first two."""
    module = torch.jit.script(model.eval())
    compiled = compiled_of(module, inputs, **options)
    assert engines_of(compiled) == engines
    for _ in range(3):
        given = [x.clone() for x in inputs]
        with torch.no_grad():
            expected = module(*[x.clone() for x in inputs])
            torch.testing.assert_close(compiled(*given), expected, atol=1e-5, rtol=1e-5)
        inputs = tuple(x + 0.25 if x.is_floating_point() else x for x in inputs)


class Branches(nn.Module):
    """A node without a converter is on one branch, the other needs no engine of its own."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = torch.erfinv(torch.tanh(x) * 0.5)
        b = torch.sigmoid(x) * 2 + 1
        return a + b


class Raises(nn.Module):
    """Two branches that raise share one condition; what else reads it is not theirs."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        bad = bool((x.sum() > 1000).item())
        if bad:
            raise ValueError
        y = x * 2
        if bad:
            raise TypeError
        return y + int(bad)


class ShapeBranch(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dim() == 3 and x.size(0) % 2 == 0:
            return torch.relu(x).view(x.size(0), -1)
        return torch.sigmoid(x)


class ValueBranch(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if bool(x.sum() > 0):  # noqa: SIM108 - the branch is tested
            y = torch.tanh(x) * 2
        else:
            y = torch.exp(x) * 3
        return torch.relu(y) + 1


class ShapeLoop(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.zeros(x.size(1))
        rows: list[torch.Tensor] = []
        for i in range(x.size(0)):
            h = torch.tanh(h + x[i])
            rows.append(h)
        return torch.stack(rows)


class ValueLoop(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(x)
        for _ in range(int(x.abs().sum().item()) % 5):
            h = torch.tanh(h) * 2
        return h


class Nonzero(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.relu(x) * 2
        return torch.nonzero(y) * 2, y + 1


class Mask(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(x) * 2
        return y[y > 0.5] * 2


class Number(nn.Module):
    """A number that depends on values scales a tensor: its shape is known all the same."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x * float(x.max().item())) + 1


class InPlace(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        y[:, 0] = torch.relu(x[:, 1])
        y += 1
        return torch.relu_(y * 1)


class InPlaceInput(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.relu(x)
        x.add_(1)
        return y, torch.relu(x) * 2


class Collections(nn.Module):
    def forward(
        self, x: torch.Tensor
    ) -> tuple[dict[str, list[torch.Tensor]], tuple[torch.Tensor, int]]:
        a, b = torch.chunk(x, 2, 1)
        return {"a": [torch.relu(a)], "b": [b, b * 2]}, (a, 3)


class ForcedList(nn.Module):
    """The list is made by libtorch, its elements go to an engine."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a, b = torch.chunk(x, 2, 1)
        return torch.cat([torch.relu(a), b * 2], 0)


class Complex(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(torch.fft.rfft(x * 2).abs())


@pytest.mark.parametrize(
    ("model", "shape", "engines", "options"),
    [
        (Branches(), (4, 4), 2, {}),
        (Raises(), (4, 4), 1, {}),
        (ShapeBranch(), (2, 3, 4), 1, {"require_full_compilation": True}),
        (ShapeBranch(), (3, 3, 4), 1, {"require_full_compilation": True}),
        (ValueBranch(), (4, 4), 4, {}),
        (ShapeLoop(), (4, 4), 1, {"require_full_compilation": True}),
        (ValueLoop(), (2, 2), 1, {}),
        (Nonzero(), (4, 4), 1, {}),
        (Mask(), (4, 4), 1, {}),
        (Number(), (4, 4), 2, {}),
        (InPlace(), (4, 4), 2, {}),
        (InPlaceInput(), (4, 4), 1, {}),
        (Collections(), (4, 4), 1, {"require_full_compilation": True}),
        (ForcedList(), (4, 4), 1, {"require_full_compilation": True}),
        (ForcedList(), (4, 4), 1, {"torch_executed_ops": ["aten::chunk"]}),
        (Complex(), (4, 4), 2, {}),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "",
)
def test_results_and_engines(
    model: nn.Module, shape: tuple[int, ...], engines: int, options: dict[str, Any]
) -> None:
    torch.manual_seed(0)
    check(model, engines, torch.randn(shape), **options)


def test_state_is_kept_and_compile_does_not_change_it() -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.count: torch.Tensor
            self.register_buffer("count", torch.zeros(1))
            self.linear = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.count += 1
            y: torch.Tensor = self.linear(x)
            return y + self.count

    module = torch.jit.script(Counter().eval())
    other = copy.deepcopy(module)
    x = torch.randn(4, 4)
    compiled = compiled_of(module, [x])
    assert module.count.item() == 0
    for _ in range(3):
        torch.testing.assert_close(compiled(x), other(x))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x)) + x


def network(kind: str) -> tuple[torch.jit.ScriptModule, torch.Tensor]:
    torch.manual_seed(0)
    x = torch.randn(2, 4)
    model = nn.Sequential(Block(), nn.Linear(4, 4), Block(), nn.Dropout()).eval()
    if kind == "script":
        return torch.jit.script(model), x
    traced: torch.jit.ScriptModule
    traced = torch.jit.trace(model, x)  # type: ignore[no-untyped-call]
    return traced, x


@pytest.mark.parametrize("kind", ["script", "trace"])
@pytest.mark.parametrize(
    ("options", "engines", "left"),
    [
        ({}, 1, {}),
        ({"torch_executed_modules": [f"{__name__}.Block"]}, 1, {"linear": 2, "relu": 2, "add": 2}),
        ({"torch_executed_modules": ["torch.nn.modules.linear.Linear"]}, 2, {"linear": 3}),
        ({"torch_executed_modules": ["torch.nn.modules.conv.Conv2d"]}, 1, {}),
        ({"torch_executed_ops": ["aten::relu"]}, 3, {"relu": 2}),
        ({"torch_executed_ops": ["aten::relu"], "min_block_size": 2}, 1, {"relu": 2, "linear": 1}),
        ({"torch_executed_ops": ["aten::add.Tensor"]}, 2, {"add": 2}),
        ({"min_block_size": 1024}, 0, {"linear": 3, "relu": 2, "add": 2}),
    ],
)
def test_forced_fallback(
    kind: str, options: dict[str, Any], engines: int, left: dict[str, int]
) -> None:
    module, x = network(kind)
    compiled = compiled_of(module, [x], **options)
    torch.testing.assert_close(compiled(x), module(x))
    graph = str(compiled.graph)
    counts = {name: graph.count(f" = aten::{name}(") for name in ("linear", "relu", "add")}
    expected = {"linear": 0, "relu": 0, "add": 0, **left}
    if options.get("min_block_size") == 2:
        expected["linear"] = counts["linear"]
        expected["add"] = counts["add"]
    assert (engines_of(compiled), counts) == (engines, expected)


def test_doubles_are_kept_if_they_must_not_be_truncated() -> None:
    class Precise(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.sin(x * 3)

    module = torch.jit.script(Precise().eval())
    x = torch.randn(64, dtype=torch.float64)
    rough = compiled_of(module, [x])
    exact = compiled_of(module, [x], truncate_long_and_double=False)
    assert (engines_of(rough), engines_of(exact)) == (1, 0)
    torch.testing.assert_close(exact(x), module(x), atol=0, rtol=0)
    assert rough(x).dtype == torch.float64
    assert 0 < (rough(x) - module(x)).abs().max() < 1e-5
    with pytest.raises(ValueError, match=r"aten::sin.*Double, and truncate_long_and_double is off"):
        compiled_of(module, [x], truncate_long_and_double=False, require_full_compilation=True)


def test_random_numbers_keep_their_order() -> None:
    class Noise(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            a = torch.relu(x) + torch.rand_like(x)
            return torch.relu(a) * torch.rand(4) + torch.rand_like(a)

    module = torch.jit.script(Noise().eval())
    x = torch.randn(4)
    compiled = compiled_of(module, [x])
    torch.manual_seed(1)
    expected = module(x)
    torch.manual_seed(1)
    torch.testing.assert_close(compiled(x), expected)


def test_graph_level_optimizes_what_is_left_to_libtorch() -> None:
    model = nn.Sequential(nn.Conv2d(2, 2, 1), nn.BatchNorm2d(2), nn.ReLU()).eval()
    module = torch.jit.script(model)
    x = torch.randn(1, 2, 4, 4)
    forced = ["aten::conv2d", "aten::batch_norm"]
    graphs = []
    for level in (0, 1, 2):
        compiled = compiled_of(module, [x], torch_executed_ops=forced, optimization_level=level)
        torch.testing.assert_close(compiled(x), module(x), atol=1e-5, rtol=1e-5)
        graphs.append("aten::batch_norm" in str(compiled.graph))
    assert graphs == [True, True, False]


def test_everything_on_libtorch_is_listed_with_its_line_and_reason() -> None:
    module = torch.jit.script(ValueBranch().eval())
    with pytest.raises(ValueError, match="as a whole") as error:
        compiled_of(module, [torch.ones(2)], require_full_compilation=True)
    lines = str(error.value).splitlines()[1:]
    assert any("prim::If" in line and "if bool(x.sum() > 0)" in line for line in lines)
    assert all(" at " in line and line.endswith("]") for line in lines)
    with pytest.raises(ValueError, match=r"aten::tanh.*\[torch_executed_ops\]"):
        compiled_of(
            torch.jit.script(Branches().eval()),
            [torch.ones(2)],
            torch_executed_ops=["aten::tanh"],
            require_full_compilation=True,
        )
