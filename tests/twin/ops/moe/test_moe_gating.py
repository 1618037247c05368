"""The choice of experts: native/opapi/ops/moe/moe_gating.cpp."""

from __future__ import annotations

import ctypes

import pytest
import torch
import torch_npu
from torch.nn import functional

from tests.twin.aclnn_calls import call
from tests.twin.ops.compare import HALVES, agree, rejects, run_on_npu
from tests.twin.ops.samples import positions, some

SHAPES = [(5, 8), (2, 3, 16), (1, 4)]


def best(scores: torch.Tensor, k: int) -> torch.Tensor:
    """Experts in descending order of scores; among equals the lower number first."""
    rows = scores.flatten(0, -2).tolist()
    chosen = [sorted(range(len(row)), key=lambda i, row=row: (-row[i], i))[:k] for row in rows]  # type: ignore[misc]
    return torch.tensor(chosen, dtype=torch.int64).reshape(*scores.shape[:-1], k)


@pytest.mark.parametrize("dtype", [torch.float32, *HALVES])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("k", [1, 3])
def test_softmax(dtype: torch.dtype, shape: tuple[int, ...], k: int) -> None:
    x, finished = some(shape, dtype), some(shape[:-1], torch.bool)
    for mask in (None, finished):
        probs = x.float().softmax(-1)
        experts = best(probs, k)
        chosen = experts if mask is None else experts.masked_fill(mask.unsqueeze(-1), shape[-1])
        rows = experts[..., 0].numel()
        places = torch.arange(rows * k).reshape(k, rows).t().reshape(experts.shape)
        actual = run_on_npu(torch_npu.npu_moe_gating_top_k_softmax, x, mask, k)
        agree(actual, (probs.gather(-1, experts).to(dtype), chosen.int(), places.int()))


@pytest.mark.parametrize("dtype", [torch.float32, *HALVES])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("renorm", [0, 1])
@pytest.mark.parametrize("whole", [False, True])
def test_softmax_v2(dtype: torch.dtype, shape: tuple[int, ...], renorm: int, whole: bool) -> None:  # noqa: FBT001 - a parameter of the test
    x, finished = some(shape, dtype), some(shape[:-1], torch.bool)
    probs = x.float().softmax(-1)
    experts = best(x.float() if renorm else probs, 3)
    values = x.float().gather(-1, experts).softmax(-1) if renorm else probs.gather(-1, experts)
    actual = run_on_npu(
        torch_npu.npu_moe_gating_top_k_softmax_v2,
        x,
        k=3,
        finished=finished,
        renorm=renorm,
        output_softmax=whole,
    )
    chosen = experts.masked_fill(finished.unsqueeze(-1), shape[-1])
    softmax = probs if whole and not renorm else torch.zeros(0)
    agree(actual, (values.to(dtype), chosen.int(), softmax))


def test_equal_scores() -> None:
    actual = run_on_npu(torch_npu.npu_moe_gating_top_k_softmax, torch.zeros(2, 8), None, 4)
    assert isinstance(actual, tuple)
    agree(actual[1], torch.arange(4).int().expand(2, 4))


def test_moe_gating_refuses_wrong_calls() -> None:
    wide = torch.zeros(2, 1100)
    rejects("'k' is 1050", torch_npu.npu_moe_gating_top_k_softmax, wide, None, 1050)


# groups of experts


def norm_of(x: torch.Tensor, kind: int) -> torch.Tensor:
    if kind == 0:
        return x.softmax(-1)
    return x.sigmoid() if kind == 1 else functional.softplus(x).sqrt()


def weights_of(norm: torch.Tensor, experts: torch.Tensor, *, divided: bool) -> torch.Tensor:
    chosen = norm.gather(-1, experts)
    return 2.5 * (chosen / (chosen.sum(-1, keepdim=True) + 1e-20) if divided else chosen)


def allowed(scores: torch.Tensor, groups: int, kept: int, mode: int) -> torch.Tensor:
    """Scores outside the best groups become -inf."""
    split = scores.view(-1, groups, scores.shape[-1] // groups)
    ranked = split.sort(-1, descending=True).values
    best_groups = best(ranked[..., 0] if mode == 0 else ranked[..., :2].sum(-1), kept)
    hidden = torch.ones(*split.shape[:-1], dtype=torch.bool).scatter(-1, best_groups, value=False)
    return split.masked_fill(hidden.unsqueeze(-1), -torch.inf).flatten(-2)


@pytest.mark.parametrize("dtype", [torch.float32, *HALVES])
@pytest.mark.parametrize(("kind", "renorm"), [(0, 0), (0, 1), (1, 0), (2, 0)])
@pytest.mark.parametrize(("groups", "kept", "mode"), [(1, 1, 0), (4, 2, 0), (4, 2, 1)])
@pytest.mark.parametrize("biased", [False, True])
def test_groups(
    *, dtype: torch.dtype, kind: int, renorm: int, groups: int, kept: int, mode: int, biased: bool
) -> None:
    x, bias = some((6, 12), dtype), some((12,), dtype) if biased else None
    norm = norm_of(x.float(), kind)
    scores = norm if bias is None else norm + bias.float()
    experts = best(scores if groups == 1 else allowed(scores, groups, kept, mode), 3)
    actual = run_on_npu(
        torch_npu.npu_moe_gating_top_k,
        x,
        3,
        bias=bias,
        k_group=kept,
        group_count=groups,
        group_select_mode=mode,
        renorm=renorm,
        norm_type=kind,
        out_flag=True,
        routed_scaling_factor=2.5,
    )
    weights = weights_of(norm, experts, divided=kind != 0 or renorm == 1)
    agree(actual, (weights.to(dtype), experts.int(), norm))


@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_experts_from_a_table(index: torch.dtype) -> None:
    x, ids = some((6, 12), torch.float32), positions((6,), 4, index)
    table = positions((4, 3), 12, index)
    actual = run_on_npu(
        torch_npu.npu_moe_gating_top_k,
        x,
        3,
        input_ids=ids,
        tid2eid=table,
        norm_type=1,
        out_flag=True,
        routed_scaling_factor=2.5,
    )
    experts, norm = table[ids.long()].long(), x.sigmoid()
    agree(actual, (weights_of(norm, experts, divided=True), experts.int(), norm))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("kind", "renorm"), [(0, 0), (0, 1), (1, 0), (2, 0)])
