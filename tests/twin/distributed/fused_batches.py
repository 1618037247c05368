"""Products of batches over two groups of ranks, and of groups that all ranks add, step by step.

The expected values are computed on the CPU from what all ranks hold. Ranks 0 and 1 have other
experts than 2 and 3; 0 and 2, and 1 and 3, have other columns of the same.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import distributed as dist
from torch.nn import functional

from tests.twin.aclnn_calls import call
from tests.twin.distributed.fused import agree, draw, everyone, group_name

HALF = torch.float16
EXPERTS, ROWS, INNER, COLUMNS = 2, 3, 8, 6  # experts of one rank


def names() -> tuple[str, str, list[int], list[int]]:
    """Names and ranks of this rank's groups: of experts, and of tensors."""
    rank = dist.get_rank()
    made = {}
    for ranks in ([0, 2], [1, 3], [0, 1], [2, 3]):
        group = dist.new_group(ranks)
        if rank in ranks:
            backend: Any = group._get_backend(torch.device("npu"))  # noqa: SLF001 - the documented way
            made[tuple(ranks)] = backend.get_hccl_comm_name(rank)
    (first, first_name), (second, second_name) = made.items()
    return first_name, second_name, list(first), list(second)


def gathered(ep: list[int], tp: list[int], x: list[torch.Tensor], shard: int) -> torch.Tensor:
    """Rows of all ranks for this rank's experts."""
    rank = dist.get_rank()
    place = ep.index(rank)
    parts = []
    for peer in tp:
        # The peer's group of experts is as far from this one as the peer is from this rank.
        senders = [member + peer - rank for member in ep]
        blocks = [x[sender][place * EXPERTS : (place + 1) * EXPERTS] for sender in senders]
        parts.append(torch.stack(blocks, 1))  # [experts, ep, rows, inner]
    whole = torch.cat(parts, 3) if shard == 0 else torch.cat(parts, 2)
    return whole.flatten(1, 2)


def gather_and_multiply() -> None:
    rank = dist.get_rank()
    ep_name, tp_name, ep, tp = names()
    x = everyone((2 * EXPERTS, ROWS, INNER), HALF)
    for shard, activation in ((0, 0), (1, 1), (0, 3)):
        rows = gathered(ep, tp, x, shard)
        weight = draw(60 + rank, (EXPERTS, rows.size(2), COLUMNS), HALF)
        bias = draw(70 + rank, (EXPERTS, COLUMNS), HALF)
        product = (rows.float() @ weight.float() + bias.float()[:, None]).half()
        functions = {0: lambda y: y, 1: functional.gelu, 3: functional.relu}
        activated = functions[activation](product.float()).half()
        out = [torch.zeros_like(each).to("npu") for each in (activated, rows, product)]
        given = [tensor.to("npu") for tensor in (x[rank], weight, bias)]
        options = [ep_name, tp_name, 2, 2, shard, activation]
        call("aclnnAlltoAllAllGatherBatchMatMul", *given, *options, *out)
        for one, other in zip(out, (activated, rows, product), strict=True):
            agree(one, other)


def multiply_and_scatter() -> None:
    """Rows go back to where they were gathered from."""
    rank = dist.get_rank()
    ep_name, tp_name, ep, tp = names()
    for shard in (0, 1):
        rows = 2 * ROWS * (1 if shard == 0 else 2)
        x = everyone((EXPERTS, rows, INNER), HALF)
        weight = everyone((EXPERTS, INNER, COLUMNS), HALF, seed=60)
        columns = COLUMNS // 2 if shard == 0 else COLUMNS
        bias = everyone((EXPERTS, columns), HALF, seed=80)
        products = [(a.float() @ b.float()).half().float() for a, b in zip(x, weight, strict=True)]
        place = tp.index(rank)
        blocks = []
        for peer in ep:
            # The ranks of tensors beside the peer add their products.
            others = [member + peer - rank for member in tp]
            total = torch.stack([products[other] for other in others]).sum(0).half().float()
            if shard == 0:
                part = total.chunk(2, 2)[place]
            else:
                part = total.view(EXPERTS, 2, 2, ROWS, COLUMNS)[:, :, place].flatten(1, 2)
            part = (part + bias[peer].float()[:, None]).half()
            blocks.append(part.view(EXPERTS, 2, ROWS, columns)[:, ep.index(rank)])
        expected = torch.cat(blocks)
        out = torch.zeros_like(expected).to("npu")
        given = [tensor.to("npu") for tensor in (x[rank], weight[rank], bias[rank])]
        call("aclnnBatchMatMulReduceScatterAlltoAll", *given, ep_name, tp_name, 2, 2, shard, out)
        agree(out, expected)


def sums_of_groups() -> None:
    rank, sizes = dist.get_rank(), [2, 0, 3]
    x = everyone((sum(sizes), INNER), HALF)
    weights = [everyone((INNER, COLUMNS), HALF, seed=50 + 10 * i) for i in range(len(sizes))]
    bias = [draw(90 + i, (COLUMNS,), HALF) for i in range(len(sizes))]
    parts = [
        [
            (rows.float() @ weight[other].float() + b.float()).half()
            for rows, weight, b in zip(x[other].split_with_sizes(sizes), weights, bias, strict=True)
        ]
        for other in range(dist.get_world_size())
    ]
    expected = [torch.stack(same).float().sum(0) for same in zip(*parts, strict=True)]
    given = [[weight[rank].to("npu") for weight in weights], [b.to("npu") for b in bias]]
    options = [group_name(), "sum", 0, 1]
    one = [x[rank].to("npu")]
    out = [torch.zeros(sum(sizes), COLUMNS).half().to("npu")]
    call("aclnnGroupedMatMulAllReduce", one, *given, [2, 2, 5], 3, *options, out)
    agree(out[0], torch.cat(expected))
    each = [rows.to("npu") for rows in x[rank].split_with_sizes(sizes)]
    out = [torch.zeros(size, COLUMNS).half().to("npu") for size in sizes]
    call("aclnnGroupedMatMulAllReduce", each, *given, None, 0, *options, out)
    for result, wanted in zip(out, expected, strict=True):
        agree(result, wanted)
