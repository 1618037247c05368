"""Captured operators whose device kernel is their Python reference: replayed, threaded, failing."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import opwright.twin  # before torch, which loads torch_npu

# isort: split
import pytest
import torch
import torch_npu

import opwright as ow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor
    from torch._ops import _OpNamespace

pytestmark = [
    pytest.mark.twin,
    pytest.mark.compile,
    # torch_npu's and torch's own, about how they are made (2.13.0).
    *(pytest.mark.filterwarnings(f"ignore::{each}") for each in ("UserWarning", "FutureWarning")),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

calls: list[str] = []
captured = ow.OperatorSet("opwright_captured")


@captured.operator("shift_(Tensor(a!) x, int by) -> Tensor(a!)", aclnn="aclnnCapturedShift(x, by)")
def shift_(x: Tensor, by: int) -> Tensor:
    calls.append("shift_")
    return x.add_(by)


@captured.operator("noisy(Tensor x) -> Tensor", aclnn="aclnnCapturedNoisy(x, out)")
def noisy(x: Tensor) -> Tensor:
    return x + torch.rand_like(x)


@captured.operator(
    "halves(Tensor x) -> (Tensor low, Tensor high)",
    aclnn="aclnnCapturedHalves(x, low, high)",
    shapes={"x": "N", "low": "N // 2", "high": "N - N // 2"},
)
def halves(x: Tensor) -> tuple[Tensor, Tensor]:
    half = x.shape[0] // 2
    return x[:half].clone(), x[half:].clone()


@captured.operator("observe(Tensor x) -> ()", aclnn="aclnnCapturedObserve(x)")
def observe(x: Tensor) -> None:
    calls.append("observe")
    if bool((x < 0).any()):
        message = "a negative number was observed"
        raise ValueError(message)


@captured.operator(
    "cubed(Tensor x) -> Tensor",
    aclnn="aclnnCapturedCubed(x, out)",
    backward={"x": "3 * grad * x * x"},
)
def cubed(x: Tensor) -> Tensor:
    return x * x * x


@pytest.fixture
def ops() -> Iterator[_OpNamespace]:
    with captured.load():
        calls.clear()
        yield torch.ops.opwright_captured
        torch.compiler.reset()


def capture(function: Any) -> tuple[Any, Any]:  # noqa: ANN401 - torch_npu has no types
    """Capture a function; return the graph and what the function returned."""
    graph = torch_npu.npu.NPUGraph()
    with torch_npu.npu.graph(graph):
        result = function()
    return graph, result


def npu(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float32).to("npu")


def test_a_replay_runs_the_reference_on_what_is_there_then(ops: _OpNamespace) -> None:
    x = npu(1, 2)
    graph, low_high = capture(lambda: ops.halves(ops.shift_(x, 10)))
    assert calls == []  # nothing runs while it is captured
    assert x.cpu().tolist() == [1, 2]
    for first in (1.0, 5.0, -3.0):
        x.copy_(torch.tensor([first, 2.0]))
        graph.replay()
        assert x.cpu().tolist() == [first + 10, 12]
        assert [each.cpu().tolist() for each in low_high] == [[first + 10], [12]]
    assert calls == ["shift_"] * 3


def test_a_random_reference_draws_anew_in_each_replay(ops: _OpNamespace) -> None:
    x = npu(0, 0, 0)
    graph, result = capture(lambda: ops.noisy(x))
    drawn = []
    for _ in range(3):
        graph.replay()
        drawn.append(tuple(result.cpu().tolist()))
    assert len(set(drawn)) == len(drawn)


def test_equal_calls_of_a_random_operator_stay_two(ops: _OpNamespace) -> None:
    compiled = torch.compile(lambda x: ops.noisy(x) - ops.noisy(x), backend="npugraph_ex")
    with torch.no_grad():
        first, second = (compiled(npu(0, 0, 0)).cpu() for _ in range(2))
    assert (first != 0).all()
    assert not torch.equal(first, second)


def test_replays_and_python_threads_do_not_stop_each_other(ops: _OpNamespace) -> None:
    x = npu(0)
    graph, _ = capture(lambda: [ops.shift_(x, 1) for _ in range(20)])
    counted, stop = [0], threading.Event()

    def count() -> None:
        while not stop.is_set():
            counted[0] += 1

    def replay() -> None:
        with torch_npu.npu.stream(torch_npu.npu.Stream()) as _:
            for _ in range(5):
                graph.replay()
            torch_npu.npu.current_stream().synchronize()

    counter = threading.Thread(target=count)
    counter.start()
    for _ in range(3):  # one after another: both would write x
        before = counted[0]
        thread = threading.Thread(target=replay)
        thread.start()
        thread.join()
        assert counted[0] > before
    stop.set()
    counter.join()
    assert x.cpu().tolist() == [3 * 5 * 20]
    assert calls == ["shift_"] * 300


def test_an_exception_in_a_replay_is_reported_by_the_next_synchronize(
    ops: _OpNamespace,
) -> None:
    x = npu(1)

    def model() -> Tensor:
        ops.observe(x)
        return x + 1

    graph, result = capture(model)
    graph.replay()
    torch_npu.npu.synchronize()
    x.fill_(-1)
    graph.replay()
    with pytest.raises(
        RuntimeError, match="aclnnCapturedObserve: ValueError: a negative number was observed"
    ):
        torch_npu.npu.synchronize()
    x.fill_(4)
    graph.replay()
    assert result.cpu().tolist() == [5]
    assert calls == ["observe"] * 3


@pytest.mark.parametrize("backend", ["npugraph_ex", "aot_eager"])
def test_an_operator_without_results_stays_in_graphs(ops: _OpNamespace, backend: str) -> None:
    def model(x: Tensor) -> Tensor:
        ops.observe(x)
        return x * 2

    compiled = torch.compile(model, backend=backend, fullgraph=True)
    assert compiled(npu(1)).cpu().tolist() == [2]
    assert calls == ["observe"]
    with pytest.raises(RuntimeError, match="a negative number was observed"):
        compiled(npu(-1)).cpu()


def test_a_removed_reference_is_named_by_the_replay() -> None:
    with captured.load():
        x = npu(2)
        graph, _ = capture(lambda: torch.ops.opwright_captured.cubed(x))
    graph.replay()
    with pytest.raises(
        RuntimeError, match="aclnnCapturedCubed: its reference function was removed"
    ):
        torch_npu.npu.synchronize()


def test_gradients_through_npugraph_ex(ops: _OpNamespace) -> None:
    """It captures the backward as well (torch_npu 2.13.0), with the operator's own."""
    compiled = torch.compile(lambda x: (ops.cubed(x) * 2).sum(), backend="npugraph_ex")
    for values in ((1.0, 2.0), (3.0, -1.0)):
        x = npu(*values).requires_grad_()
        compiled(x).backward()
        assert x.grad is not None
        assert x.grad.cpu().tolist() == [6 * value * value for value in values]


