"""Attention in captured graphs whose sequence lengths, values of the host, are updated.

Results equal those of eager calls bit for bit. A captured operator that can be updated waits for an
update in each replay, so each replay has one.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu

from tests.twin.graphs.captures import capture
from tests.twin.ops import samples

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Run = Callable[[list[int]], torch.Tensor]

HEADS, WIDTH, PAGE = 4, 16, 16


@cache
def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    """The same tensor each time: nothing may be copied to the device during a capture."""
    return samples.normal(*shape, seed=seed).to("npu")


def captured(run: Callable[[], torch.Tensor]) -> tuple[torch_npu.npu.NPUGraph, torch.Tensor]:
    run()  # makes its inputs
    return capture(run, auto_dispatch_capture=True)


def replayed(
    graph: torch_npu.npu.NPUGraph, result: torch.Tensor, *updates: dict[str, object]
) -> torch.Tensor:
    graph.update(cpu_update_input=list(updates))
    graph.replay()
    return result.cpu()


def padded(lengths: list[int], version: int) -> torch.Tensor:
    """Prefill: padded queries and keys."""
    query, key, value = (normal(2, HEADS, 8, WIDTH, seed=i) for i in range(3))
    result: torch.Tensor
    if version == 1:
        result, _ = torch_npu.npu_fused_infer_attention_score(
            query,
            key,
            value,
            num_heads=HEADS,
            input_layout="BNSD",
            actual_seq_lengths=lengths,
            actual_seq_lengths_kv=lengths,
        )
    else:
        result, _ = torch_npu.npu_fused_infer_attention_score_v2(
            query,
            key,
            value,
            num_query_heads=HEADS,
            input_layout="BNSD",
            actual_seq_qlen=lengths,
            actual_seq_kvlen=lengths,
        )
    return result


def names(version: int, lengths: list[int]) -> dict[str, object]:
    suffixes = ("engths", "engths_kv") if version == 1 else ("qlen", "kvlen")
    prefix = "actual_seq_l" if version == 1 else "actual_seq_"
    return {prefix + suffix: lengths for suffix in suffixes}


@pytest.mark.parametrize("version", [1, 2])
def test_lengths_of_padded_sequences(version: int) -> None:
    graph, result = captured(partial(padded, [3, 8], version))
    for lengths in ([3, 8], [8, 1], [5, 5], [3, 8]):
        actual = replayed(graph, result, names(version, lengths))
        assert torch.equal(actual, padded(lengths, version).cpu())
    assert not torch.equal(padded([3, 8], version), padded([8, 1], version))


class Decoder:
    """A step of generation: the key of the new token goes into its page, attention reads all."""

    def __init__(self) -> None:
        self.token = torch.zeros(2, 1, HEADS * WIDTH, dtype=torch.float16, device="npu")
        self.slots = torch.zeros(2, dtype=torch.int32, device="npu")
        self.table = torch.tensor([[4, 1, 3], [0, 5, 2]], dtype=torch.int32, device="npu")
        self.caches = [normal(6, PAGE, HEADS, WIDTH, seed=i).clone() for i in (1, 2)]

    def advance(self, lengths: Sequence[int], seed: int) -> None:
        self.token.copy_(normal(2, 1, HEADS * WIDTH, seed=seed))
        table = self.table.tolist()
        places = [
            table[i][(length - 1) // PAGE] * PAGE + (length - 1) % PAGE
            for i, length in enumerate(lengths)
        ]
        self.slots.copy_(torch.tensor(places))

    def step(self, lengths: Sequence[int]) -> torch.Tensor:
        heads = self.token.view(2, HEADS, WIDTH)
        torch_npu.npu_scatter_pa_kv_cache(
            heads, heads * 2, *self.caches, self.slots, cache_mode="Norm"
        )
        pages = [cache.view(6, PAGE, HEADS * WIDTH) for cache in self.caches]
        result: torch.Tensor = torch_npu.npu_fused_infer_attention_score(
            self.token,
            *pages,
            num_heads=HEADS,
            input_layout="BSH",
            block_table=self.table,
            block_size=PAGE,
            actual_seq_lengths_kv=list(lengths),
        )[0]
        return result + 1


def test_generation_with_pages() -> None:
    """Caches that the graph writes and reads, while sequences grow over the ends of their pages."""
    eager, graphed = Decoder(), Decoder()
    graph, result = captured(partial(graphed.step, [1, 1]))
    eager.step([1, 1])
    for i in range(20):
        lengths = [14 + i, 30 + i // 2]
        for decoder in (eager, graphed):
            decoder.advance(lengths, seed=10 + i)
        actual = replayed(graph, result, {"actual_seq_lengths_kv": lengths})
        assert torch.equal(actual, eager.step(lengths).cpu())
    for one, other in zip(eager.caches, graphed.caches, strict=True):
        assert torch.equal(one, other)


@cache
def causal() -> torch.Tensor:
    return torch.ones(2048, 2048, dtype=torch.bool, device="npu").triu(1)


def packed(ends: list[int], keys: list[int] | None = None) -> torch.Tensor:
    query, key, value = (normal(16, HEADS, WIDTH, seed=i) for i in range(3))
    result: torch.Tensor = torch_npu.npu_fused_infer_attention_score(
        query,
        key,
        value,
        num_heads=HEADS,
        input_layout="TND",
        atten_mask=causal(),
        sparse_mode=3,
        actual_seq_lengths=ends,
        actual_seq_lengths_kv=keys or ends,
    )[0]
    return result


def test_two_operators_with_updates_of_their_own() -> None:
    """One update for each, in the order of the calls; one for all is given to each."""

    def run(first: list[int], second: list[int]) -> torch.Tensor:
        return torch.stack((packed(first), packed(second, [8, 12])))

    graph, result = captured(partial(run, [4, 16], [4, 16]))
    for first, second in (([4, 16], [4, 16]), ([8, 9], [1, 16])):
        updates: list[dict[str, object]] = [
            {"actual_seq_lengths": first, "actual_seq_lengths_kv": first},
            {"actual_seq_lengths": second},
        ]
        assert torch.equal(replayed(graph, result, *updates), run(first, second).cpu())
    both: dict[str, object] = {"actual_seq_lengths": [7, 10], "actual_seq_lengths_kv": [8, 12]}
    expected = torch.stack((packed([7, 10], [8, 12]), packed([7, 10], [8, 12])))
    assert torch.equal(replayed(graph, result, both), expected.cpu())


def trained(ends: list[int], query: torch.Tensor) -> torch.Tensor:
    key, value = (normal(16, HEADS, WIDTH, seed=i) for i in (1, 2))
    lengths = torch.tensor(ends)
    result: torch.Tensor = torch_npu.npu_fusion_attention_v3(
        query,
        key,
        value,
        HEADS,
        "TND",
        scale=0.3,
        actual_seq_qlen=lengths,
        actual_seq_kvlen=lengths,
    )[0]
    return result


def gradient(ends: list[int]) -> torch.Tensor:
    query = normal(16, HEADS, WIDTH).clone().requires_grad_()
    return torch.autograd.grad(trained(ends, query).square().sum(), query)[0]


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.filterwarnings("ignore:The AccumulateGrad node's stream", "ignore:TypedStorage")
def test_packed_training(backward: bool) -> None:  # noqa: FBT001
    """npu_fusion_attention_v3 and its gradient: the lengths are tensors of the host."""
    run = gradient if backward else partial(trained, query=normal(16, HEADS, WIDTH))
    graph, result = captured(partial(run, [4, 16]))
    for ends in ([4, 16], [8, 16], [2, 3]):
        lengths = torch.tensor(ends)
        update: dict[str, object] = {"actual_seq_qlen": lengths, "actual_seq_kvlen": lengths}
        assert torch.equal(replayed(graph, result, update), run(ends).cpu())


def test_an_update_that_cannot_run() -> None:
    """The error names the parameter; the process goes on."""
    graph, result = captured(partial(padded, [3, 8], 1))
    with pytest.raises(RuntimeError, match="actualSeqLengths"):
        replayed(graph, result, names(1, [3, 80]))
    assert torch.equal(padded([2, 2], 1).cpu()[:, :, 2:], torch.zeros(2, HEADS, 6, WIDTH).half())