def test_gradient(dtype: torch.dtype, kind: int, renorm: int) -> None:
    value, seed = some((6, 12), dtype), some((6, 3), dtype, -1, 2)
    x = value.to("npu").requires_grad_()
    y, chosen, _ = torch_npu.npu_moe_gating_top_k(
        x, 3, renorm=renorm, norm_type=kind, out_flag=True, routed_scaling_factor=2.5
    )
    torch.autograd.backward(y, seed.to("npu"))
    host = value.double().requires_grad_()
    weights = weights_of(norm_of(host, kind), chosen.cpu().long(), divided=kind != 0 or renorm == 1)
    torch.autograd.backward(weights, seed.double())
    assert x.grad is not None
    assert host.grad is not None
    bound = 1e-5 if dtype == torch.float32 else 2e-2
    torch.testing.assert_close(x.grad.cpu(), host.grad.to(dtype), rtol=bound, atol=bound)


def test_group_refusals() -> None:
    x, gate = some((6, 12), torch.float32), torch_npu.npu_moe_gating_top_k
    rejects("groupCount", gate, x, 3, group_count=5)
    rejects("kGroup", gate, x, 3, group_count=4, k_group=5)
    rejects("'k' is 4", gate, x, 4, group_count=4, k_group=1)
    rejects("normType", gate, x, 3, norm_type=3)


# the form with unsigned numbers


def fused_topk(
    x: torch.Tensor,
    bias: torch.Tensor,
    counts: torch.Tensor | None,
    table: torch.Tensor | None,
    *numbers: int,
    scale: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    y = torch.empty(len(x), numbers[3], device=x.device)
    experts = torch.empty(len(x), numbers[3], dtype=torch.int32, device=x.device)
    call(
        "aclnnMoeFusedTopk",
        *(x, bias, counts, table),
        *map(ctypes.c_uint32, (*numbers, 0)),
        *(scale is not None, ctypes.c_float(scale or 0), table is not None, y, experts),
    )
    return y, experts


@pytest.mark.parametrize("dtype", [torch.float32, *HALVES])
@pytest.mark.parametrize("scale", [None, 2.5])
@pytest.mark.parametrize("mapping", [False, True])
def test_fused_topk(*, dtype: torch.dtype, scale: float | None, mapping: bool) -> None:
    x, bias = some((6, 12), dtype), some((12,), dtype)
    counts, table = positions((12,), 3, torch.int32), positions((12, 3), 99, torch.int32)
    norm = x.float().sigmoid()
    grouped = allowed(norm + bias.float(), 4, 2, 1)
    # Experts of the other groups take part with the score 0.
    experts = best(grouped.masked_fill(grouped.isinf(), 0), 5)
    weights = norm.gather(-1, experts)
    if scale is not None:
        weights = scale * weights / weights.sum(-1, keepdim=True)
    if mapping:
        places = torch.arange(6)[:, None] % counts[experts].clamp(min=1)
        experts = table[experts, places]
    given = (counts, table) if mapping else (None, None)
    agree(
        run_on_npu(fused_topk, x, bias, *given, 4, 2, 2, 5, scale=scale), (weights, experts.int())
    )


def test_fused_topk_refusals() -> None:
    x, bias = some((6, 12), torch.float32), some((12,), torch.float32)
    counts, table = positions((12,), 3, torch.int32), positions((12, 3), 99, torch.int32)
    rejects("'groupNum' is 5", fused_topk, x, bias, None, None, 5, 2, 2, 5)
    rejects("'groupTopk' is 5", fused_topk, x, bias, None, None, 4, 5, 2, 5)
    rejects("'topN' is 4", fused_topk, x, bias, None, None, 4, 2, 4, 5)
    rejects("'topK' is 13", fused_topk, x, bias, None, None, 4, 2, 2, 13)
    rejects("'addNum'", fused_topk, x, bias[1:], None, None, 4, 2, 2, 5)
    rejects("'mappingNum' is null", fused_topk, x, bias, None, table, 4, 2, 2, 5)
    rejects("outside of 0 and the columns", fused_topk, x, bias, counts + 3, table, 4, 2, 2, 5)
