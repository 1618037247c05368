"""Gradients of attention to compressed keys and of their indexer: compressed_gradients.cpp."""

from __future__ import annotations

import math
from itertools import accumulate

import pytest
import torch

from tests.twin.aclnn_calls import AclnnError, call
from tests.twin.ops.compare import close
from tests.twin.ops.samples import normal

HEADS, WIDTH, SCALE, RATIO, CHOICES = 4, 32, 0.2, 4, 4
LEFT = 6
KEYS = [21, 10]  # of each sequence
COMPRESSED = [count // RATIO for count in KEYS]
RESIDUAL = torch.tensor([count % RATIO for count in KEYS], dtype=torch.int32)


def rows_of(layout: str) -> list[int]:
    return [5, 5] if layout == "BSND" else [5, 3]


def joined(parts: list[torch.Tensor], layout: str) -> torch.Tensor:
    """The padding of shorter sequences is what nothing reads."""
    if layout == "TND":
        return torch.cat(parts)
    room = max(len(part) for part in parts)
    fill = [part.new_full((room - len(part), *part.shape[1:]), 3) for part in parts]
    return torch.stack([torch.cat(both) for both in zip(parts, fill, strict=True)])


def places_of(counts: list[int], layout: str) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """Ends for packed tokens, and numbers of those in use for padded ones."""
    if layout == "TND":
        return torch.tensor([0, *accumulate(counts)], dtype=torch.int32).to("npu"), None
    return None, torch.tensor(counts, dtype=torch.int32).to("npu")


def taken(tensor: torch.Tensor, counts: list[int], i: int, layout: str) -> torch.Tensor:
    if layout == "TND":
        return tensor.cpu()[sum(counts[:i]) : sum(counts[: i + 1])]
    return tensor.cpu()[i, : counts[i]]


def choices(rows: list[int], layout: str) -> list[torch.Tensor]:
    """Different compressed keys for each query; some choices are left out."""
    generator = torch.Generator().manual_seed(3)
    found = []
    for count, keys in zip(rows, COMPRESSED, strict=True):
        index = torch.full((count, CHOICES), -1, dtype=torch.int32)
        kept = min(CHOICES, keys)
        for row in index:
            row[:kept] = torch.randperm(keys, generator=generator)[:kept].int()
        index[0, 1] = -1
        found.append(index.unsqueeze(1))
    assert len(found) == len(rows_of(layout))
    return found


def ends_of(rows: int, keys: int) -> torch.Tensor:
    """How many tokens each query sees."""
    return torch.arange(keys - rows + 1, keys + 1)[:, None]


@pytest.mark.parametrize("layout", ["BSND", "TND"])
@pytest.mark.parametrize("mode", [0, 3])
def test_the_loss_of_an_indexer(mode: int, layout: str) -> None:
    """Loss and gradients of autograd, from chosen keys alone."""
    rows = rows_of(layout)
    query = [normal(count, HEADS, 128, seed=i) / 4 for i, count in enumerate(rows)]
    weights = [normal(n, HEADS, dtype=torch.float32, seed=9 + i) for i, n in enumerate(rows)]
    keys = [normal(count, 1, 128, seed=4 + i) for i, count in enumerate(COMPRESSED)]
    chosen = choices(rows, layout)
    target = [normal(n, 1, CHOICES, dtype=torch.float32, seed=7).softmax(-1) for n in rows]
    q, k, w = joined(query, layout), joined(keys, layout), joined(weights, layout)
    index, wanted = joined(chosen, layout), joined(target, layout)
    results = [torch.full_like(each, 9).to("npu") for each in (q, k, w, wanted)]
    query_ends, _ = places_of(rows, layout)
    key_ends, key_counts = places_of(COMPRESSED, layout)
    call(
        "aclnnSparseLightningIndexerKLLossGrad",
        *(each.to("npu") for each in (q, k, w, index, wanted)),
        *(query_ends, key_ends, None, key_counts, RESIDUAL.to("npu"), None),
        *(layout, layout, mode, RATIO, *results),
    )
    for i, count in enumerate(rows):
        here = [each.double().requires_grad_() for each in (query[i], keys[i], weights[i])]
        picked = chosen[i][:, 0].long()
        valid = picked >= 0
        if mode == 3:
            valid &= picked < ends_of(count, KEYS[i]) // RATIO
        gathered = here[1][:, 0][picked.clamp_min(0)]
        products = torch.einsum("rhd,rkd->rhk", here[0], gathered).relu()
        scores = torch.einsum("rhk,rh->rk", products, here[2]).masked_fill(~valid, -math.inf)
        seen = valid.any(1)
        shares = torch.zeros_like(scores)
        shares[seen] = scores[seen].softmax(1)
        aim = target[i][:, 0].double().masked_fill(~valid, 0)
        logarithms = torch.zeros_like(scores)
        logarithms[valid] = shares[valid].log()
        (-(aim * logarithms).sum()).backward()  # type: ignore[no-untyped-call]
        for result, operand, counts in zip(results, here, (rows, COMPRESSED, rows), strict=False):
            assert operand.grad is not None
            close(taken(result, counts, i, layout), operand.grad)
        close(taken(results[3], rows, i, layout)[:, 0], shares.detach())
    if layout == "BSND":
        assert not results[1].cpu()[1, COMPRESSED[1] :].any()


@pytest.mark.parametrize("layout", ["BSND", "TND"])
@pytest.mark.parametrize("form", ["window", "all compressed", "chosen"])
def test_attention(form: str, layout: str) -> None:
    rows = rows_of(layout)
    compressed = form != "window"
    query = [normal(count, HEADS, WIDTH, seed=i) for i, count in enumerate(rows)]
    keys = [normal(count, 1, WIDTH, seed=4 + i) for i, count in enumerate(KEYS)]
    more = [normal(count, 1, WIDTH, seed=8 + i) for i, count in enumerate(COMPRESSED)]
    gradient = [normal(count, HEADS, WIDTH, seed=20 + i) for i, count in enumerate(rows)]
    chosen = choices(rows, layout)
    sinks = normal(HEADS, dtype=torch.float32, seed=12)
    of_sinks = torch.zeros(HEADS, dtype=torch.float64)
    expected, outs, statistics, shares_of_chosen = [], [], [], []
    for i, count in enumerate(rows):
        here = [each.double().requires_grad_() for each in (query[i], keys[i], more[i], sinks)]
        end = ends_of(count, KEYS[i])
        seen = (torch.arange(KEYS[i]) < end) & (torch.arange(KEYS[i]) >= end - LEFT - 1)
        values = here[1][:, 0]
        if compressed:
            visible = torch.arange(COMPRESSED[i]) < end // RATIO
            if form == "chosen":
                marks = torch.zeros(count, COMPRESSED[i] + 1, dtype=torch.bool)
                picked = chosen[i][:, 0].long()
                marks.scatter_(1, picked.masked_fill(picked < 0, COMPRESSED[i]), value=True)
                visible = visible & marks[:, :-1]
            seen, values = torch.cat([seen, visible], 1), torch.cat([values, here[2][:, 0]])
        scores = torch.einsum("rhd,kd->hrk", here[0], values) * SCALE
        sink = here[3].view(-1, 1, 1).expand(-1, count, 1)
        whole = torch.cat([scores.masked_fill(~seen, -math.inf), sink], 2)
        shares = whole.softmax(2)[:, :, :-1]
        out = torch.einsum("hrk,kd->rhd", shares, values)
        out.backward(gradient[i].double())  # type: ignore[no-untyped-call]
        expected.append([each.grad for each in here[:3]])
        assert here[3].grad is not None
        of_sinks += here[3].grad
        outs.append(out.detach().half())
        statistics.append(whole.logsumexp(2).t().detach().float())
        if form == "chosen":
            average = shares.detach()[:, :, KEYS[i] :].mean(0)
            index = chosen[i][:, 0].long()
            shares_of_chosen.append(average.gather(1, index.clamp_min(0)).masked_fill(index < 0, 0))
    q, dout, out = (joined(each, layout) for each in (query, gradient, outs))
    lse = torch.cat(statistics)[None] if layout == "TND" else torch.stack(statistics)[:, None]
    k, c, index = joined(keys, layout), joined(more, layout), joined(chosen, layout)
    results = [torch.full_like(each, 9).to("npu") for each in (q, k, c, sinks)]
    l1_norm = torch.full_like(index, 9, dtype=torch.float32).to("npu")
    (query_ends, _), (key_ends, key_counts) = places_of(rows, layout), places_of(KEYS, layout)
    more_ends, more_counts = places_of(COMPRESSED, layout)
    call(
        "aclnnSparseFlashMlaGrad",
        *(each.to("npu") for each in (q, dout, out, lse, k)),
        *(c.to("npu") if compressed else None, None),
        *(index.to("npu") if form == "chosen" else None, query_ends, key_ends, more_ends),
        *(None, key_counts, more_counts, RESIDUAL.to("npu"), None, None, sinks.to("npu"), None),
        *(SCALE, RATIO, 4, 3, LEFT, 0, layout, layout, *results, None, l1_norm),
    )
    for i in range(len(rows)):
        for result, wanted, counts in zip(
            results, expected[i], (rows, KEYS, COMPRESSED), strict=False
        ):
            if wanted is not None:
                close(taken(result, counts, i, layout), wanted)
        if form == "chosen":
            close(taken(l1_norm, rows, i, layout)[:, 0], shares_of_chosen[i])
    # The operator sees the rounded output, from which the gradient of the shares follows.
    torch.testing.assert_close(results[3].cpu(), of_sinks.float(), rtol=2e-3, atol=1e-3)


def test_what_does_not_fit_is_refused_at_the_call() -> None:
    q, k = normal(1, 2, HEADS, 128).to("npu"), normal(1, 9, 1, 128).to("npu")
    w = normal(1, 2, HEADS, dtype=torch.float32).to("npu")
    index = torch.zeros(1, 2, 1, CHOICES, dtype=torch.int32).to("npu")
    target = torch.zeros(1, 2, 1, CHOICES).to("npu")
    results = [torch.empty_like(each) for each in (q, k, w, target)]

    def refuse(match: str, mode: int, ratio: int, layout: str, wanted: torch.Tensor) -> None:
        with pytest.raises(AclnnError, match=match):
            call(
                "aclnnSparseLightningIndexerKLLossGrad",
                *(q, k, w, index, wanted, *[None] * 6, layout, layout, mode, ratio, *results),
            )

    refuse("parameter 'maskMode' is 1; allowed: 0, 3", 1, 1, "BSND", target)
    refuse("parameter 'cmpRatio' is 129; allowed: 1 to 128", 0, 129, "BSND", target)
    refuse("'cmpResidual' is null", 3, 4, "BSND", target)
    refuse("the layouts are 'SBND'", 0, 1, "SBND", target)
    refuse("must be equal", 0, 1, "BSND", target[..., :1])
