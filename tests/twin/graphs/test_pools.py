"""Memory of captured graphs: pools, what they give back, and what they keep apart."""

from __future__ import annotations

import gc
import logging
from functools import partial
from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu

from tests.twin.graphs.captures import capture, refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MIB = 1 << 20


def reserved() -> int:
    gc.collect()
    torch_npu.npu.empty_cache()
    size: int = torch_npu.npu.memory_reserved()
    return size


@pytest.fixture
def base() -> Iterator[int]:
    """Reserve as much memory after the test as before it."""
    before = reserved()
    yield before
    assert reserved() == before


def scratch(x: torch.Tensor) -> torch.Tensor:
    """Need 32 MiB on the way and return one element per row."""
    wide = x[:, None].expand(-1, 8 * MIB // x.numel()) + 1.0
    return wide.mul_(2).sum(1)


def test_a_graph_keeps_its_memory_until_it_is_reset(base: int) -> None:
    x = torch.ones(4).to("npu")
    graph, y = capture(partial(scratch, x))
    held = reserved() - base
    assert held >= 32 * MIB
    for value in (1, 2):
        x.fill_(value)
        graph.replay()
        assert y.tolist() == [(value + 1) * 2 * (2 * MIB)] * 4
    graph.reset()
    assert y.tolist() == [3 * 2 * (2 * MIB)] * 4  # a result outlives its graph
    assert reserved() - base < held


def test_graphs_of_one_pool_share_scratch_memory(base: int) -> None:
    x = torch.ones(4).to("npu")
    apart = [capture(partial(scratch, x)) for _ in range(3)]
    separate = reserved() - base
    apart.clear()
    pool = torch_npu.npu.graph_pool_handle()
    shared = [capture(partial(scratch, x), pool=pool) for _ in range(3)]
    together = reserved() - base
    assert separate >= 3 * 32 * MIB
    assert together <= separate / 2
    assert [graph.pool() for graph, _ in shared] == [pool] * 3
    for value in (1, 5):
        x.fill_(value)
        for graph, y in shared:
            graph.replay()
            assert y.tolist() == [(value + 1) * 2 * (2 * MIB)] * 4


def test_a_graph_joins_the_pool_of_another(base: int) -> None:  # noqa: ARG001
    x = torch.ones(4).to("npu")
    first, y = capture(lambda: x + 1)
    second, z = capture(lambda: y * 2, pool=first.pool())
    assert second.pool() == first.pool()
    first.replay()
    second.replay()
    assert z.tolist() == [4] * 4
    first.reset()
    x.zero_()
    second.replay()  # the pool lives as long as one of its graphs
    assert z.tolist() == [4] * 4


def test_results_of_graphs_in_one_pool_stay_apart(base: int) -> None:  # noqa: ARG001
    pool = torch_npu.npu.graph_pool_handle()
    x = torch.zeros(1000).to("npu")
    captured = [capture(partial(torch.add, x, n), pool=pool) for n in range(20)]
    for value in (0, 7):
        x.fill_(value)
        for graph, _ in captured:
            graph.replay()
        assert [y[0].item() for _, y in captured] == [value + n for n in range(20)]


def test_what_a_replay_reads_is_not_given_to_others(base: int) -> None:  # noqa: ARG001
    x = torch.ones(64).to("npu")

    def step() -> torch.Tensor:
        a = x + 1
        b = a * 2
        return b + a

    graph, y = capture(step)
    for round_ in range(20):
        noise = [torch.full((64,), float("nan"), device="npu") for _ in range(30)]
        graph.replay()
        assert y.tolist() == [6] * 64
        assert all(block.isnan().all().item() for block in noise), round_


@pytest.mark.parametrize("refused", [torch.nonzero, torch.Tensor.cpu], ids=["nonzero", "cpu"])
def test_a_refused_call_costs_no_memory(
    base: int,
    refused: Callable[[torch.Tensor], torch.Tensor],
    caplog: pytest.LogCaptureFixture,
) -> None:
    # torch_npu logs the exception, whose frames hold the graph as long as pytest has the record.
    caplog.set_level(logging.CRITICAL, logger="torch_npu.npugraph.__cudagraphs")
    x = torch.ones(4).to("npu")
    for _ in range(3):
        refusal(lambda: refused(scratch(x)))
        assert reserved() - base <= 4 * MIB


expandable = pytest.mark.isolated(PYTORCH_NPU_ALLOC_CONF="expandable_segments:True")


@expandable
def test_expandable_segments_of_a_pool_are_given_back() -> None:
    x = torch.ones(4).to("npu")
    before = reserved()
    pool = torch_npu.npu.graph_pool_handle()
    captured = [capture(partial(scratch, x), pool=pool) for _ in range(3)]
    assert any(segment["is_expandable"] for segment in torch_npu.npu.memory_snapshot())
    for value in range(5):
        x.fill_(value)
        noise = [torch.full((n * MIB // 4,), -1.0, device="npu") for n in range(1, 5)]
        for graph, y in captured:
            graph.replay()
            assert y.tolist() == [(value + 1) * 4 * MIB] * 4
        assert all(bool((block == -1).all()) for block in noise)
        del noise
        torch_npu.npu.empty_cache()
    held = torch_npu.npu.memory_reserved() - before
    for graph, _ in captured:
        graph.reset()
    del captured, graph, y
    assert held >= 32 * MIB
    assert reserved() - before <= 2 * MIB


def captured_on_memory_that_is_freed() -> tuple[torch_npu.npu.NPUGraph, torch.Tensor]:
    big = torch.ones(16 * MIB, device="npu")
    return capture(lambda: big[:3] + 1)


@expandable
def test_a_replay_misses_memory_that_was_freed_in_an_expandable_segment() -> None:
    graph, _ = captured_on_memory_that_is_freed()
    torch_npu.npu.empty_cache()
    graph.replay()
    with pytest.raises(RuntimeError, match="was freed after the capture"):
        torch_npu.npu.synchronize()
