"""Attention to parts of the keys, put together: native/opapi/ops/attention/attention_update.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.ops.compare import agree, rejects, run_on_npu
from tests.twin.ops.samples import normal

DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
HEADS, WIDTH = 3, 64


def parts(rows: int, keys: tuple[int, ...]) -> tuple[list[torch.Tensor], torch.Tensor]:
    """The scores of some parts of the keys, and their values."""
    scores = [normal(rows, count, dtype=torch.float32, seed=i) for i, count in enumerate(keys)]
    return scores, normal(sum(keys), WIDTH, dtype=torch.float32, seed=9)


@DTYPES
@pytest.mark.parametrize("with_sum", [0, 1])
def test_update(dtype: torch.dtype, with_sum: int) -> None:
    """Softmax over all parts is the same as of each part, weighted."""
    scores, values = parts(7, (4, 1, 6))
    pieces = values.split_with_sizes([4, 1, 6])
    outs = [(s.softmax(1) @ v).to(dtype) for s, v in zip(scores, pieces, strict=True)]
    sums = [s.logsumexp(1) for s in scores]
    out, lse = torch_npu.npu_attention_update(
        [one.to("npu") for one in sums], [one.to("npu") for one in outs], with_sum
    )
    whole = torch.cat(scores, 1)
    torch.testing.assert_close(out.cpu().float(), whole.softmax(1) @ values, rtol=2e-2, atol=2e-2)
    weights = torch.stack([(s - whole.logsumexp(1)).exp() for s in sums])
    exact = sum(w.unsqueeze(1) * o.float() for w, o in zip(weights, outs, strict=True))
    assert isinstance(exact, torch.Tensor)
    agree(out, exact.to(dtype))
    if with_sum:
        agree(lse, whole.logsumexp(1))


def ring(
    previous: tuple[torch.Tensor, ...], current: tuple[torch.Tensor, ...]
) -> tuple[torch.Tensor, ...]:
    """Update [rows, N, D] by statistics [rows, N, 8]."""
    highest = torch.maximum(previous[1], current[1])
    before, now = (one[2] * (one[1] - highest).exp() for one in (previous, current))
    shares = [(one / (before + now))[..., :1] for one in (before, now)]
    out = previous[0].float() * shares[0] + current[0].float() * shares[1]
    return out.to(previous[0].dtype), highest, before + now


def statistics(*shape: int, seed: int) -> torch.Tensor:
    values = normal(*shape, 1, dtype=torch.float32, seed=seed).abs() + 0.1
    return values.expand(*shape, 8).contiguous()


@DTYPES
def test_ring_sbh(dtype: torch.dtype) -> None:
    length, batch = 4, 2
    operands = [
        (
            normal(length, batch, HEADS * WIDTH, dtype=dtype, seed=i),
            statistics(batch, HEADS, length, seed=i),
            statistics(batch, HEADS, length, seed=i + 4),
        )
        for i in range(2)
    ]

    def by_row(one: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        return (
            one[0].reshape(length * batch, HEADS, WIDTH),
            *(s.permute(2, 0, 1, 3).reshape(length * batch, HEADS, 8) for s in one[1:]),
        )

    out, highest, total = ring(*(by_row(one) for one in operands))
    actual = run_on_npu(
        torch_npu.npu_ring_attention_update, *operands[0], *operands[1], input_layout="SBH"
    )
    assert isinstance(actual, tuple)
    agree(actual[0], out.reshape(length, batch, HEADS * WIDTH))
    for one, other in zip(actual[1:], (highest, total), strict=True):
        agree(one, other.view(length, batch, HEADS, 8).permute(1, 2, 0, 3))


@DTYPES
@pytest.mark.parametrize("layout", ["TND", ""])
def test_ring_tnd(dtype: torch.dtype, layout: str) -> None:
    """The statistics lie token by token, or head by head in each sequence."""
    ends = [0, 2, 5]
    operands = [
        (
            normal(5, HEADS, WIDTH, dtype=dtype, seed=i),
            statistics(5, HEADS, seed=i),
            statistics(5, HEADS, seed=i + 4),
        )
        for i in range(2)
    ]

    def stored(tensor: torch.Tensor) -> torch.Tensor:
        if layout == "TND":
            return tensor
        pieces = [tensor[a:b].transpose(0, 1).reshape(-1, 8) for a, b in ((0, 2), (2, 5))]
        return torch.cat(pieces).view(5, HEADS, 8)

    out, highest, total = ring(*operands)
    given = [part for one in operands for part in (one[0], stored(one[1]), stored(one[2]))]
    actual = run_on_npu(
        torch_npu.npu_ring_attention_update,
        *given,
        actual_seq_qlen=torch.tensor(ends),
        input_layout="TND",
        input_softmax_layout=layout,
    )
    agree(actual, (out, stored(highest), stored(total)))


def test_attention_update_refuses_wrong_calls() -> None:
    lse, out = normal(3, dtype=torch.float32), normal(3, WIDTH)
    rejects("localOut", torch_npu.npu_attention_update, [lse, lse], [out], 0)
    rejects("updateType", torch_npu.npu_attention_update, [lse], [out], 2)
