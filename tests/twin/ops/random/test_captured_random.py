"""Random operators in captured graphs: random/random.cpp with the state in tensors.

While torch_npu captures, seed and offset live on the device; each replay advances the offset.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu
from torch.nn import functional

from tests.twin.graphs.captures import capture
from tests.twin.ops.compare import agree

if TYPE_CHECKING:
    from collections.abc import Callable

    Draw = Callable[[], torch.Tensor]

COUNT = 200
REPLAYS = 3


def empty(dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(COUNT, dtype=dtype, device="npu")


def weights() -> torch.Tensor:
    return torch.arange(1, 21, device="npu").float().expand(5, 20)


def attention() -> torch.Tensor:
    """With one value of 1 per key, so that the result shows what dropout left."""
    query = torch.zeros(1, 2, 16, 16, device="npu", dtype=torch.float16)
    value = torch.eye(16, device="npu", dtype=torch.float16).expand(1, 2, 16, 16).contiguous()
    result: torch.Tensor = torch_npu.npu_fusion_attention_v3(
        query, query, value, 2, "BNSD", keep_prob=0.5
    )[0]
    return result


DRAWS: dict[str, Draw] = {
    "uniform": lambda: empty().uniform_(-1, 3),
    "normal": lambda: empty().normal_(2, 3),
    "random": lambda: empty(torch.int32).random_(),
    "random_to": lambda: empty(torch.int64).random_(1000),
    "random_from_to": lambda: empty().random_(-300, 400),
    "exponential": lambda: empty().exponential_(2),
    "multinomial": lambda: torch.multinomial(weights(), COUNT, replacement=True),
    "multinomial_once": lambda: torch.multinomial(weights(), 15),
    "rand": lambda: torch.rand(COUNT, device="npu"),
    "randn": lambda: torch.randn(COUNT, device="npu"),
    "randint": lambda: torch.randint(0, 999, (COUNT,), device="npu"),
    "dropout": lambda: functional.dropout(torch.ones(COUNT, device="npu"), 0.5),
    "attention_dropout": attention,
}
draws = pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS.keys())


def replays(graph: torch_npu.npu.NPUGraph, result: torch.Tensor, count: int) -> list[torch.Tensor]:
    numbers = []
    for _ in range(count):
        graph.replay()
        numbers.append(result.cpu())
    return numbers


@draws
def test_replays_go_on_as_eager_calls_do(draw: Draw) -> None:
    """Each replay gives the numbers that the next eager call would give, and eager calls go on."""
    graph, result = capture(draw)
    torch_npu.npu.manual_seed(5)
    expected = [draw().cpu() for _ in range(REPLAYS + 1)]
    torch_npu.npu.manual_seed(5)
    agree(replays(graph, result, REPLAYS), expected[:-1])
    agree(draw().cpu(), expected[-1])
    assert not torch.equal(expected[0], expected[1])


def test_several_draws_in_one_graph() -> None:
    """They differ from each other, and the state moves on by all of them."""

    def draw() -> torch.Tensor:
        return torch.cat((torch.rand(COUNT, device="npu"), empty().normal_(), empty().uniform_()))

    graph, result = capture(draw)
    torch_npu.npu.manual_seed(9)
    expected = [draw().cpu() for _ in range(REPLAYS)]
    torch_npu.npu.manual_seed(9)
    numbers = replays(graph, result, REPLAYS)
    agree(numbers, expected)
    assert not torch.equal(numbers[0][:COUNT], numbers[0][2 * COUNT :])


def test_two_graphs_share_the_state() -> None:
    """Replays in turn give one sequence of numbers, as eager calls in that order do."""
    first, second = capture(DRAWS["rand"]), capture(DRAWS["normal"])
    torch_npu.npu.manual_seed(3)
    expected = [DRAWS[name]().cpu() for name in ("rand", "normal", "normal", "rand")]
    torch_npu.npu.manual_seed(3)
    numbers = [replays(*graph, 1)[0] for graph in (first, second, second, first)]
    agree(numbers, expected)


def test_saved_state_repeats_a_replay() -> None:
    graph, result = capture(DRAWS["dropout"])
    replays(graph, result, 1)
    state = torch_npu.npu.get_rng_state()
    (before,) = replays(graph, result, 1)
    torch_npu.npu.set_rng_state(state)
    agree(replays(graph, result, 1), [before])
