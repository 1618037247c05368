"""Operators that communicate, against the product and the collective one after the other.

The expected values are computed on the CPU from what all ranks hold.
"""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
import torch
import torch_npu
from torch import distributed as dist

from tests.twin.aclnn_calls import AclnnError, call, launch, prepare
from tests.twin.distributed.failures import done, fails

HALVES = (torch.float16, torch.bfloat16)
ROWS, INNER, COLUMNS = 6, 32, 8  # ROWS has all sizes of a world as divisors


def group_name() -> str:
    """Return the name that CANN has for the ranks' communicator."""
    group = dist.group.WORLD
    assert group is not None
    backend: Any = group._get_backend(torch.device("npu"))  # noqa: SLF001 - the documented way
    name: str = backend.get_hccl_comm_name(dist.get_rank())
    return name


def draw(seed: int, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Return small numbers, so that halves round seldom."""
    generator = torch.Generator().manual_seed(seed)
    return (torch.randint(-8, 9, shape, generator=generator) / 8).to(dtype)


def everyone(shape: tuple[int, ...], dtype: torch.dtype, seed: int = 0) -> list[torch.Tensor]:
    """Return what all ranks hold."""
    return [draw(seed + rank, shape, dtype) for rank in range(dist.get_world_size())]


def agree(got: torch.Tensor, expected: torch.Tensor) -> None:
    """Compare a result of the device within one rounding of halves."""
    assert got.device.type == "npu"
    tolerance = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2}.get(got.dtype, 1e-5)
    torch.testing.assert_close(got.cpu().float(), expected.float(), rtol=tolerance, atol=tolerance)


def all_gather_matmul() -> None:
    rank = dist.get_rank()
    for dtype in HALVES:
        x = everyone((ROWS, INNER), dtype)
        weight = draw(99 + rank, (INNER, COLUMNS), dtype)
        product, gathered = torch_npu.npu_all_gather_base_mm(
            x[rank].to("npu"), weight.to("npu"), group_name(), dist.get_world_size()
        )
        agree(gathered, torch.cat(x))
        agree(product, torch.cat(x).float() @ weight.float())
        transposed = weight.t().contiguous().to("npu").t()
        product, _ = torch_npu.npu_all_gather_base_mm(
            x[rank].to("npu"), transposed, group_name(), dist.get_world_size(), gather_output=False
        )
        agree(product, torch.cat(x).float() @ weight.float())


def quantized_all_gather_matmul() -> None:
    """Each rank's rows have its own scales, also where there is one row."""
    rank, size = dist.get_rank(), dist.get_world_size()
    weight, by_column = (
        draw_bytes(99, (INNER, COLUMNS)),
        draw(98, (1, COLUMNS), torch.float32).abs() + 0.125,
    )
    for rows in (1, ROWS):
        x = [draw_bytes(r, (rows, INNER)) for r in range(size)]
        by_row = [draw(70 + r, (rows, 1), torch.float32).abs() + 0.125 for r in range(size)]
        product, gathered = torch_npu.npu_all_gather_base_mm(
            x[rank].to("npu"),
            weight.to("npu"),
            group_name(),
            size,
            x1_scale=by_row[rank].to("npu"),
            x2_scale=by_column.to("npu"),
            output_dtype=torch.float16,
            comm_mode="aiv",
        )
        assert torch.equal(gathered.cpu(), torch.cat(x))
        expected = [
            (a.double() @ weight.double()) * s * by_column for a, s in zip(x, by_row, strict=True)
        ]
        agree(product, torch.cat(expected).half())


def matmul_reduce_scatter() -> None:
    rank, size = dist.get_rank(), dist.get_world_size()
    for dtype in HALVES:
        x, weight = everyone((2 * size, INNER), dtype), everyone((INNER, COLUMNS), dtype, seed=50)
        got = torch_npu.npu_mm_reduce_scatter_base(
            x[rank].to("npu"), weight[rank].to("npu"), group_name(), size
        )
        parts = [(a.float() @ b.float()).to(dtype) for a, b in zip(x, weight, strict=True)]
        agree(got, torch.stack(parts).float().sum(0).chunk(size)[rank])


def matmul_all_reduce() -> None:
    rank = dist.get_rank()
    for dtype in HALVES:
        for shape in ((ROWS, INNER), (2, 3, INNER)):
            x, weight = everyone(shape, dtype), everyone((INNER, COLUMNS), dtype, seed=50)
            bias = everyone((COLUMNS,), dtype, seed=70)
            addend = everyone((*shape[:-1], COLUMNS), dtype, seed=80)
            got = torch_npu.npu_mm_all_reduce_base(
                x[rank].to("npu"),
                weight[rank].to("npu"),
                group_name(),
                bias=bias[rank].to("npu"),
                x3=addend[rank].to("npu"),
            )
            whole = zip(x, weight, bias, addend, strict=True)
            parts = [a.float() @ b.float() + c.float() + d.float() for a, b, c, d in whole]
            agree(got, torch.stack([part.to(dtype) for part in parts]).float().sum(0))


def quantized_all_reduce() -> None:
    rank, size = dist.get_rank(), dist.get_world_size()
    x = [
        torch.randint(-9, 10, (ROWS, INNER), dtype=torch.int8, generator=seeded(i))
        for i in range(size)
    ]
    weight = torch.randint(-9, 10, (INNER, COLUMNS), dtype=torch.int8, generator=seeded(90))
    scale = draw(91, (COLUMNS,), torch.float32).abs() + 0.125
    by_token = [draw(30 + i, (ROWS,), torch.float32).abs() + 0.125 for i in range(size)]
    got = torch_npu.npu_mm_all_reduce_base(
        x[rank].to("npu"),
        weight.to("npu"),
        group_name(),
        dequant_scale=scale.to("npu"),
        pertoken_scale=by_token[rank].to("npu"),
    )
    products = [
        (a.double() @ weight.double() * scale * b[:, None]).half()
        for a, b in zip(x, by_token, strict=True)
    ]
    agree(got, torch.stack(products).float().sum(0))


def weight_quantized_all_reduce() -> None:
    rank = dist.get_rank()
    x = everyone((ROWS, INNER), torch.float16)
    weight = torch.randint(-9, 10, (INNER, COLUMNS), dtype=torch.int8, generator=seeded(90))
    scale, offset = draw(91, (COLUMNS,), torch.float16), draw(92, (COLUMNS,), torch.float16)
    got = torch_npu.npu_mm_all_reduce_base(
        x[rank].to("npu"),
        weight.to("npu"),
        group_name(),
        antiquant_scale=scale.to("npu"),
        antiquant_offset=offset.to("npu"),
    )
    real = ((weight.float() + offset.float()) * scale.float()).half().float()
    agree(got, torch.stack([(a.float() @ real).half() for a in x]).float().sum(0))


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def all_to_all_matmul() -> None:
    rank, size = dist.get_rank(), dist.get_world_size()
    x = everyone((2 * size, INNER), torch.float16)
    weight = draw(90 + rank, (size * INNER, COLUMNS), torch.float16)
    got, exchanged = torch_npu.npu_all_to_all_matmul(
        x[rank].to("npu"), weight.to("npu"), group_name(), size
    )
    mine = torch.cat([each.chunk(size)[rank] for each in x], dim=1)
    agree(exchanged, mine)
    agree(got, mine.float() @ weight.float())

    weights = everyone((INNER, 2 * size), torch.float16, seed=60)
    got = torch_npu.npu_matmul_all_to_all(
        x[rank].to("npu"), weights[rank].to("npu"), group_name(), size
    )
    products = [a.float() @ b.float() for a, b in zip(x, weights, strict=True)]
    agree(got, torch.cat([product.chunk(size, dim=1)[rank] for product in products]))


def draw_bytes(seed: int, shape: tuple[int, ...]) -> torch.Tensor:
    return torch.randint(-9, 10, shape, dtype=torch.int8, generator=seeded(seed))


def quantized_all_to_all() -> None:
    """Products of bytes before the exchange, and of rows that are quantized after it."""
    rank, size = dist.get_rank(), dist.get_world_size()
    modes = {"x2_quant_mode": 2, "y_dtype": torch_npu.float16}
    x = [draw_bytes(r, (2 * size, INNER)) for r in range(size)]
    weights = [draw_bytes(60 + r, (INNER, 2 * size)) for r in range(size)]
    by_row = [draw(70 + r, (2 * size,), torch.float32).abs() + 0.125 for r in range(size)]
    by_column = [draw(80 + r, (2 * size,), torch.float32).abs() + 0.125 for r in range(size)]
    bias = [draw(90 + r, (2 * size,), torch.float32) for r in range(size)]
    got = torch_npu.npu_quant_matmul_all_to_all(
        x[rank].to("npu"),
        weights[rank].to("npu"),
        group_name(),
        size,
        bias=bias[rank].to("npu"),
        x1_scale=by_row[rank].to("npu"),
        x2_scale=by_column[rank].to("npu"),
        x1_quant_mode=3,
        **modes,
    )
    parts = zip(x, weights, by_row, by_column, bias, strict=True)
    products = [(a.double() @ w.double()) * r[:, None] * c + b for a, w, r, c, b in parts]
    agree(got, torch.cat([product.half().chunk(size, dim=1)[rank] for product in products]))

    rows = everyone((2 * size, INNER), torch.float16)
    weight, scale = draw_bytes(99, (size * INNER, COLUMNS)), by_column[0][:1].expand(COLUMNS)
    got, exchanged = torch_npu.npu_all_to_all_quant_matmul(
        rows[rank].to("npu"),
        weight.to("npu"),
        group_name(),
        size,
        bias=torch.ones(COLUMNS, device="npu"),
        x2_scale=scale.contiguous().to("npu"),
        x1_quant_mode=7,
        x1_quant_dtype=torch_npu.int8,
        **modes,
    )
    mine = torch.cat([each.chunk(size)[rank] for each in rows], dim=1).float()
    agree(exchanged, mine)
    step = mine.abs().amax(1, keepdim=True) / 127
    whole = (mine / step).round().double() @ weight.double()
    agree(got, (whole * scale * step + 1).half())


EXPERTS = 2  # of each rank


def rows_to(sender: int, receiver: int, expert: int) -> int:
    """Return how many rows travel; some experts get none."""
    return (sender + 2 * receiver + expert) % 4


def grouped_products() -> None:
    """Rows to experts on other ranks and back, in one call each."""
    rank, size = dist.get_rank(), dist.get_world_size()
    ranks, experts = range(size), range(EXPERTS)
    sent = [rows_to(rank, r, e) for r in ranks for e in experts]
    received = [rows_to(r, rank, e) for r in ranks for e in experts]
    held = [
        {
            (r, e): draw(100 * s + 10 * r + e, (rows_to(s, r, e), INNER), torch.float16)
            for r in ranks
            for e in experts
        }
        for s in ranks
    ]
    weights = draw(7 + rank, (EXPERTS, INNER, COLUMNS), torch.float16)
    shared, shared_weight = draw(3, (4, INNER), torch.float16), draw(4, (INNER, 5), torch.float16)
    x = torch.cat([held[rank][r, e] for r in ranks for e in experts])
    product, beside, permuted = torch_npu.npu_alltoallv_gmm(
        x.to("npu"),
        weights.to("npu"),
        group_name(),
        size,
        sent,
        received,
        mm_x=shared.to("npu"),
        mm_weight=shared_weight.to("npu"),
        permute_out_flag=True,
    )
    mine = [torch.cat([held[s][rank, e] for s in ranks]) for e in experts]
    agree(permuted, torch.cat(mine))
    agree(product, torch.cat([rows.float() @ weights[e].float() for e, rows in enumerate(mine)]))
    agree(beside, shared.float() @ shared_weight.float())

    back, _ = torch_npu.npu_gmm_alltoallv(
        permuted, weights.to("npu"), group_name(), size, received, sent
    )
    all_weights = [draw(7 + r, (EXPERTS, INNER, COLUMNS), torch.float16) for r in ranks]
    expected = [
        held[rank][r, e].float() @ all_weights[r][e].float() for r in ranks for e in experts
    ]
    agree(back, torch.cat(expected))


TOKENS, CHOICES, HIDDEN = 5, 3, 16


def choose(rank: int, experts: int) -> torch.Tensor:
    """Return the experts of a rank's tokens, no two of one token alike."""
    order = [torch.randperm(experts, generator=seeded(1000 * rank + t)) for t in range(TOKENS)]
    return torch.stack([each[:CHOICES] for each in order]).int()


def ep_settings(experts: int, **others: int | torch.Tensor) -> dict[str, Any]:
    """Return the settings that dispatch and combine share."""
    size = dist.get_world_size()
    return {
        "group_ep": group_name(),
        "ep_world_size": size,
        "ep_rank_id": dist.get_rank(),
        "moe_expert_num": experts,
        "global_bs": TOKENS * size,
        **others,
    }


def dispatch_and_combine() -> None:
    """Tokens to their experts and back; each expert multiplies with its number."""
    rank, size = dist.get_rank(), dist.get_world_size()
    experts = EXPERTS * size
    x = everyone((TOKENS, HIDDEN), torch.bfloat16)
    ids = [choose(r, experts) for r in range(size)]
    weights = draw(40 + rank, (TOKENS, CHOICES), torch.float32)
    settings = ep_settings(experts)
    rows, _, info, counts, sums, _, row_weights = torch_npu.npu_moe_distribute_dispatch_v2(
        x[rank].to("npu"), ids[rank].to("npu"), expert_scales=weights.to("npu"), **settings
    )
    local = range(rank * EXPERTS, (rank + 1) * EXPERTS)
    arriving = [
        [
            x[r][t]
            for r in range(size)
            for t in range(TOKENS)
            for k in range(CHOICES)
            if ids[r][t, k] == e
        ]
        for e in local
    ]
    total = sum(map(len, arriving))
    assert counts.tolist() == [len(each) for each in arriving]
    assert sums.tolist()[EXPERTS * size - 1] == total
    agree(rows[:total], torch.stack([row for each in arriving for row in each]))
    assert row_weights.numel() >= total

    factors = torch.repeat_interleave(torch.tensor(list(local)) + 1.0, counts.cpu())
    results = rows.clone()
    results[:total] *= factors[:, None].to("npu").to(rows.dtype)
    shared = draw(45 + rank, (TOKENS, HIDDEN), torch.bfloat16)
    got = torch_npu.npu_moe_distribute_combine_v2(
        results,
        ids[rank].to("npu"),
        info,
        sums,
        weights.to("npu"),
        shared_expert_x=shared.to("npu"),
        **settings,
    )
    each = (x[rank].float()[:, None] * (ids[rank].float()[..., None] + 1)).bfloat16().float()
    agree(got, (each * weights[..., None]).sum(1) + shared.float())


def dispatch_to_shared_experts() -> None:
    """The first ranks hold copies of one expert that every token visits."""
    rank, size = dist.get_rank(), dist.get_world_size()
    shared_ranks, experts = 1, CHOICES * (size - 1)
    x = everyone((TOKENS, HIDDEN), torch.float16)
    ids = choose(rank, experts)
    weights = draw(40 + rank, (TOKENS, CHOICES), torch.float32)
    settings = ep_settings(experts, shared_expert_num=1, shared_expert_rank_num=shared_ranks)
    rows, _, index, counts, sums, _, _ = torch_npu.npu_moe_distribute_dispatch(
        x[rank].to("npu"), ids.to("npu"), **settings
    )
    if rank < shared_ranks:
        assert counts.tolist() == [TOKENS * size]
        agree(rows[: TOKENS * size], torch.cat(x))
    got = torch_npu.npu_moe_distribute_combine(
        rows,
        ids.to("npu"),
        index,
        sums,
        weights.to("npu"),
        group_list_type=1,  # reserved: CANN does not read it
        **settings,
    )
    agree(got, x[rank].float() * (weights.sum(1, keepdim=True) + 1))


def quantized_dispatch() -> None:
    """Rows of eight bits with a scale each; a mask leaves out the last tokens."""
    rank, size = dist.get_rank(), dist.get_world_size()
    experts = EXPERTS * size
    x = everyone((TOKENS, HIDDEN), torch.float16)
    ids = [choose(r, experts) for r in range(size)]
    smooth = draw(60, (experts, HIDDEN), torch.float32).abs() + 0.5
    mask = torch.arange(TOKENS) < TOKENS - 1
    rows, scales, _, counts, _, _, _ = torch_npu.npu_moe_distribute_dispatch_v2(
        x[rank].to("npu"),
        ids[rank].to("npu"),
        group_name(),
        size,
        rank,
        experts,
        scales=smooth.to("npu"),
        x_active_mask=mask.to("npu"),
        quant_mode=2,
        global_bs=TOKENS * size,
        expert_token_nums_type=0,
    )
    expected = [
        x[r][t].float() * smooth[e]
        for e in range(rank * EXPERTS, (rank + 1) * EXPERTS)
        for r in range(size)
        for t in range(TOKENS - 1)
        for k in range(CHOICES)
        if ids[r][t, k] == e
    ]
    total = len(expected)
    assert counts.tolist()[-1] == total  # running sums
    assert rows.dtype == torch.int8
    if total:
        whole = torch.stack(expected)
        restored = rows[:total].cpu().float() * scales[:total].cpu()[:, None]
        step = whole.abs().amax(1, keepdim=True) / 127
        assert ((restored - whole).abs() <= step * 0.5001).all()


def captured() -> None:
    """A captured graph communicates in each replay."""
    rank, size = dist.get_rank(), dist.get_world_size()
    x = draw(rank, (ROWS, INNER), torch.float16).to("npu")
    weight = draw(50, (INNER, COLUMNS), torch.float16).to("npu")
    name = group_name()
    dist.barrier()
    graph = torch_npu.npu.NPUGraph()
    with torch_npu.npu.graph(graph):
        result = torch_npu.npu_mm_all_reduce_base(x, weight, name)
    for turn in range(1, 4):
        x.copy_(draw(rank, (ROWS, INNER), torch.float16) * turn)
        graph.replay()
        parts = [
            (turn * draw(r, (ROWS, INNER), torch.float32) @ weight.cpu().float()).half()
            for r in range(size)
        ]
        agree(result, torch.stack(parts).float().sum(0))


def nothing_to_exchange() -> None:
    """Ranks without rows or tokens take part all the same; a barrier has no rows at all."""
    rank, size = dist.get_rank(), dist.get_world_size()
    weight = draw(5, (INNER, COLUMNS), torch.float16).to("npu")
    none = torch.empty(0, INNER, dtype=torch.float16, device="npu")
    product, _ = torch_npu.npu_all_gather_base_mm(none, weight, group_name(), size)
    assert product.shape == (0, COLUMNS)
    x = draw(rank, (TOKENS, HIDDEN), torch.float16).to("npu")
    ids = choose(rank, EXPERTS * size).to("npu")
    settings = ep_settings(
        EXPERTS * size, x_active_mask=torch.full((TOKENS,), rank == 0, device="npu")
    )
    rows, _, info, counts, sums, _, _ = torch_npu.npu_moe_distribute_dispatch_v2(x, ids, **settings)
    weights = torch.ones(TOKENS, CHOICES, device="npu")
    got = torch_npu.npu_moe_distribute_combine_v2(rows, ids, info, sums, weights, **settings)
    agree(got, x.cpu() * CHOICES * (rank == 0))
    ordered = torch_npu._npu_distribute_barrier(got, group_name(), size)  # noqa: SLF001 - its name
    assert torch.equal(ordered, got)
    assert counts.numel() == EXPERTS


def masked_choices() -> None:
    """Single choices of a token may be left out; ranks have different numbers of tokens."""
    rank, size = dist.get_rank(), dist.get_world_size()
    tokens = 0 if rank == 1 else TOKENS
    x = draw(rank, (tokens, HIDDEN), torch.float16)
    ids, weights = choose(rank, EXPERTS * size)[:tokens], draw(9, (tokens, CHOICES), torch.float32)
    settings = ep_settings(EXPERTS * size)
    mask = torch.rand(tokens, CHOICES, generator=seeded(rank)) < 0.5
    if tokens:
        settings["x_active_mask"] = mask.to("npu")
    rows, _, info, _, sums, _, _ = torch_npu.npu_moe_distribute_dispatch_v2(
        x.to("npu"), ids.to("npu"), expert_scales=weights.to("npu"), **settings
    )
    got = torch_npu.npu_moe_distribute_combine_v2(
        rows, ids.to("npu"), info, sums, weights.to("npu"), **settings
    )
    agree(got, x.float() * (weights * mask).sum(1, keepdim=True))


def two_copies_of_a_shared_expert() -> None:
    """Tokens of even ranks visit the first copy, those of odd ranks the second."""
    rank, size = dist.get_rank(), dist.get_world_size()
    experts = EXPERTS * (size - 2)
    x = everyone((TOKENS, HIDDEN), torch.float16)
    ids = choose(rank, experts)
    settings = ep_settings(experts, shared_expert_num=1, shared_expert_rank_num=2)
    rows, _, info, counts, sums, _, _ = torch_npu.npu_moe_distribute_dispatch_v2(
        x[rank].to("npu"), ids.to("npu"), **settings
    )
    if rank < 2:
        visitors = [x[r] for r in range(size) if r % 2 == rank]
        assert counts.tolist() == [TOKENS * len(visitors)]
        agree(rows[: TOKENS * len(visitors)], torch.cat(visitors))
        rows = rows * (rank + 2)
    weights = draw(40, (TOKENS, CHOICES), torch.float32)
    got = torch_npu.npu_moe_distribute_combine_v2(
        rows, ids.to("npu"), info, sums, weights.to("npu"), **settings
    )
    agree(got, x[rank].float() * (weights.sum(1, keepdim=True) + rank % 2 + 2))


def rankless_experts() -> None:
    """Experts that give zeros, the token itself or a constant need no rank."""
    rank, size = dist.get_rank(), dist.get_world_size()
    experts = EXPERTS * size
    x = draw(rank, (TOKENS, HIDDEN), torch.float16)
    ids = torch.tensor([[0, experts, experts + 1]] * TOKENS, dtype=torch.int32)
    weights = draw(40 + rank, (TOKENS, CHOICES), torch.float32)
    settings = ep_settings(experts, zero_expert_num=1, copy_expert_num=1)
    rows, _, info, _, sums, _, _ = torch_npu.npu_moe_distribute_dispatch_v2(
        x.to("npu"), ids.to("npu"), **settings
    )
    got = torch_npu.npu_moe_distribute_combine_v2(
        rows * 3, ids.to("npu"), info, sums, weights.to("npu"), ori_x=x.to("npu"), **settings
    )
    agree(got, x.float() * (3 * weights[:, :1] + weights[:, 2:]))


def combine_with_norm() -> None:
    rank, size = dist.get_rank(), dist.get_world_size()
    x = draw(rank, (TOKENS, HIDDEN), torch.bfloat16)
    ids = choose(rank, EXPERTS * size)
    weights = draw(40 + rank, (TOKENS, CHOICES), torch.float32)
    residual = draw(50 + rank, (TOKENS, 1, HIDDEN), torch.bfloat16)
    gamma = draw(7, (HIDDEN,), torch.bfloat16)
    settings = ep_settings(EXPERTS * size)
    rows, _, info, _, sums, _, _ = torch_npu.npu_moe_distribute_dispatch_v2(
        x.to("npu"), ids.to("npu"), **settings
    )
    y, _, total = torch_npu.npu_moe_distribute_combine_add_rms_norm(
        rows,
        ids.to("npu"),
        info,
        sums,
        weights.to("npu"),
        residual.to("npu"),
        gamma.to("npu"),
        **settings,
    )
    whole = x.float() * weights.sum(1, keepdim=True) + residual[:, 0].float()
    agree(total[:, 0], whole)
    normed = whole * (whole.square().mean(1, keepdim=True) + 1e-6).rsqrt() * gamma.float()
    agree(y[:, 0], normed)


def refusals_harm_nothing() -> None:
    """Each rank refuses at the call, by name, and the group goes on to work."""
    rank, size = dist.get_rank(), dist.get_world_size()
    x, weight = draw(rank, (ROWS, INNER), torch.float16), draw(5, (INNER, COLUMNS), torch.float16)
    with pytest.raises(RuntimeError, match="there is no communicator 'nobody'"):
        torch_npu.npu_mm_all_reduce_base(x.to("npu"), weight.to("npu"), "nobody")
    with pytest.raises(RuntimeError, match="reduceOp is 'max'; allowed: sum"):
        torch_npu.npu_mm_all_reduce_base(
            x.to("npu"), weight.to("npu"), group_name(), reduce_op="max"
        )
    with pytest.raises(RuntimeError, match="multiple of the"):
        torch_npu.npu_moe_distribute_dispatch_v2(
            x.to("npu"), choose(0, 8)[:, :2].to("npu"), group_name(), size, rank, 2 * size + 1
        )
    matmul_all_reduce()


def a_rank_that_fails_is_named() -> None:
    """An expert that does not exist is seen by one rank; the others do not wait for it."""
    rank, size = dist.get_rank(), dist.get_world_size()
    ids = torch.full((TOKENS, CHOICES), 0, dtype=torch.int32)
    if rank == 1:
        ids[2, 1] = 77
    torch_npu.npu_moe_distribute_dispatch_v2(
        draw(rank, (TOKENS, HIDDEN), torch.float16).to("npu"),
        ids.to("npu"),
        group_name(),
        size,
        rank,
        size,
    )
    fails("expertIds[2][1] is 77", *([] if rank == 1 else ["in aclnnMoeDistributeDispatch"]))


def all_reduce_arguments(x: torch.Tensor) -> list[object]:
    """Return the arguments of aclnnMatmulAllReduce."""
    weight = draw(5, (INNER, COLUMNS), torch.float16).to("npu")
    out = torch.empty(ROWS, COLUMNS, dtype=torch.float16, device="npu")
    return [x, weight, None, group_name(), "sum", 0, 1, out]


def a_refusal_at_phase_2_is_reported() -> None:
    """Rank 1's launch is refused; the others do not wait for it."""
    arguments = all_reduce_arguments(draw(0, (ROWS, INNER), torch.float16).to("npu"))
    if dist.get_rank() == 1:
        prepared = prepare("aclnnMatmulAllReduce", *arguments)
        with pytest.raises(AclnnError, match="the workspace is null") as raised:
            launch("aclnnMatmulAllReduce", prepared, size=8)
        torch_npu.npu.synchronize()
        done(raised.value)
    call("aclnnMatmulAllReduce", *arguments)
    fails("rank 1 has given the communicator up: in aclnnMatmulAllReduce: the workspace is null")


def peer_is_killed() -> None:
    """Rank 1 dies before its part; the others' operator fails at once."""
    rank = dist.get_rank()
    name = group_name()
    x, weight = draw(rank, (ROWS, INNER), torch.float16), draw(5, (INNER, COLUMNS), torch.float16)
    torch_npu.npu_mm_all_reduce_base(x.to("npu"), weight.to("npu"), name)
    torch_npu.npu.synchronize()
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    torch_npu.npu_mm_all_reduce_base(x.to("npu"), weight.to("npu"), name)
    fails("rank 1 is gone", "in aclnnMatmulAllReduce, by HcclAllReduce(float16, sum)")