class Attention(torch.nn.Module):
    """A decoder's cache: a buffer that each step writes."""

    cache: Tensor
    step: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cache", torch.zeros(8, 4))

    def forward(self, x: Tensor) -> Tensor:
        torch.ops.opwright_captured.shift_(self.cache[:4], 1)
        torch.ops.opwright_captured.shift_(self.cache, 2)
        return self.cache.sum(0) + x


def test_buffers_of_a_module_are_written_in_place(ops: _OpNamespace) -> None:
    del ops
    model = Attention().to("npu").eval()
    compiled = torch.compile(model, backend="npugraph_ex", fullgraph=True)
    address = model.cache.data_ptr()
    with torch.no_grad():
        for step in range(1, 5):
            x = npu(*[float(step)] * 4)
            assert compiled(x).cpu().tolist() == [step * 8 * 2 + step * 4 + step] * 4
            assert model.cache.cpu()[:, 0].tolist() == [3 * step] * 4 + [2 * step] * 4
    assert model.cache.data_ptr() == address


def test_functionalize_and_export_have_the_functional_twin(ops: _OpNamespace) -> None:
    class Shift(torch.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            y = x * 1
            ops.shift_(y, 3)
            return y

    x = npu(1, 2)
    assert torch.func.functionalize(Shift())(x).cpu().tolist() == [4, 5]
    exported = torch.export.export(Shift(), (x,)).run_decompositions({})
    targets = {str(node.target) for node in exported.graph.nodes}
    assert "opwright_captured.shift_functional.default" in targets
    assert exported.module()(x).cpu().tolist() == [4, 5]
