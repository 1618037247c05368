"""Writes into caches of keys and values: native/opapi/ops/kv_cache/kv_cache.cpp, token by token."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu

from tests.twin.aclnn_calls import call
from tests.twin.ops.compare import HALVES, agree, rejects, run_on_npu
from tests.twin.ops.samples import normal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BATCH, LENGTH, PAGES, PAGE = 2, 5, 7, 4
NO = False
ROPE, VALUE = 64, 96


def slots(count: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    """Different slots out of order; the second token is not stored."""
    mixed = torch.randperm(PAGES * PAGE, generator=torch.Generator().manual_seed(2))[:count]
    mixed[1] = -1
    return mixed.to(dtype)


# ---- npu_scatter_pa_kv_cache


def scattered(
    tokens: torch.Tensor, cache: torch.Tensor, slot_mapping: torch.Tensor, mode: str
) -> torch.Tensor:
    """The cache after the write."""
    cache = cache.clone()
    for token, slot in zip(tokens, slot_mapping.tolist(), strict=True):
        page, place = divmod(slot, PAGE)
        if slot < 0:
            continue
        if mode == "Norm":
            cache[page, place] = token
        else:  # blocks: of the joined heads, or of each
            cache[page, ..., place, :] = token.reshape(cache[page, ..., place, :].shape)
    return cache


def caches(mode: str, heads: int, width: int, dtype: torch.dtype) -> Iterator[torch.Tensor]:
    if mode == "Norm":
        yield normal(PAGES, PAGE, heads, width, dtype=dtype, seed=3)
    else:
        yield normal(PAGES, heads * width // 16, PAGE, 16, dtype=dtype, seed=3)
        yield normal(PAGES, heads, width // 16, PAGE, 16, dtype=dtype, seed=3)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("mode", ["Norm", "PA_NZ"])
@pytest.mark.parametrize("index", [torch.int32, torch.int64], ids=str)
def test_scatter(mode: str, dtype: torch.dtype, index: torch.dtype) -> None:
    """Keys and values of different widths."""
    key, value = normal(9, 2, 32, dtype=dtype), normal(9, 2, 48, dtype=dtype, seed=1)
    mapping = slots(9, index)
    for key_cache, value_cache in zip(
        caches(mode, 2, 32, dtype), caches(mode, 2, 48, dtype), strict=True
    ):
        on_npu = [tensor.to("npu") for tensor in (key, value, key_cache, value_cache, mapping)]
        torch_npu.npu_scatter_pa_kv_cache(*on_npu, cache_mode=mode)
        agree(on_npu[2], scattered(key, key_cache, mapping, mode))
        agree(on_npu[3], scattered(value, value_cache, mapping, mode))


def test_scatter_into_pages_of_heads_and_without_values() -> None:
    """C programs can pass more: [pages, N, page size, D], and a cache of keys alone."""
    key, cache, mapping = normal(9, 2, 32), normal(PAGES, 2, PAGE, 32, seed=3), slots(9)
    key_cache, value_cache = cache.to("npu"), cache.to("npu")
    scatter = partial(call, "aclnnScatterPaKvCache", key.to("npu"))
    rest = (None, None, None, "Norm")
    scatter(key_cache, mapping.to("npu"), key.to("npu"), value_cache, *rest, "NHSD", [1, 1], [0, 0])
    expected = scattered(key, cache.transpose(1, 2), mapping, "Norm")
    agree([key_cache, value_cache], [expected.transpose(1, 2)] * 2)
    plain = cache.transpose(1, 2).contiguous().to("npu")
    nothing = torch.empty(0, dtype=torch.float16, device="npu")
    scatter(plain, mapping.to("npu"), nothing, nothing, *rest, "None", None, None)
    agree(plain, expected)


def test_scatter_refusals() -> None:
    key, cache = normal(9, 2, 32), normal(PAGES, PAGE, 2, 32)
    scatter = partial(torch_npu.npu_scatter_pa_kv_cache, cache_mode="Norm")
    rejects("slot 28 is beyond", scatter, key, key, cache, cache, torch.arange(20, 29))
    rejects("values for each token", scatter, key, key, cache[:, :, :1], cache, slots(9))
    for mode, wrong, allowed in (
        ("Norm", cache[:, :, 0], "[pages, page size, N, D]"),
        ("Norm", cache[:, :, :1], "[pages, page size, N, D]"),
        ("PA_NZ", cache[:, :, 0], "[pages, N * D / block, page size, block]"),
        ("PA_NZ", cache[:, :1], "[pages, N, D / block, page size, block]"),
    ):
        text = f"allowed in mode {mode}: {allowed}" if mode == "Norm" else allowed
        rejects(text, scatter, key, key, wrong, cache, slots(9), cache_mode=mode)
    given = (key, key, cache, cache, slots(9))
    rejects("parameter 'cacheMode' is 'Other'", scatter, *given, cache_mode="Other")
    rejects("parameter 'seqLens' is given", scatter, *given, seq_lens=torch.ones(1).long())
    for strides, offsets, text in (
        ([2, 1], None, "'strides' is [2, 1]"),
        ([], [0, 8], "'offsets'"),
    ):
        tensors = (key, cache, slots(9), key, cache, None, None, None)
        options = ("Norm", "None", strides, offsets)
        rejects(f"parameter {text}", partial(call, "aclnnScatterPaKvCache"), *tensors, *options)


# ---- npu_kv_rmsnorm_rope_cache


def rotated(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    halves = torch.cat((x[..., ::2], x[..., 1::2]), -1)
    first, second = halves.chunk(2, -1)
    return halves * cos.double() + torch.cat((-second, first), -1) * sin.double()


def normalized(x: torch.Tensor, gamma: torch.Tensor) -> torch.Tensor:
    return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * gamma.double()


def place(mode: str, index: torch.Tensor, batch: int, token: int) -> int:
    """The slot that a token goes to."""
    if mode == "Norm":
        own = int(index[batch, token])
        return own if own < 0 else batch * PAGE * 3 + own
    if "BLK" in mode:
        first = int(index.view(BATCH, -1)[batch, token // PAGE])
        return first if first < 0 else first // PAGE * PAGE + token % PAGE
    return int(index[batch * LENGTH + token])


def stored(
    values: torch.Tensor, cache: torch.Tensor, index: torch.Tensor, mode: str
) -> torch.Tensor:
    """The cache after the write of [B, 1, S, D]."""
    cache, width = cache.clone(), values.size(-1)
    block = 32 // cache.element_size()
    rows = cache.view(-1, width)
    if mode.endswith("NZ"):  # declared as rows, but holds [pages, D / block, page size, block]
        blocks = cache.view(PAGES, width // block, PAGE, block)
    for batch in range(BATCH):
        for token in range(LENGTH):
            slot = place(mode, index, batch, token)
            if slot < 0:
                continue
            row = values[batch, 0, token].to(cache.dtype)
            if mode.endswith("NZ"):
                blocks[slot // PAGE, :, slot % PAGE] = row.view(-1, block)
            else:
                rows[slot] = row
    return cache


def index_for(mode: str) -> torch.Tensor:
    if mode == "Norm":
        return torch.tensor([[3, 0, 11, -1, 7], [9, 1, 2, 5, 4]])
    if "BLK" in mode:
        return torch.tensor([8, 20, -1, 4])
    return slots(BATCH * LENGTH)


def cache_for(mode: str, width: int, dtype: torch.dtype) -> torch.Tensor:
    shape = (BATCH, 1, PAGE * 3) if mode == "Norm" else (PAGES, PAGE, 1)
    return torch.full((*shape, width), 9, dtype=dtype)


MODES = pytest.mark.parametrize(
    "mode", ["Norm", "PA", "PA_BNSD", "PA_NZ", "PA_BLK_BNSD", "PA_BLK_NZ"]
)
V1: Callable[..., tuple[torch.Tensor, ...]] = torch_npu.npu_kv_rmsnorm_rope_cache
V2: Callable[..., tuple[torch.Tensor, ...]] = torch_npu.npu_kv_rmsnorm_rope_cache_v2


def check_cache(
    mode: str,
    operator: Callable[..., tuple[torch.Tensor, ...]],
    inputs: list[torch.Tensor],
    expected: tuple[torch.Tensor, torch.Tensor],
    scales: dict[str, torch.Tensor],
    v: torch.Tensor | None = None,
) -> None:
    """Run the operator; compare both caches and, before quantization, both values."""
    key, value = expected
    dtype = torch.int8 if scales else inputs[0].dtype
    before = [cache_for(mode, tensor.size(-1), dtype) for tensor in expected]
    index = index_for(mode)
    tensors = [tensor.to("npu") for tensor in (*inputs, index, *before)]
    options = {name: scale.to("npu") for name, scale in scales.items()}
    if v is not None:
        options["v"] = v.to("npu")
    results = operator(*tensors, **options, cache_mode=mode, is_output_kv=True)
    agree(list(results[-2:]), [tensor.to(inputs[0].dtype) for tensor in expected])
    if scales:
        key = (key * scales["k_rope_scale"].double()).round().clamp(-128, 127)
        value = (value * scales["c_kv_scale"].double()).round().clamp(-128, 127)
    wanted = [
        stored(values, cache, index, mode)
        for values, cache in zip((key, value), before, strict=True)
    ]
    for actual, cache in zip(tensors[-2:], wanted, strict=True):
        if scales:  # float32 may round to the neighbour
            assert (actual.cpu().int() - cache.int()).abs().max() <= 1
        else:
            agree(actual, cache)


@MODES
@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("operator", [V1, V2], ids=["v1", "v2"])
@pytest.mark.parametrize("quantized", [False, True])
def test_cache_of_compressed_values(
    mode: str,
    dtype: torch.dtype,
    operator: Callable[..., tuple[torch.Tensor, ...]],
    quantized: bool,  # noqa: FBT001
) -> None:
    """One input holds what is normalised and what is rotated."""
    kv, gamma = normal(BATCH, 1, LENGTH, VALUE + ROPE, dtype=dtype), normal(VALUE, dtype=dtype)
    cos, sin = (normal(BATCH, 1, LENGTH, ROPE, dtype=dtype, seed=i) for i in (1, 2))
    scales = {
        "k_rope_scale": normal(ROPE, dtype=torch.float32) * 20,
        "c_kv_scale": normal(VALUE, dtype=torch.float32) * 20,
    }
    wide = kv.double()
    expected = (rotated(wide[..., VALUE:], cos, sin), normalized(wide[..., :VALUE], gamma))
    check_cache(mode, operator, [kv, gamma, cos, sin], expected, scales if quantized else {})


@MODES
def test_cache_of_keys_and_values(mode: str) -> None:
    """The keys are normalised as a whole and rotated in part; the values come as they are."""
    kv, v = normal(BATCH, 1, LENGTH, 192), normal(BATCH, 1, LENGTH, 128, seed=5)
    gamma = normal(192)
    cos, sin = (normal(BATCH, 1, LENGTH, ROPE, seed=i) for i in (1, 2))
    key = normalized(kv.double(), gamma)
    key[..., :ROPE] = rotated(key[..., :ROPE].clone(), cos, sin)
    check_cache(mode, V2, [kv, gamma, cos, sin], (key, v.double()), {}, v)


def test_cache_refusals() -> None:
    kv, gamma = normal(BATCH, 1, LENGTH, VALUE + ROPE), normal(VALUE)
    cos = normal(BATCH, 1, LENGTH, ROPE)
    caches = [cache_for("PA", width, torch.float16) for width in (ROPE, VALUE)]
    index = index_for("PA")
    run = partial(run_on_npu, V2, kv, gamma, cos, cos)
    rejects("parameter 'cacheMode' is 'Other'", run, index, *caches, cache_mode="Other")
    rejects("index has shape [9]", run, index[:9], *caches, cache_mode="PA")
    rejects(
        "it must be int8 if and only if",
        run,
        index,
        *[c.to(torch.int8) for c in caches],
        cache_mode="PA",
    )
    rejects("kv has shape", V2, kv[..., 1:], gamma, cos, cos, index, *caches, cache_mode="PA")
    with_angles = partial(run_on_npu, V2, kv, gamma)
    rest = [index, *caches]
    rejects("'cos' and 'sin' have", with_angles, cos, cos[..., :2], *rest, cache_mode="PA")
    odd = [normal(BATCH, 1, LENGTH, 1)] * 2
    rejects("whose last dimension is even", with_angles, *odd, *rest, cache_mode="PA")
    empty = [cache[:, :0].contiguous() for cache in caches]
    rejects("its pages, dimension 1, must hold", run, index[:4], *empty, cache_mode="PA_BLK_BNSD")
    wide = [normal(BATCH, 1, LENGTH, 192), normal(192), cos, cos, index]
    of_keys = [cache_for("PA", width, torch.float16) for width in (192, 128)]
    v = normal(1, 1, LENGTH, 128)  # of one sequence only
    rejects("parameter 'v' has", run_on_npu, V2, *wide, *of_keys, cache_mode="PA", v=v)
    caches = [cache_for("Norm", width, torch.float16) for width in (ROPE, VALUE)]
    index = index_for("Norm") + 8
    rejects("index 19 is beyond the 12 positions of 'kCacheRef'", run, index, *caches)


def test_no_tokens() -> None:
    """Caches stay as they are."""
    kv, cos = normal(BATCH, 1, 0, VALUE + ROPE), normal(BATCH, 1, 0, ROPE)
    caches = [cache_for("Norm", width, torch.float16) for width in (ROPE, VALUE)]
    on_npu = [each.to("npu") for each in caches]
    inputs = [each.to("npu") for each in (kv, normal(VALUE), cos, cos, index_for("Norm")[:, :0])]
    V2(*inputs, *on_npu, cache_mode="Norm")
    agree(on_npu, caches)


# ---- npu_scatter_pa_cache, npu_gather_pa_kv_cache


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_scatter_keys(dtype: torch.dtype) -> None:
    """Keys alone, in plain pages."""
    key, cache, mapping = (
        normal(9, 2, 32, dtype=dtype),
        normal(PAGES, PAGE, 2, 32, dtype=dtype, seed=3),
        slots(9),
    )
    on_npu = cache.to("npu")
    torch.ops.npu.npu_scatter_pa_cache(key.to("npu"), mapping.to("npu"), key_cache=on_npu)
    agree(on_npu, scattered(key, cache, mapping, "Norm"))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int8], ids=str)
@pytest.mark.parametrize("sums", [True, False])
@pytest.mark.parametrize("offset", [True, False])
def test_gather(dtype: torch.dtype, *, sums: bool, offset: bool) -> None:
    """Page by page; what a table does not have is 0, what is not asked for stays."""
    caches = [
        normal(PAGES, PAGE, 2, width, seed=i).mul(9).to(dtype) for i, width in ((0, 6), (1, 8))
    ]
    table = torch.tensor([[3, 1, 5], [6, -1, 2], [0, 4, 99]], dtype=torch.int32)
    lengths, offsets = [7, 10, 9], [5, -8, 4]
    on_npu, expected = [], []
    for cache in caches:
        rows = normal(28, 2, cache.size(3), seed=5).mul(9).to(dtype)
        on_npu.append(rows.to("npu"))
        rows = rows.clone()
        row = 0
        for i, length in enumerate(lengths):
            for token in range(length):
                entry = token // PAGE + (offsets[i] // PAGE if offset else 0)
                page = int(table[i, entry]) if 0 <= entry < 3 else -1
                rows[row] = cache[page, token % PAGE] if 0 <= page < PAGES else 0
                row += 1
        expected.append(rows)
    counts = torch.tensor([0, *lengths]).cumsum(0) if sums else torch.tensor(lengths)
    torch_npu.npu_gather_pa_kv_cache(
        *(cache.to("npu") for cache in caches),
        table.to("npu"),
        counts.int().to("npu"),
        *on_npu,
        seq_offset=torch.tensor(offsets, dtype=torch.int32).to("npu") if offset else None,
        is_seq_lens_cumsum=sums,
    )
    agree(on_npu, expected)


def test_gather_from_blocks() -> None:
    """C programs can pass more: pages in blocks of 16 values."""
    cache = normal(PAGES, 4, PAGE, 16)
    table = torch.tensor([[3, 1]], dtype=torch.int32).to("npu")
    key, value = (torch.zeros(6, 64, dtype=torch.float16, device="npu") for _ in range(2))
    lengths = torch.tensor([6], dtype=torch.int32).to("npu")
    on_npu = cache.to("npu")
    call("aclnnGatherPaKvCache", on_npu, on_npu, table, lengths, key, value, None, "PA_NZ", NO)
    rows = cache[[3, 1]].transpose(1, 2).reshape(-1, 64)[:6]
    agree([key, value], [rows, rows])
