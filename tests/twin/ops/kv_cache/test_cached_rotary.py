"""Rotary embeddings with tables and caches: native/opapi/ops/kv_cache/cached_rotary.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.aclnn_calls import call
from tests.twin.ops.compare import HALVES, agree, rejects, run_on_npu
from tests.twin.ops.samples import normal

DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
TOKENS, POSITIONS, HEAD = 5, 11, 16
NEOX = True


def turned(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, mode: str) -> torch.Tensor:
    """Heads [..., D] by the angles of half the rotated width; the rest stays."""
    width = 2 * cos.size(-1)
    x = x.float()
    rotated = x[..., :width]
    if mode == "half":
        a, b = rotated.chunk(2, -1)
    else:
        a, b = rotated[..., ::2], rotated[..., 1::2]
    pair = (a * cos - b * sin, b * cos + a * sin)
    joined = torch.cat(pair, -1) if mode == "half" else torch.stack(pair, -1).flatten(-2)
    return torch.cat([joined, x[..., width:]], -1)


@DTYPES
@pytest.mark.parametrize("mode", ["half", "interleave"])
@pytest.mark.parametrize("width", [HEAD, 12])
@pytest.mark.parametrize("sections", [None, [2, 3, 1], [3, 2, 3], [2, 2, 1, 1]])
def test_table(dtype: torch.dtype, mode: str, width: int, sections: list[int] | None) -> None:
    """One position for each token, or several whose angles are joined."""
    if sections is not None:
        width = 2 * sum(sections)
    query, key = normal(TOKENS, 3 * HEAD, dtype=dtype), normal(TOKENS, HEAD, dtype=dtype, seed=1)
    table = normal(POSITIONS, width, dtype=dtype, seed=2)
    kinds = 1 if sections is None else len(sections)
    positions = torch.randint(
        POSITIONS, (kinds, TOKENS), generator=torch.Generator().manual_seed(0)
    )
    rows = table.float()[positions]
    cos, sin = rows.chunk(2, -1)
    if sections is None:
        cos, sin = cos[0], sin[0]
    else:
        cos, sin = (
            torch.cat([part[i] for i, part in enumerate(one.split_with_sizes(sections, -1))], -1)
            for one in (cos, sin)
        )
    expected = tuple(
        turned(tokens.view(TOKENS, -1, HEAD), cos.unsqueeze(1), sin.unsqueeze(1), mode)
        .view(tokens.shape)
        .to(dtype)
        for tokens in (query, key)
    )
    options = {} if sections is None else {"mrope_section": sections}
    given = positions[0] if sections is None else positions
    operands = (given, query, key, table, HEAD)
    agree(run_on_npu(torch_npu.npu_mrope, *operands, **options, rotary_mode=mode), expected)


@pytest.mark.parametrize("middle", [2, 3])
def test_interleaved_table(middle: int) -> None:
    """Every third angle comes from the second and the third position; there are no more than 8."""
    width = 16
    query, key = (
        normal(TOKENS, HEAD, dtype=torch.float32),
        normal(TOKENS, HEAD, dtype=torch.float32),
    )
    table = normal(POSITIONS, width, dtype=torch.float32, seed=2)
    positions = torch.randint(POSITIONS, (3, TOKENS), generator=torch.Generator().manual_seed(0))
    cos, sin = table[positions].chunk(2, -1)
    source = torch.tensor([0, 1, 2, 0, 1, 2, 0, 0 if middle == 2 else 1])
    cos, sin = (one[source, :, torch.arange(8)].T for one in (cos, sin))
    expected = turned(query, cos, sin, "half")
    options = {"mrope_section": [4, middle, middle], "cache_mode": "interleave"}
    actual = run_on_npu(torch_npu.npu_mrope, positions, query, key, table, HEAD, **options)
    assert isinstance(actual, tuple)
    agree(actual[0], expected)


def test_refuses_sections() -> None:
    tokens, positions = normal(TOKENS, HEAD), torch.zeros(3, TOKENS, dtype=torch.int64)
    table = normal(POSITIONS, HEAD)
    options = {"mrope_section": [1, 1, 1]}
    rejects("mropeSection", torch_npu.npu_mrope, positions, tokens, tokens, table, HEAD, **options)


# ---- npu_qkv_rms_norm_rope_cache

BATCH, LENGTH, WIDTH = 2, 3, 64
HEADS = (4, 2, 2)
PAGES, PAGE = 4, 32


def normed(x: torch.Tensor, gamma: torch.Tensor) -> torch.Tensor:
    return x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * gamma.float()


def rotated(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    a, b = x.chunk(2, -1)
    return x * cos.float() + torch.cat([-b, a], -1) * sin.float()


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("quantized", ["", "scale", "scale and offset"])
def test_joint_projection(dtype: torch.dtype, quantized: str) -> None:
    tokens = BATCH * LENGTH
    qkv = normal(tokens, sum(HEADS) * WIDTH, dtype=dtype)
    gammas = [normal(WIDTH, dtype=dtype, seed=i) for i in (1, 2)]
    cos, sin = (normal(tokens, WIDTH, dtype=dtype, seed=i) for i in (3, 4))
    index = torch.randperm(PAGES * PAGE, generator=torch.Generator().manual_seed(0))[:tokens]
    index[2] = -1
    q, k, v = qkv.float().view(tokens, -1, WIDTH).split_with_sizes(HEADS, 1)
    angles = (cos.unsqueeze(1), sin.unsqueeze(1))
    q, k = (rotated(normed(x, g), *angles) for x, g in zip((q, k), gammas, strict=True))
    block = 32 if quantized else 16
    kind = torch.int8 if quantized else dtype
    scales = [normal(2, WIDTH, dtype=torch.float32, seed=i).abs() + 0.1 for i in (5, 6)]
    offsets = [normal(2, WIDTH, dtype=torch.float32, seed=i) for i in (7, 8)]
    caches, expected = [], []
    for values, scale, offset in zip((k, v), scales, offsets, strict=True):
        cache = normal(PAGES, 2 * WIDTH // block, PAGE, block, seed=9).mul(9).to(kind)
        caches.append(cache.to("npu"))
        cache = cache.clone()
        if quantized:
            stored = values / scale + (offset if "offset" in quantized else 0)
            stored = stored.round().clamp(-128, 127)
        else:
            stored = values
        for token, slot in zip(stored, index.tolist(), strict=True):
            if slot >= 0:
                cache[slot // PAGE, :, slot % PAGE] = token.reshape(-1, block).to(kind)
        expected.append(cache)
    q_out = torch.zeros(tokens, HEADS[0] * WIDTH, dtype=dtype).to("npu")
    inputs = [tensor.to("npu") for tensor in (qkv, *gammas, cos, sin, index)]
    options: dict[str, object] = {}
    if quantized:
        options = {"k_scale": scales[0].to("npu"), "v_scale": scales[1].to("npu")}
    if "offset" in quantized:
        options |= {"k_offset": offsets[0].to("npu"), "v_offset": offsets[1].to("npu")}
    before = torch_npu.npu_qkv_rms_norm_rope_cache(
        *inputs,
        q_out,
        *caches,
        [BATCH, LENGTH, sum(HEADS), WIDTH],
        list(HEADS),
        **options,
        epsilon=1e-6,
        cache_mode="PA_NZ",
        is_output_qkv=True,
    )
    agree(q_out, q.flatten(1).to(dtype))
    agree(caches, expected)
    agree(before, tuple(x.flatten(1).to(dtype) for x in (q, k, v)))


# ---- npu_rope_quant_kvcache, npu_dequant_rope_quant_kvcache


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("mode", ["contiguous", "page"])
@pytest.mark.parametrize("offset", [True, False])
def test_quantized_cache(dtype: torch.dtype, mode: str, *, offset: bool) -> None:
    heads, kv, width = 4, 2, 16
    x = normal(BATCH, LENGTH, (heads + 2 * kv) * width, dtype=dtype)
    cos, sin = (normal(BATCH, LENGTH, 1, width, dtype=dtype, seed=i) for i in (1, 2))
    q, k, v = x.float().view(BATCH, LENGTH, -1, width).split_with_sizes([heads, kv, kv], 2)
    q, k = rotated(q, cos, sin), rotated(k, cos, sin)
    scales = [normal(kv, width, dtype=torch.float32, seed=i) * 20 for i in (3, 4)]
    offsets = [normal(kv, width, dtype=torch.float32, seed=i) * 9 for i in (5, 6)]
    count = BATCH * (LENGTH if mode == "page" else 1)
    places = torch.randperm(8, generator=torch.Generator().manual_seed(1))[:count].int()
    caches, expected = [], []
    for values, scale, shift in zip((k, v), scales, offsets, strict=True):
        cache = normal(3, 12, kv, width, seed=7).mul(50).to(torch.int8)
        caches.append(cache.to("npu"))
        stored = (values * scale + (shift if offset else 0)).round().clamp(-128, 127)
        cache = cache.clone()
        for i in range(BATCH):
            if mode == "contiguous":
                cache[i, places[i] : places[i] + LENGTH] = stored[i].to(torch.int8)
            else:
                slots = places[i * LENGTH : (i + 1) * LENGTH]
                cache.view(-1, kv, width)[slots.long()] = stored[i].to(torch.int8)
        expected.append(cache)
    options: dict[str, object] = {}
    if offset:
        options = {
            "offset_k": offsets[0].to("npu"),
            "offset_v": offsets[1].to("npu"),
        }
    actual = torch_npu.npu_rope_quant_kvcache(
        x.to("npu"),
        cos.to("npu"),
        sin.to("npu"),
        *caches,
        places.to("npu"),
        scales[0].to("npu"),
        scales[1].to("npu"),
        [heads * width, kv * width, kv * width],
        **options,
        kv_output=True,
        cache_mode=mode,
    )
    agree(actual[:3], tuple(tensor.to(dtype) for tensor in (q, k, v)))
    agree(caches, expected)


def test_dequantized_input() -> None:
    """Of int32, with scales for columns and tokens and a bias."""
    heads, kv, width = 2, 1, 16
    columns = (heads + 2 * kv) * width
    x = torch.randint(-99, 99, (BATCH, columns), generator=torch.Generator().manual_seed(0)).int()
    cos, sin = (normal(BATCH, width, seed=i) for i in (1, 2))
    weight_scale = normal(columns, dtype=torch.float32, seed=3) / 9
    token_scale = normal(BATCH, dtype=torch.float32, seed=4)
    bias = normal(columns, dtype=torch.float32, seed=5)
    real = x * weight_scale * token_scale.unsqueeze(1) + bias
    q, k, v = real.view(BATCH, -1, width).split_with_sizes([heads, kv, kv], 1)
    angles = (cos.unsqueeze(1), sin.unsqueeze(1))
    q, k = rotated(q, *angles), rotated(k, *angles)
    cache = torch.zeros(3, 4, kv, width, dtype=torch.int8)
    ones = torch.ones(kv, width)
    places = torch.tensor([2, 1], dtype=torch.int32)
    caches = [cache.to("npu"), cache.to("npu")]
    actual = torch_npu.npu_dequant_rope_quant_kvcache(
        x.to("npu"),
        cos.to("npu"),
        sin.to("npu"),
        *caches,
        places.to("npu"),
        ones.to("npu"),
        ones.to("npu"),
        [heads * width, kv * width, kv * width],
        weight_scale=weight_scale.to("npu"),
        activation_scale=token_scale.to("npu"),
        bias=bias.to("npu"),
        kv_output=True,
    )
    agree(actual[:3], tuple(tensor.half() for tensor in (q, k, v)))
    for i in range(BATCH):
        cache[i, places[i]] = k[i].round().clamp(-128, 127).to(torch.int8)
    agree(caches[0], cache)


@pytest.mark.parametrize("sections", [[0, 0, 0], None])
def test_table_as_a_c_program(sections: list[int] | None) -> None:
    """The older form has no mode of the table."""
    tokens = normal(TOKENS, HEAD, dtype=torch.float32).to("npu")
    table, out = normal(POSITIONS, HEAD, dtype=torch.float32).to("npu"), torch.empty_like(tokens)
    other, positions = torch.empty_like(tokens), torch.arange(TOKENS).to("npu")
    call(
        "aclnnRopeWithSinCosCache",
        positions,
        tokens,
        tokens,
        table,
        sections,
        HEAD,
        NEOX,
        out,
        other,
    )
    agree(out, torch_npu.npu_mrope(positions, tokens, tokens, table, HEAD)[0].cpu())
