"""Attention: native/opapi/ops/attention/attention.cpp, against the formula in float64."""

from __future__ import annotations

import math
from functools import partial

import pytest
import torch
import torch_npu
from torch.nn import functional

from tests.twin.ops.attention.inference import hidden_keys
from tests.twin.ops.compare import agree, check
from tests.twin.ops.gradients import check_gradients, leaf
from tests.twin.ops.samples import some

LAYOUTS = ("BNSD", "BSND", "BSH", "SBH")
BATCH, HEADS, QUERIES, KEYS, WIDTH = 2, 4, 6, 8, 8


def to_layout(bnsd: torch.Tensor, layout: str) -> torch.Tensor:
    if layout == "BNSD":
        return bnsd
    if layout == "BSND":
        return bnsd.transpose(1, 2)
    joined = bnsd.transpose(1, 2).flatten(2)
    return joined if layout == "BSH" else joined.transpose(0, 1)


def reference(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    hidden: torch.Tensor,
    pse: torch.Tensor | None,
) -> torch.Tensor:
    groups = q.size(1) // k.size(1)
    k, v = (tensor.repeat_interleave(groups, 1) for tensor in (k, v))
    scores = q @ k.transpose(2, 3)
    scores = (scores if pse is None else scores + pse) * 0.3
    weights = scores.masked_fill(hidden, -math.inf).softmax(-1)
    return weights.nan_to_num(0) @ v


@pytest.mark.parametrize("key_heads", [HEADS, 2, 1])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str, key_heads: int) -> None:
    """Results and gradients, with the same number of key heads and with fewer."""

    def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> object:
        if q.device.type == "cpu":
            hidden = torch.zeros(QUERIES, KEYS, dtype=torch.bool)
            return to_layout(reference(q, k, v, hidden, None), layout)
        inputs = (to_layout(tensor, layout) for tensor in (q, k, v))
        return torch_npu.npu_fusion_attention(*inputs, HEADS, layout, scale=0.3)[0]

    query = leaf((BATCH, HEADS, QUERIES, WIDTH))
    key, value = (leaf((BATCH, key_heads, KEYS, WIDTH), seed=seed) for seed in (4, 5))
    check_gradients(run, query, key, value)


@pytest.mark.parametrize("mode", [2, 3, 4, 6])
@pytest.mark.parametrize("queries", [KEYS, 5, 10])
def test_sparse_modes(mode: int, queries: int) -> None:
    hidden = hidden_keys(mode, queries, KEYS)
    compressed = torch.ones(2048, 2048, dtype=torch.bool).triu(1)

    def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> object:
        if q.device.type == "cpu":
            return reference(q, k, v, hidden, None)
        return torch_npu.npu_fusion_attention(
            q,
            k,
            v,
            HEADS,
            "BNSD",
            scale=0.3,
            atten_mask=compressed.to("npu"),
            sparse_mode=mode,
            pre_tockens=2,
            next_tockens=1,
            prefix=[3, 3] if mode == 6 else None,
        )[0]

    query = leaf((BATCH, HEADS, queries, WIDTH))
    key, value = (leaf((BATCH, HEADS, KEYS, WIDTH), seed=seed) for seed in (4, 5))
    check_gradients(run, query, key, value)


def test_sparse_modes_need_a_mask() -> None:
    """Without one, every score counts in every mode, as documented."""
    query, key = some((1, 2, 3, WIDTH), torch.float32), some((1, 2, 5, WIDTH), torch.float32)
    on_npu = [tensor.to("npu") for tensor in (query, key, key)]
    expected = reference(query, key, key, torch.zeros(3, 5, dtype=torch.bool), None)
    for mode in (0, 2, 3, 4):
        options = {"scale": 0.3, "sparse_mode": mode, "pre_tockens": 0, "next_tockens": 0}
        agree(torch_npu.npu_fusion_attention(*on_npu, 2, "BNSD", **options)[0], expected)


