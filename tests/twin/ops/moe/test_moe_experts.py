"""Tables of experts: native/opapi/ops/moe/moe_experts.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.ops.compare import agree, rejects, run_on_npu
from tests.twin.ops.samples import positions, some

NUMBERS = torch.tensor([[2, 0, 3], [1, 2, 0]])  # of tokens, from rank for expert


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int8])
@pytest.mark.parametrize("index", [torch.int32, torch.int64])
@pytest.mark.parametrize("forms", [(1, 0), (0, 1)])
def test_re_routing(dtype: torch.dtype, index: torch.dtype, forms: tuple[int, int]) -> None:
    tokens, scales = some((8, 4), dtype), some((8,), torch.float32)
    order: list[int] = []
    for expert in range(3):
        for rank in range(2):
            start = int(NUMBERS.flatten()[: rank * 3 + expert].sum())
            order += range(start, start + int(NUMBERS[rank, expert]))
    gathered = torch.tensor(order, dtype=torch.int32)
    scattered = torch.argsort(gathered).int()
    counts = NUMBERS.sum(0)
    actual = run_on_npu(
        torch_npu.npu_moe_re_routing,
        tokens,
        NUMBERS.to(index),
        per_token_scales=scales,
        expert_token_num_type=forms[0],
        idx_type=forms[1],
    )
    number = (counts if forms[0] else counts.cumsum(0)).to(index)
    chosen = gathered.long()
    agree(actual, (tokens[chosen], scales[chosen], scattered if forms[1] else gathered, number))


TABLE = torch.tensor([[1, 4, 0, 0], [2, 1, 3, 0], [3, 0, 2, 5]], dtype=torch.int32)


@pytest.mark.parametrize("rank", [0, 3, 5])
@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_update_expert(rank: int, mode: int, dtype: torch.dtype) -> None:
    experts = positions((6, 2), 3, dtype)
    scales, threshold = some((6, 2), torch.float32, 0, 1), torch.tensor([[0.3, 0.6]])
    active = torch.arange(6) < 4
    ids, mask = torch.zeros(6, 2, dtype=dtype), torch.zeros(6, 2, dtype=torch.bool)
    for token in range(6):
        for choice in range(2):
            copies, *where = TABLE[experts[token, choice]].tolist()
            ids[token, choice] = where[token % copies if mode else rank // -(-6 // copies)]
            share = threshold[0, choice] * scales[token].sum()
            mask[token, choice] = bool(active[token]) and bool(scales[token, choice] >= share)
    actual = run_on_npu(
        torch_npu.npu_moe_update_expert,
        experts,
        TABLE,
        expert_scales=scales,
        pruning_threshold=threshold,
        active_mask=active,
        local_rank_id=rank,
        world_size=6,
        balance_mode=mode,
    )
    agree(actual, (ids, mask))


def test_moe_experts_refuses_wrong_calls() -> None:
    tokens = some((5, 4), torch.float16)
    rejects("expertTokenNumPerRank", torch_npu.npu_moe_re_routing, tokens, NUMBERS)
    experts = positions((6, 2), 3)
    rejects("localRankId", torch_npu.npu_moe_update_expert, experts, TABLE, world_size=6)
