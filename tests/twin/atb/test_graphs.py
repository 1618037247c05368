"""Operations of ATB in captured and compiled graphs."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.atb.attention_problems import attention, on_npu, paged
from tests.twin.graphs.captures import capture, new_stream
from tests.twin.ops.compare import agree
from tests.twin.ops.samples import normal

npu = torch_npu.npu
HEADS, SIZE, SCALE = 4, 32, 0.2


def int32(values: list[int]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


class Decoder:
    """A step of a model: a token's key and value go into the cache, and it attends to all."""

    def __init__(self, lengths: list[int]) -> None:
        self.caches = paged(lengths, HEADS, SIZE, torch.float16)
        count = len(lengths)
        self.query, self.key, self.value = (normal(count, HEADS, SIZE, seed=i) for i in range(3))
        self.q, self.k, self.v = on_npu(self.query, self.key, self.value)
        self.keys, self.values, self.table = on_npu(
            self.caches.keys, self.caches.values, self.caches.table
        )
        self.slots = self.slots_of(lengths).to("npu")
        self.out = torch.empty_like(self.q)

    def slots_of(self, lengths: list[int]) -> torch.Tensor:
        block = self.caches.keys.shape[1]
        places = [length - 1 for length in lengths]
        return int32(
            [
                int(self.caches.table[i, place // block]) * block + place % block
                for i, place in enumerate(places)
            ]
        )

    def store(self) -> None:
        torch_npu._npu_reshape_and_cache(  # noqa: SLF001  # as models call it
            self.k, self.v, self.keys, self.values, self.slots
        )

    def attend(self, lengths: list[int], workspace: torch.Tensor | None = None) -> None:
        torch_npu._npu_paged_attention(  # noqa: SLF001
            query=self.q,
            key_cache=self.keys,
            value_cache=self.values,
            num_kv_heads=HEADS,
            num_heads=HEADS,
            scale_value=SCALE,
            block_table=self.table,
            context_lens=int32(lengths),
            out=self.out,
            workspace=workspace,
        )

    def workspace(self, lengths: list[int]) -> torch.Tensor:
        result: torch.Tensor = torch_npu._npu_paged_attention_get_workspace(  # noqa: SLF001
            query=self.q,
            key_cache=self.keys,
            value_cache=self.values,
            num_kv_heads=HEADS,
            num_heads=HEADS,
            scale_value=SCALE,
            block_table=self.table,
            context_lens=int32(lengths),
            out=self.out,
        )
        return result

    def expected(self, lengths: list[int]) -> torch.Tensor:
        """Of what the caches hold now."""
        self.caches.keys, self.caches.values = self.keys.cpu(), self.values.cpu()
        self.caches.lengths = lengths
        query = self.q.cpu()
        parts = [
            attention(query[i : i + 1], self.caches.key(i), self.caches.value(i), SCALE)
            for i in range(len(lengths))
        ]
        return torch.cat(parts).half()


def test_replays_read_what_is_there() -> None:
    lengths = [5, 20]
    step = Decoder(lengths)

    def body() -> None:
        step.store()
        step.attend(lengths)

    graph, _ = capture(body)
    for seed in (5, 6):
        step.q.copy_(normal(2, HEADS, SIZE, seed=seed))
        step.k.copy_(normal(2, HEADS, SIZE, seed=seed + 10))
        graph.replay()
        last = step.keys.flatten(0, 1)[step.slots.long()]
        agree(last, step.k.cpu())
        agree(step.out, step.expected(lengths))


def test_an_update_brings_new_lengths() -> None:
    """As vLLM does it: a task group behind an event, and a workspace that was asked for before."""
    step = Decoder([5, 20])
    event, update = npu.ExternalEvent(), new_stream()
    workspace = step.workspace([5, 20])
    handles = []

    def body() -> None:
        stream = npu.current_stream()
        event.wait(stream)
        event.reset(stream)
        npu.graph_task_group_begin(stream)
        step.attend([5, 20], workspace)
        handles.append(npu.graph_task_group_end(stream))

    graph, _ = capture(body)
    for lengths in ([6, 21], [7, 3]):
        with npu.stream(update):
            npu.graph_task_update_begin(update, handles[0])
            step.attend(lengths, workspace)
            npu.graph_task_update_end(update)
            event.record(update)
        graph.replay()
        npu.synchronize()
        agree(step.out, step.expected(lengths))


def test_functions_that_are_looked_up_are_captured() -> None:
    x, bias = normal(4, 8, dtype=torch.float32).to("npu"), torch.zeros(8, device="npu")
    graph, (y, indices) = capture(
        lambda: torch_npu.atb.npu_fused_add_topk_div(
            x, bias, group_num=2, group_topk=2, n=1, k=2, is_norm=False
        )
    )
    x.copy_(normal(4, 8, dtype=torch.float32, seed=3))
    graph.replay()
    values, order = x.cpu().sigmoid().topk(2)
    agree(y, values)
    agree(indices, order.int())


@pytest.mark.compile
@pytest.mark.parametrize("backend", ["aot_eager", "npugraph_ex"])
def test_a_compiled_step_stores_and_attends(backend: str) -> None:
    step, eager = Decoder([5, 20]), Decoder([5, 20])
    lengths = int32([5, 20])

    def function(step: Decoder, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        torch_npu._npu_reshape_and_cache(  # noqa: SLF001
            key * 2, step.v, step.keys, step.values, step.slots
        )
        out = torch.empty_like(query)
        torch_npu._npu_paged_attention(  # noqa: SLF001
            query, step.keys, step.values, HEADS, HEADS, SCALE, step.table, lengths, out
        )
        return out + 1

    compiled = torch.compile(function, backend=backend, dynamic=False, fullgraph=True)
    with torch.no_grad():
        for seed in range(3):
            operands = on_npu(*(normal(2, HEADS, SIZE, seed=seed + i) for i in (3, 8)))
            assert torch.equal(compiled(step, *operands), function(eager, *operands))
            assert torch.equal(step.keys, eager.keys)
