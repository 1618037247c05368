"""Recurrent layers and cells beside TorchScript's."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest
import torch
from networks import recurrent
from torch import nn

import torch_aie
from aie.tests.scripts import traced
from torch_aie import PrecisionPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning"),
    # PyTorch's own modules compare sizes in Python.
    pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning"),
]

TOLERANCE = {PrecisionPolicy.FP32: 1e-4, PrecisionPolicy.FP16: 2e-2}
KINDS: dict[str, Callable[..., nn.RNNBase]] = {
    "lstm": nn.LSTM,
    "gru": nn.GRU,
    "tanh": nn.RNN,
    "relu": lambda *sizes, **options: nn.RNN(*sizes, nonlinearity="relu", **options),
}


def compiled(
    module: torch.jit.ScriptModule,
    tensors: tuple[torch.Tensor, ...],
    policy: PrecisionPolicy = PrecisionPolicy.FP32,
    forced: tuple[str, ...] = (),
) -> torch.jit.ScriptModule:
    """Compile a module, whole if no operator is forced."""
    made: torch.jit.ScriptModule = torch_aie.compile(
        module,
        inputs=tensors,
        precision_policy=policy,
        truncate_long_and_double=False,
        require_full_compilation=not forced,
        torch_executed_ops=list(forced),
    )
    return made


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options",
    [
        {"num_layers": 2, "bidirectional": True, "batch_first": True},
        {"num_layers": 2, "batch_first": False},
        {"bias": False, "bidirectional": True},
    ],
)
def test_layers(kind: str, options: dict[str, Any]) -> None:
    torch.manual_seed(0)
    layer = KINDS[kind](8, 12, **options)
    directions = layer.num_layers * (2 if layer.bidirectional else 1)
    batch = 3 if layer.batch_first else 5
    state = torch.randn(directions, batch, 12)
    tensors = (torch.randn(3, 5, 8), state, *([torch.randn_like(state)] * (kind == "lstm")))

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: torch.Tensor, *states: torch.Tensor) -> tuple[torch.Tensor, ...]:
            y, last = self.layer(x, states if len(states) > 1 else states[0])
            return (y, *last) if len(states) > 1 else (y, last)

    module = traced(Model(), tensors)
    for policy, tolerance in TOLERANCE.items():
        whole = compiled(module, tensors, policy)
        for _ in range(2):
            torch.testing.assert_close(whole(*tensors), module(*tensors), atol=tolerance, rtol=0)


@pytest.mark.parametrize("way", ["trace", "script"])
def test_tagger(way: str, threads: int) -> None:
    torch.manual_seed(threads)
    tensors = (torch.randint(0, 50, (3, 6)),)
    model = recurrent.LstmTagger(50, 16, 24).eval().requires_grad_(requires_grad=False)
    module = torch.jit.script(model) if way == "script" else traced(model, tensors)
    expected = module(*tensors)
    whole = compiled(module, tensors)
    torch.testing.assert_close(whole(*tensors), expected, atol=1e-4, rtol=0)
    parted = compiled(module, tensors, forced=("aten::lstm",))
    assert "aten::lstm" in str(parted.graph)
    torch.testing.assert_close(parted(*tensors), expected, atol=1e-4, rtol=0)


def test_saved_lstm_gives_the_same() -> None:
    """Its weights are kept in oneDNN's layout: what is saved has to be read again."""
    torch.manual_seed(0)
    tensors = (torch.randint(0, 50, (3, 6)),)
    whole = compiled(traced(recurrent.LstmTagger(50, 16, 24), tensors), tensors)
    for _ in range(2):  # a model that was loaded may be saved too
        file = io.BytesIO()
        torch.jit.save(whole, file)
        file.seek(0)
        loaded = torch.jit.load(file)  # type: ignore[no-untyped-call]  # torch's
        torch.testing.assert_close(loaded(*tensors), whole(*tensors), atol=0, rtol=0)
        whole = loaded


class Cells(nn.Module):
    def __init__(self, *, bias: bool) -> None:
        super().__init__()
        self.lstm, self.gru = nn.LSTMCell(6, 8, bias=bias), nn.GRUCell(8, 8, bias=bias)

    def forward(
        self, x: torch.Tensor, h: torch.Tensor, c: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        h, c = self.lstm(x, (h, c))
        return self.gru(h, c), c


@pytest.mark.parametrize("way", ["script", "trace"])
@pytest.mark.parametrize("bias", [False, True])
def test_cells(way: str, *, bias: bool) -> None:
    torch.manual_seed(0)
    tensors = (torch.randn(3, 6), torch.randn(3, 8), torch.randn(3, 8))
    # A trace has what PyTorch's CPU kernel of a cell does, in place: script keeps the cell.
    cells = Cells(bias=bias).eval().requires_grad_(requires_grad=False)
    module = torch.jit.script(cells) if way == "script" else traced(cells, tensors)
    whole = compiled(module, tensors)
    torch.testing.assert_close(whole(*tensors), module(*tensors), atol=1e-4, rtol=0)


@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")
def test_projections_are_refused() -> None:
    tensors = (torch.randn(3, 5, 8),)
    layer = nn.LSTM(8, 12, proj_size=4)
    module = traced(layer, tensors)
    with pytest.raises(ValueError, match=r"aten::lstm.*Recurrent: .*projections"):
        compiled(module, tensors)
