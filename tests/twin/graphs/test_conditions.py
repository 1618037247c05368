"""torch.cond in captured graphs: a value on the device chooses the body of each replay."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu
from torch_npu.npu._npugraph_conditional_nodes import (  # no public name in torch_npu 2.13.0
    NPUGraphCaptureControlFlowOpDispatchMode as CaptureConditions,
)

from tests.twin.graphs.captures import check_usable, new_stream

if TYPE_CHECKING:
    from collections.abc import Callable

# torch.cond is traced by torch.compile's frontend when it is first met.
pytestmark = pytest.mark.compile


def capture(body: Callable[[], torch.Tensor]) -> tuple[torch_npu.npu.NPUGraph, torch.Tensor]:
    graph = torch_npu.npu.NPUGraph()
    stream = new_stream()
    with torch_npu.npu.graph(graph, stream=stream), CaptureConditions():
        result = body()
    return graph, result


def test_a_value_chooses_at_each_replay() -> None:
    x = torch.ones(4).to("npu")
    choice = torch.tensor([True]).to("npu")

    def body() -> torch.Tensor:
        result: torch.Tensor = torch.cond(choice, lambda x: x * 2, lambda x: x - 1, (x,))
        return result + 100

    graph, y = capture(body)
    for value, chosen in enumerate([True, False, False, True]):
        x.fill_(value)
        choice.fill_(chosen)
        graph.replay()
        assert y.tolist() == [(value * 2 if chosen else value - 1) + 100] * 4
    check_usable()


def test_a_value_that_the_graph_computes() -> None:
    x = torch.zeros(4).to("npu")

    def body() -> torch.Tensor:
        result: torch.Tensor = torch.cond(x.sum() > 10, lambda x: x.sin(), lambda x: x.cos(), (x,))
        return result

    graph, y = capture(body)
    for value in (0.0, 1.0, 3.0, 2.0, 9.0):
        x.fill_(value)
        graph.replay()
        assert torch.equal(y, x.sin() if 4 * value > 10 else x.cos())


def test_conditions_inside_of_conditions() -> None:
    x = torch.zeros(4).to("npu")
    outer, inner = (torch.tensor([True]).to("npu") for _ in range(2))

    def nested(x: torch.Tensor, choice: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = torch.cond(choice, lambda x: x + 1, lambda x: x + 2, (x,))
        return result * 10

    def other(x: torch.Tensor, choice: torch.Tensor) -> torch.Tensor:
        del choice
        return x - 1

    graph, y = capture(lambda: torch.cond(outer, nested, other, (x, inner)))
    for a, b, expected in ((1, 1, 10), (1, 0, 20), (0, 1, -1), (0, 0, -1)):
        outer.fill_(a)
        inner.fill_(b)
        graph.replay()
        assert y.tolist() == [expected] * 4


def test_random_numbers_in_a_body() -> None:
    """torch_npu refuses them; what else was captured is given up, and the process goes on."""
    x = torch.zeros(4).to("npu")
    choice = torch.tensor([True]).to("npu")
    before = torch_npu.npu.current_stream()
    with pytest.raises(RuntimeError, match="RNG within data-dependent conditional nodes"):
        capture(lambda: torch.cond(choice, lambda x: x + torch.rand_like(x), lambda x: x + 1, (x,)))
    torch_npu.npu.set_stream(before)
    check_usable()
