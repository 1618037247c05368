"""The prolog of latent attention: native/opapi/ops/kv_cache/mla_prolog.cpp."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
import torch_npu

from tests.twin.aclnn_calls import call
from tests.twin.ops.compare import agree, near_integers, rejects
from tests.twin.ops.samples import normal

HIDDEN, LOW, HEADS, NOPE, LATENT, ROPE = 64, 48, 3, 16, 32, 32
BATCH, LENGTH, PAGES, PAGE = 2, 3, 5, 4
TOKENS = BATCH * LENGTH
BF16 = torch.bfloat16


def turned(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    a, b = x[..., ::2], x[..., 1::2]
    return torch.cat([a, b], -1) * cos.float() + torch.cat([-b, a], -1) * sin.float()


def normed(x: torch.Tensor, gamma: torch.Tensor, epsilon: float) -> torch.Tensor:
    return x * (x.square().mean(-1, keepdim=True) + epsilon).rsqrt() * gamma.float()


def int8(*shape: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-99, 99, shape, generator=generator).to(torch.int8)


def single(*shape: int, seed: int) -> torch.Tensor:
    return normal(*shape, dtype=torch.float32, seed=seed).abs() / 50 + 0.01


@dataclass(frozen=True)
class Operands:
    """One problem; with int8 weights the scales that belong to them."""

    x: torch.Tensor
    weights: tuple[torch.Tensor, ...]  # dq, uq_qr, uk, dkv_kr
    gammas: tuple[torch.Tensor, torch.Tensor]
    sin: torch.Tensor
    cos: torch.Tensor
    scales: dict[str, torch.Tensor]


def operands(weight_mode: int) -> Operands:
    def weight(*shape: int, seed: int, quantized: bool) -> torch.Tensor:
        return int8(*shape, seed=seed) if quantized else normal(*shape, dtype=BF16, seed=seed) / 8

    whole, up = weight_mode == 2, weight_mode >= 1
    scales = {}
    if up:
        scales["dequant_scale_w_uq_qr"] = single(1, HEADS * (NOPE + ROPE), seed=3)
        scales["smooth_scales_cq"] = single(1, LOW, seed=4) * 50
    if whole:
        scales["dequant_scale_x"] = single(TOKENS, 1, seed=5)
        scales["dequant_scale_w_dq"] = single(1, LOW, seed=6)
        scales["dequant_scale_w_dkv_kr"] = single(1, LATENT + ROPE, seed=7)
    return Operands(
        x=weight(BATCH, LENGTH, HIDDEN, seed=0, quantized=whole),
        weights=(
            weight(HIDDEN, LOW, seed=1, quantized=whole),
            weight(LOW, HEADS * (NOPE + ROPE), seed=2, quantized=up),
            normal(HEADS, NOPE, LATENT, dtype=BF16, seed=8) / 4,
            weight(HIDDEN, LATENT + ROPE, seed=9, quantized=whole),
        ),
        gammas=(normal(LOW, dtype=BF16, seed=10), normal(LATENT, dtype=BF16, seed=11)),
        sin=normal(BATCH, LENGTH, ROPE, dtype=BF16, seed=12),
        cos=normal(BATCH, LENGTH, ROPE, dtype=BF16, seed=13),
        scales=scales,
    )


def product(
    x: torch.Tensor, weight: torch.Tensor, rows: torch.Tensor | None, columns: torch.Tensor | None
) -> torch.Tensor:
    if rows is None or columns is None:
        return x.float() @ weight.float()
    return (x.int() @ weight.int()).float() * rows * columns


def expected(given: Operands, mode: int) -> dict[str, torch.Tensor]:
    """Everything before the caches, in float32, [tokens, ...]."""
    scales = given.scales
    x, cos, sin = (one.reshape(TOKENS, -1) for one in (given.x, given.cos, given.sin))
    dq, up, uk, down = given.weights
    rows = scales.get("dequant_scale_x")
    low = product(x, dq, rows, scales.get("dequant_scale_w_dq"))
    norm = normed(low, given.gammas[0], 1e-5)
    result = {"norm": norm}
    if mode == 0:
        joint = norm.bfloat16().float() @ up.float()
    else:
        norm = norm * scales["smooth_scales_cq"]
        scale = norm.abs().amax(1, keepdim=True) / 127
        quantized = (norm / scale).round()
        result |= {"norm": quantized, "norm_scale": scale}
        joint = product(quantized, up, scale, scales["dequant_scale_w_uq_qr"])
    nope, rope = joint.view(TOKENS, HEADS, -1).split_with_sizes([NOPE, ROPE], 2)
    result["query"] = torch.einsum("tnd,ndc->tnc", nope.bfloat16().float(), uk.float())
    result["rope"] = turned(rope, cos.unsqueeze(1), sin.unsqueeze(1))
    both = product(x, down, rows, scales.get("dequant_scale_w_dkv_kr"))
    key, key_rope = both.split_with_sizes([LATENT, ROPE], 1)
    result["key"] = normed(key, given.gammas[1], 1e-5)
    result["key_rope"] = turned(key_rope, cos, sin)
    return result


def slots() -> torch.Tensor:
    return torch.randperm(PAGES * PAGE, generator=torch.Generator().manual_seed(3))[:TOKENS]


def stored(cache: torch.Tensor, values: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    cache = cache.clone()
    cache.view(-1, cache.size(3))[index] = values.to(cache.dtype)
    return cache


def close(actual: torch.Tensor, wanted: torch.Tensor) -> None:
    if wanted.dtype == torch.int8:
        near_integers(actual, wanted)
    else:
        torch.testing.assert_close(actual.cpu(), wanted, rtol=3e-2, atol=3e-2)


def caches(dtype: torch.dtype, rope: torch.dtype) -> list[torch.Tensor]:
    return [
        normal(PAGES, PAGE, 1, LATENT, seed=20).mul(20).to(dtype),
        normal(PAGES, PAGE, 1, ROPE, seed=21).mul(20).to(rope),
    ]


def arguments(given: Operands) -> list[torch.Tensor]:
    return [one.to("npu") for one in (*given.weights, *given.gammas, given.sin, given.cos)]


@pytest.mark.parametrize("version", ["v2", "v3"])
@pytest.mark.parametrize(("weight_mode", "kv_mode"), [(0, 0), (1, 0), (1, 2), (2, 0), (2, 1)])
def test_prolog(version: str, weight_mode: int, kv_mode: int) -> None:
    given = operands(weight_mode)
    wanted = expected(given, weight_mode)
    index = slots()
    scales = dict(given.scales)
    if kv_mode == 1:
        width = LATENT if version == "v2" else 1
        scales["quant_scale_ckv"] = torch.full((1, width), 20.0)
        if version == "v3":
            scales["quant_scale_ckv"] = scales["quant_scale_ckv"].view(1)
        wanted["key"] = (wanted["key"] * 20).round().clamp(-128, 127)
        query = wanted["query"].bfloat16().float()
        scale = query.abs().amax(2, keepdim=True) / 127
        wanted |= {"query": (query / scale).round(), "query_scale": scale}
        wanted["rope"] = wanted["rope"].bfloat16().float() * 20 / scale
    elif kv_mode == 2:
        scales["quant_scale_ckv"] = single(1, LATENT, seed=30) * 900
        scales["quant_scale_ckr"] = single(1, ROPE, seed=31) * 900
        wanted["key"] = (wanted["key"] * scales["quant_scale_ckv"]).round().clamp(-128, 127)
        wanted["key_rope"] *= scales["quant_scale_ckr"]
        wanted["key_rope"] = wanted["key_rope"].round().clamp(-128, 127)
    before = caches(torch.int8 if kv_mode else BF16, torch.int8 if kv_mode == 2 else BF16)
    on_npu = [cache.to("npu") for cache in before]
    options = {name: scale.to("npu") for name, scale in scales.items()}
    places = index.view(BATCH, LENGTH).to("npu")
    if version == "v2":
        results = torch_npu.npu_mla_prolog_v2(
            given.x.to("npu"), *arguments(given), places, *on_npu, cache_mode="PA_BSND", **options
        )
        query, rope, scale_out = results[0], results[1], results[4]
    else:
        modes = {"weight_quant_mode": weight_mode, "kv_cache_quant_mode": kv_mode}
        modes["query_quant_mode"] = int(kv_mode == 1)
        query, rope, scale_out, norm, norm_scale = torch_npu.npu_mla_prolog_v3(
            given.x.to("npu"),
            *arguments(given),
            *on_npu,
            cache_index=places,
            query_norm_flag=True,
            **modes,
            **options,
        )
        close(norm.view(TOKENS, LOW), wanted["norm"].to(torch.int8 if weight_mode else BF16))
        if weight_mode:
            close(norm_scale, wanted["norm_scale"])
    quantized = kv_mode == 1
    close(query.view(TOKENS, HEADS, -1), wanted["query"].to(torch.int8 if quantized else BF16))
    close(rope.view(TOKENS, HEADS, -1), wanted["rope"].to(BF16))
    if quantized:
        close(scale_out, wanted["query_scale"])
    for cache, old, name in zip(on_npu, before, ("key", "key_rope"), strict=True):
        close(cache, stored(old, wanted[name], index))


@pytest.mark.parametrize("mode", ["PA_NZ", "PA_BLK_BSND", "PA_BLK_NZ", "BSND"])
@pytest.mark.parametrize("packed", [True, False])
def test_cache_modes(mode: str, *, packed: bool) -> None:
    """Where the caches have the tokens of two sequences."""
    given = operands(0)
    key = expected(given, 0)["key"].bfloat16()
    lengths = [2, 4] if packed else [LENGTH] * BATCH
    by_page = "BLK" in mode
    index = torch.tensor([3, 1], dtype=torch.int64) if by_page else slots()
    size = LENGTH if mode == "BSND" else PAGE
    before = normal(PAGES if mode != "BSND" else BATCH, size, 1, LATENT, dtype=BF16, seed=20)
    rope = torch.zeros(*before.shape[:3], ROPE, dtype=BF16)
    if by_page:
        pairs = zip(index.tolist(), lengths, strict=True)
        places = torch.cat([number * PAGE + torch.arange(n) for number, n in pairs])
    else:
        places = index
    if mode == "BSND":
        wanted = key.view(before.shape)
    elif "NZ" in mode:
        wanted = before.clone()
        blocks = wanted.view(PAGES, LATENT // 16, PAGE, 16)
        for token, place in zip(key, places.tolist(), strict=True):
            blocks[place // PAGE, :, place % PAGE] = token.view(-1, 16)
    else:
        wanted = stored(before, key, places)
    on_npu = [before.to("npu"), rope.to("npu")]
    x, sin, cos = given.x, given.sin, given.cos
    if packed:
        x, sin, cos = (one.flatten(0, 1) for one in (x, sin, cos))
        mode = "TND" if mode == "BSND" else mode
        if mode == "TND":
            on_npu = [cache.flatten(0, 1) for cache in on_npu]
            wanted = wanted.flatten(0, 1)
    options: dict[str, object] = {}
    if mode not in {"BSND", "TND"}:
        options["cache_index"] = index.to("npu")
    if packed and by_page:
        options["actual_seq_len"] = torch.tensor([2, 6], dtype=torch.int32).to("npu")
    weights = [one.to("npu") for one in (*given.weights, *given.gammas, sin, cos)]
    torch_npu.npu_mla_prolog_v3(x.to("npu"), *weights, *on_npu, cache_mode=mode, **options)
    close(on_npu[0], wanted)


def test_mla_prolog_refuses_wrong_calls() -> None:
    given = operands(0)
    tensors = (given.x, *given.weights, *given.gammas, given.sin, given.cos, *caches(BF16, BF16))
    prolog = torch_npu.npu_mla_prolog_v3
    index = slots().view(BATCH, LENGTH)
    rejects("kvCacheQuantMode", prolog, *tensors, cache_index=index, kv_cache_quant_mode=3)
    rejects("cacheMode", prolog, *tensors, cache_index=index, cache_mode="PA_BNSD")
    rejects("cacheIndex", prolog, *tensors)


def test_scales() -> None:
    """The factors of query and key come behind the norms."""
    given, index = operands(0), slots()
    results = []
    for factors in ((1.0, 1.0), (2.0, 4.0)):
        on_npu = [cache.to("npu") for cache in caches(BF16, BF16)]
        query = torch_npu.npu_mla_prolog_v3(
            given.x.to("npu"),
            *arguments(given),
            *on_npu,
            cache_index=index.view(BATCH, LENGTH).to("npu"),
            qc_qr_scale=factors[0],
            kc_scale=factors[1],
        )[0]
        results.append((query.cpu(), on_npu[0].cpu().view(-1, LATENT)[index]))
    assert all(result.count_nonzero() > 0 for result in results[0])
    agree(results[1][0], results[0][0] * 2)
    agree(results[1][1], results[0][1] * 4)


def in_blocks(weight: torch.Tensor) -> torch.Tensor:
    """The blocks of 16 rows and columns in which a weight is stored."""
    rows, columns = weight.shape
    return weight.view(rows // 16, 16, columns // 16, 16).permute(2, 0, 1, 3).contiguous()


@pytest.mark.parametrize("blocks", [False, True])
def test_the_first_version(*, blocks: bool) -> None:
    given = operands(0)
    wanted, index, before = expected(given, 0), slots(), caches(BF16, BF16)
    on_npu = [cache.to("npu") for cache in before]
    query = torch.zeros(BATCH, LENGTH, HEADS, LATENT, dtype=BF16).to("npu")
    rope = torch.zeros(BATCH, LENGTH, HEADS, ROPE, dtype=BF16).to("npu")
    weights = arguments(given)
    if blocks:
        for place in (0, 1, 3):
            weights[place] = in_blocks(weights[place].cpu()).to("npu")
    call(
        "aclnnMlaProlog",
        *(given.x.to("npu"), *weights, index.view(BATCH, LENGTH).to("npu"), *on_npu),
        *([None] * 7),
        *(1e-5, 1e-5, "PA_BSND", query, rope),
    )
    close(query.view(TOKENS, HEADS, -1), wanted["query"].to(BF16))
    close(rope.view(TOKENS, HEADS, -1), wanted["rope"].to(BF16))
    for cache, old, name in zip(on_npu, before, ("key", "key_rope"), strict=True):
        close(cache, stored(old, wanted[name], index))