@pytest.mark.parametrize(
    "shape", [(QUERIES, KEYS), (1, 1, QUERIES, KEYS), (BATCH, HEADS, QUERIES, KEYS)]
)
def test_mask_and_position_term(shape: tuple[int, ...]) -> None:
    mask = some(shape, torch.bool)
    mask[..., 0, :] = True  # a query that sees nothing gets zeros

    def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, pse: torch.Tensor) -> object:
        if q.device.type == "cpu":
            return reference(q, k, v, mask, pse)
        return torch_npu.npu_fusion_attention(
            q, k, v, HEADS, "BNSD", pse=pse, scale=0.3, atten_mask=mask.to("npu")
        )[0]

    query = leaf((BATCH, HEADS, QUERIES, WIDTH))
    key, value = (leaf((BATCH, HEADS, KEYS, WIDTH), seed=seed) for seed in (4, 5))
    check_gradients(run, query, key, value, leaf((1, HEADS, QUERIES, KEYS), seed=6).detach())


def test_sink() -> None:
    """An extra score per head that takes probability and gives no value."""

    def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, sink: torch.Tensor) -> object:
        if q.device.type == "cpu":
            scores = (q @ k.transpose(2, 3)) * 0.3
            extra = sink.view(1, -1, 1, 1).expand(*scores.shape[:3], 1)
            return torch.cat((scores, extra), 3).softmax(3)[..., :-1] @ v
        return torch_npu.npu_fusion_attention_v3(q, k, v, HEADS, "BNSD", scale=0.3, sink=sink)[0]

    query = leaf((BATCH, HEADS, QUERIES, WIDTH))
    key, value = (leaf((BATCH, HEADS, KEYS, WIDTH), seed=seed) for seed in (4, 5))
    check_gradients(run, query, key, value, leaf((HEADS,), seed=6))


def test_statistics() -> None:
    """The maximum and the sum of each row, repeated over a block of 8."""
    q, k = some((1, 2, 3, WIDTH), torch.float32), some((1, 2, 5, WIDTH), torch.float32)
    _, highest, total, *_ = torch_npu.npu_fusion_attention(
        q.to("npu"), k.to("npu"), k.to("npu"), 2, "BNSD"
    )
    scores = q @ k.transpose(2, 3)
    wanted = scores.amax(3, keepdim=True)
    agree(highest, wanted.expand(-1, -1, -1, 8))
    agree(total, (scores - wanted).exp().sum(3, keepdim=True).expand(-1, -1, -1, 8))


def test_dropout() -> None:
    """The probability of zero, the scale of the rest, and the same mask in the gradient."""
    torch.manual_seed(0)
    q = torch.zeros(1, 2, 128, 16, device="npu")
    v = torch.eye(128, device="npu").expand(1, 2, 128, 128).contiguous().requires_grad_()
    k = torch.zeros(1, 2, 128, 16, device="npu")
    weights = torch_npu.npu_fusion_attention(q, k, v, 2, "BNSD", keep_prob=0.75)[0]
    kept = weights.detach() > 0
    assert abs(kept.float().mean().item() - 0.75) < 0.02
    assert torch.allclose(weights[kept], torch.tensor(1 / 128 / 0.75, device="npu"))
    (grad,) = torch.autograd.grad(weights.sum(), v)
    assert torch.allclose(grad[0, :, :, 0], weights.detach().sum(2)[0], atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize(("causal", "masked"), [(False, False), (True, False), (False, True)])
def test_scaled_dot_product_attention(dtype: torch.dtype, causal: bool, masked: bool) -> None:  # noqa: FBT001
    shape = (BATCH, HEADS, KEYS, WIDTH)
    mask = some((KEYS, KEYS), torch.bool) if masked else None
    attention = partial(functional.scaled_dot_product_attention, attn_mask=mask, is_causal=causal)
    tensors = [some(shape, dtype), some(shape, dtype).flip(0), some(shape, dtype).flip(2)]
    expected = attention(*(tensor.double() for tensor in tensors)).to(dtype)
    on_npu = partial(attention, attn_mask=mask.to("npu")) if mask is not None else attention
    agree(on_npu(*(tensor.to("npu") for tensor in tensors)), expected)


def test_transform_bias_rescale() -> None:
    operator = torch.ops.aten._transform_bias_rescale_qkv  # noqa: SLF001 - no public name
    check(
        lambda x, b: list(operator(x, b, 2)),
        some((2, 3, 24), torch.float32),
        some((24,), torch.float32),
    )
