"""GroupTopk and the choice of experts by formula: native/atb/ops/topk.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.atb.attention_problems import on_npu
from tests.twin.ops.compare import HALVES, agree
from tests.twin.ops.samples import normal

TOKENS, EXPERTS, GROUPS = 6, 16, 4


def best_groups(scores: torch.Tensor, best: int, count: int) -> torch.Tensor:
    result = scores.clone()
    for row, kept in zip(scores, result, strict=True):
        groups = row.float().view(GROUPS, -1)
        totals = [group.sort(descending=True).values[:count].sum().item() for group in groups]
        order = sorted(range(GROUPS), key=lambda group: -totals[group])
        for group in order[best:]:
            kept.view(GROUPS, -1)[group] = 0
    return result


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize(("best", "count"), [(1, 1), (2, 2), (3, 4), (4, 1)])
def test_groups_beyond_the_best_are_zero(best: int, count: int, dtype: torch.dtype) -> None:
    scores = normal(TOKENS, EXPERTS, dtype=dtype)
    device = scores.to("npu")
    torch_npu._npu_group_topk(self=device, k=best, group_num=GROUPS, n=count)  # noqa: SLF001
    agree(device, best_groups(scores, best, count))


@pytest.mark.parametrize("is_mapped", [False, True])
@pytest.mark.parametrize("is_norm", [False, True])
def test_experts_and_their_weights(*, is_norm: bool, is_mapped: bool) -> None:
    x = normal(TOKENS, EXPERTS, dtype=torch.float32)
    bias = normal(EXPERTS, dtype=torch.float32, seed=1)
    number = torch.arange(EXPERTS, dtype=torch.int32) % 3 + 1
    table = torch.randperm(EXPERTS * 3, generator=torch.Generator().manual_seed(2))
    table = table.view(EXPERTS, 3).int()
    devices = on_npu(x, bias, number, table)
    y, indices = torch_npu.atb.npu_fused_add_topk_div(
        devices[0],
        devices[1],
        mapping_num=devices[2] if is_mapped else None,
        mapping_table=devices[3] if is_mapped else None,
        group_num=GROUPS,
        group_topk=2,
        n=2,
        k=5,
        is_norm=is_norm,
        scale=2.5,
        enable_expert_mapping=is_mapped,
    )
    weights = x.sigmoid()
    scores = best_groups(weights + bias, 2, 2)
    experts = scores.sort(dim=-1, descending=True, stable=True).indices[:, :5]
    expected = weights.gather(1, experts)
    if is_norm:
        expected = expected / expected.sum(-1, keepdim=True) * 2.5
    agree(y, expected)
    if is_mapped:
        token = torch.arange(TOKENS).unsqueeze(1)
        experts = table[experts, token % number[experts]]
    agree(indices, experts.int())
