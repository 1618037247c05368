"""One captured graph per shape, all in one pool, as a server captures its batch sizes."""

from __future__ import annotations

from functools import partial

import torch
import torch_npu
from torch import nn

from tests.twin.graphs.captures import capture


class Runner:
    """Pads a batch to the next captured size and replays that graph."""

    def __init__(self, module: nn.Module, sizes: list[int], width: int) -> None:
        self.module = module
        self.x = torch.zeros(max(sizes), width).to("npu")
        self.captured: dict[int, tuple[torch_npu.npu.NPUGraph, torch.Tensor]] = {}
        pool = None
        for size in sorted(sizes, reverse=True):
            # The largest comes first: the others fit into its memory.
            self.captured[size] = capture(partial(module, self.x[:size]), pool=pool)
            pool = self.captured[size][0].pool()

    def __call__(self, batch: torch.Tensor) -> torch.Tensor:
        count = len(batch)
        size = min(size for size in self.captured if size >= count)
        graph, y = self.captured[size]
        self.x[:count].copy_(batch)
        self.x[count:].zero_()
        graph.replay()
        return y[:count]


def test_batches_of_many_sizes() -> None:
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Linear(16, 64), nn.SiLU(), nn.Linear(64, 16)).to("npu")
    with torch.no_grad():
        runner = Runner(layers, [1, 2, 4, 8, 16], 16)
        for count in (1, 3, 16, 7, 2, 8, 5, 1, 12):
            batch = torch.randn(count, 16).to("npu")
            torch.testing.assert_close(runner(batch), layers(batch), rtol=1e-6, atol=1e-6)
            padded = min(size for size in runner.captured if size >= count)
            assert torch.equal(runner(batch), layers(runner.x[:padded])[:count])


def doubled_sums(x: torch.Tensor) -> torch.Tensor:
    return (x * 2).cumsum(0)


def test_a_shape_is_captured_again_in_the_same_pool() -> None:
    pool = torch_npu.npu.graph_pool_handle()
    x = torch.arange(64.0).to("npu")
    last = None
    for size in (4, 64, 9, 64, 1):
        graph, y = capture(partial(doubled_sums, x[:size]), pool=pool)
        if last is not None:
            last.reset()  # not before: a pool without graphs is gone, for torch_npu as for CUDA
        graph.replay()
        assert torch.equal(y, doubled_sums(x[:size]))
        last = graph
