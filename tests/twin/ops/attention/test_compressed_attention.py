"""Attention to windows and compressed keys: native/opapi/ops/attention/compressed_attention.cpp."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
import torch

from tests.twin.aclnn_calls import AclnnError, call
from tests.twin.ops.compare import agree, close
from tests.twin.ops.samples import normal

YES = True
HEADS, WIDTH, SCALE, RATIO, PAGE = 4, 32, 0.2, 4, 8
QUERIES, KEYS = [5, 3], [21, 10]  # of each sequence
CHOICES = 3


@dataclass(frozen=True)
class Laid:
    """Tokens of all sequences in one layout, with what says where they are."""

    tensor: torch.Tensor
    table: torch.Tensor | None
    ends: torch.Tensor | None
    used: torch.Tensor | None


def ends_of(lengths: list[int]) -> torch.Tensor:
    return torch.tensor([0, *lengths]).cumsum(0).int()


def laid(parts: list[torch.Tensor], layout: str) -> Laid:
    lengths = [len(part) for part in parts]
    if layout == "TND":
        return Laid(torch.cat(parts), None, ends_of(lengths), None)
    room = max(lengths)
    padded = [
        torch.cat([part, part.new_full((room - len(part), *part.shape[1:]), 3)]) for part in parts
    ]
    used = torch.tensor(lengths, dtype=torch.int32)
    if layout == "BSND":
        return Laid(torch.stack(padded), None, None, used)
    count = -(-room // PAGE)
    pages, table = [], torch.zeros(len(parts), count, dtype=torch.int32)
    for i, part in enumerate(padded):
        filled = torch.cat([part, part.new_zeros(count * PAGE - room, *part.shape[1:])])
        table[i] = torch.arange(count) * len(parts) + i
        pages.append(filled.view(count, PAGE, *part.shape[1:]))
    return Laid(torch.stack(pages, 1).flatten(0, 1), table, None, used)


def on_npu(value: torch.Tensor | None) -> torch.Tensor | None:
    return None if value is None else value.to("npu")


def queries_laid(
    parts: list[torch.Tensor], layout: str
) -> tuple[torch.Tensor, torch.Tensor | None]:
    given = laid(parts, layout)
    return given.tensor, given.ends


def before(compressed: int, total: int) -> int:
    return total - RATIO * compressed


@pytest.mark.parametrize("key_layout", ["same", "PA_BBND"])
@pytest.mark.parametrize("layout", ["BSND", "TND"])
@pytest.mark.parametrize("mode", [0, 3])
def test_keys_with_the_highest_scores(mode: int, layout: str, key_layout: str) -> None:
    """Padding of queries is beyond what is compared: all sequences have the longest's queries."""
    rows = [5, 5] if layout == "BSND" else QUERIES
    counts = [length // RATIO for length in KEYS]
    query = [normal(count, HEADS, 128, seed=i) for i, count in enumerate(rows)]
    weights = [
        normal(count, HEADS, dtype=torch.float32, seed=9 + i) for i, count in enumerate(rows)
    ]
    keys = [normal(count, 1, 128, seed=4 + i) for i, count in enumerate(counts)]
    key_layout = layout if key_layout == "same" else key_layout
    q, ends = queries_laid(query, layout)
    k = laid(keys, key_layout)
    residual = torch.tensor([before(c, t) for c, t in zip(counts, KEYS, strict=True)]).int()
    shape = (*q.shape[:-2], 1, CHOICES)
    indices = torch.full(shape, 9, dtype=torch.int32).to("npu")
    values = torch.full(shape, 9.0).half().to("npu")
    w = queries_laid(weights, layout)[0]
    call(
        "aclnnLightningIndexerV2",
        *(on_npu(each) for each in (q, k.tensor, w, ends, k.ends)),
        *(None, on_npu(k.used), residual.to("npu"), on_npu(k.table), None, None),
        *(CHOICES, -1, layout, key_layout, mode, RATIO, 1, indices, values),
    )
    for i, count in enumerate(rows):
        relevance = torch.einsum("rhd,kd->hrk", query[i].float(), keys[i][:, 0].float()).relu()
        scores = torch.einsum("hrk,rh->rk", relevance, weights[i])
        if mode == 3:
            end = torch.arange(KEYS[i] - count + 1, KEYS[i] + 1) // RATIO
            scores = scores.masked_fill(torch.arange(counts[i]) >= end[:, None], -math.inf)
        kept = min(CHOICES, counts[i])
        best = scores.topk(kept, 1)
        chosen = best.indices.masked_fill(best.values == -math.inf, -1)
        got = (indices, values) if layout == "TND" else (indices[i], values[i])
        first = sum(rows[:i]) if layout == "TND" else 0
        here = [each.cpu()[first : first + count, 0] for each in got]
        assert torch.equal(here[0][:, :kept], chosen.int())
        assert (here[0][:, kept:] == -1).all()
        torch.testing.assert_close(here[1][:, :kept].float(), best.values, rtol=2e-3, atol=2e-2)


def softmax_with_sink(
    query: torch.Tensor, keys: torch.Tensor, seen: torch.Tensor, sinks: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    scores = torch.einsum("rhd,kd->hrk", query.double(), keys.double()) * SCALE
    scores = scores.masked_fill(~seen, -math.inf)
    whole = torch.cat([scores, sinks.double().view(-1, 1, 1).expand(-1, len(query), 1)], 2)
    shares = whole.softmax(2)[:, :, :-1]
    return torch.einsum("hrk,kd->rhd", shares, keys.double()), whole.logsumexp(2).t()


@pytest.mark.parametrize("key_layout", ["same", "PA_BBND"])
@pytest.mark.parametrize("layout", ["BSND", "TND"])
@pytest.mark.parametrize("form", ["window", "all compressed", "chosen"])
@pytest.mark.parametrize(("mode", "left", "right"), [(4, 6, 0), (4, -1, 2), (3, 1, 1), (0, 1, 1)])
def test_attention(
    form: str, layout: str, key_layout: str, mode: int, left: int, right: int
) -> None:
    rows = [5, 5] if layout == "BSND" else QUERIES
    counts = [length // RATIO for length in KEYS]
    query = [normal(count, HEADS, WIDTH, seed=i) for i, count in enumerate(rows)]
    keys = [normal(count, 1, WIDTH, seed=4 + i) for i, count in enumerate(KEYS)]
    more = [normal(count, 1, WIDTH, seed=8 + i) for i, count in enumerate(counts)]
    generator = torch.Generator().manual_seed(3)
    chosen = [
        torch.stack([torch.randperm(c, generator=generator)[:2] for _ in range(count)])
        for c, count in zip(counts, rows, strict=True)
    ]
    chosen[0][0, 1] = -1
    sinks = normal(HEADS, dtype=torch.float32, seed=12)
    key_layout = layout if key_layout == "same" else key_layout
    q, ends = queries_laid(query, layout)
    k, c = laid(keys, key_layout), laid(more, key_layout)
    index = queries_laid([each.int().unsqueeze(1) for each in chosen], layout)[0]
    residual = torch.tensor([before(n, t) for n, t in zip(counts, KEYS, strict=True)]).int()
    out = torch.full_like(q, 9).to("npu")
    lse = torch.zeros((len(rows), 1, 5, HEADS) if layout == "BSND" else (1, len(q), HEADS)).to(
        "npu"
    )
    compressed = form != "window"
    absent = Laid(torch.empty(0), None, None, None)
    c = c if compressed else absent
    call(
        "aclnnSparseFlashMla",
        *(q.to("npu"), k.tensor.to("npu"), c.tensor.to("npu") if compressed else None, None),
        *(index.to("npu") if form == "chosen" else None, on_npu(k.table), on_npu(c.table)),
        *(on_npu(each) for each in (ends, k.ends, c.ends)),
        *(None, on_npu(k.used), on_npu(c.used), residual.to("npu") if compressed else None),
        *(None, None, sinks.to("npu"), None, SCALE, RATIO, mode, 3, left, right),
        *(layout, key_layout, 1, YES, out, lse),
    )
    for i, count in enumerate(rows):
        end = torch.arange(KEYS[i] - count + 1, KEYS[i] + 1)[:, None]
        places = torch.arange(KEYS[i])
        seen = places < end if mode else torch.ones(count, KEYS[i], dtype=torch.bool)
        if mode == 4:
            seen = torch.ones(count, KEYS[i], dtype=torch.bool)
            seen &= places < end + right if right >= 0 else seen
            seen &= places >= end - left - 1 if left >= 0 else seen
        values = keys[i][:, 0]
        if compressed:
            visible = torch.arange(counts[i]) < end // RATIO
            if form == "chosen":
                marks = torch.zeros(count, counts[i] + 1, dtype=torch.bool)
                marks.scatter_(1, chosen[i].masked_fill(chosen[i] < 0, counts[i]), YES)
                visible = visible & marks[:, :-1]
            seen, values = torch.cat([seen, visible], 1), torch.cat([values, more[i][:, 0]])
        expected, logarithms = softmax_with_sink(query[i], values, seen, sinks)
        first = sum(rows[:i]) if layout == "TND" else 0
        of_sequence = out.cpu() if layout == "TND" else out.cpu()[i]
        close(of_sequence[first : first + count], expected)
        statistics = lse.cpu()[0] if layout == "TND" else lse.cpu()[i, 0]
        agree(statistics[first : first + count], logarithms.float())


def test_what_says_how_work_is_spread_is_empty() -> None:
    nothing = torch.full((1024,), 9, dtype=torch.int32).to("npu")
    call(
        "aclnnLightningIndexerV2Metadata",
        *([None] * 5),
        *(32, 1, 128, 2048, 2, 5, 21, "BSND", "BSND", 0, 1, nothing),
    )
    assert not nothing.any()


def test_parameters_of_other_chips_are_refused() -> None:
    q, k = normal(1, 2, HEADS, 128).to("npu"), normal(1, 9, 1, 128).to("npu")
    w = normal(1, 2, HEADS, dtype=torch.float32).to("npu")
    indices = torch.zeros(1, 2, 1, CHOICES, dtype=torch.int32).to("npu")
    used = torch.tensor([2], dtype=torch.int32).to("npu")
    options = [CHOICES, -1, "BSND", "BSND", 0, 1, 0, indices, None]
    with pytest.raises(AclnnError, match="parameter 'sequsedQ' is given; it is of Ascend950 alone"):
        call("aclnnLightningIndexerV2", q, k, w, None, None, used, *[None] * 5, *options)
    options[3] = "TND"
    with pytest.raises(AclnnError, match="the layouts are 'BSND' and 'TND'"):
        call("aclnnLightningIndexerV2", q, k, w, *[None] * 8, *options)
