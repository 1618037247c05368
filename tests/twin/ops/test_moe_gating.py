"""The choice of experts: native/opapi/ops/moe_gating.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.ops.compare import agree, rejects, run_on_npu
from tests.twin.ops.samples import some

HALVES = (torch.float16, torch.bfloat16)
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


def test_refusals() -> None:
    wide = torch.zeros(2, 1100)
    rejects("'k' is 1050", torch_npu.npu_moe_gating_top_k_softmax, wide, None, 1050)
